/** A conversation as Markdown: a heading for each prompt, a line for each tool call. */

import { clockText, counted, tokensText } from "./amounts";
import { belowCall, callLine } from "./callMarkdown";
import { queuedText } from "./contentText";
import type { CallView, CutReason, Entry, PartView, PromptEntry, SummaryEntry } from "./entries";
import { fencesClosed, firstLine, folded, inline, quoted } from "./markdownText";
import type { QueuedPrompt } from "./protocol";
import { retrySentence } from "./retryText";
import type { SessionView } from "./sessionView";
import type { Cleared, LivePartView, LiveView } from "./transcript";
import { unreachable } from "./unreachable";

const HEADING_LENGTH = 100;

interface Block {
  readonly markdown: string;
  /** Its first part is a call. */
  readonly startsWithCall: boolean;
  /** Its last part is a call, and no more than a line of text. */
  readonly endsWithCallLine: boolean;
}

/** Entries never change, so each is put into words once. */
const rendered = new WeakMap<Entry, Block>();

/** Return the conversation as Markdown. */
export function conversationMarkdown(view: SessionView | null, now: Date = new Date()): string {
  if (view === null) return `${NO_SESSION}\n`;
  const { entries, live, cleared } = view.transcript;
  const blocks: Block[] = [];
  for (const entry of entries) {
    if (cleared !== null && "id" in entry && entry.id === cleared.before) {
      blocks.push(prose(ofCleared(cleared)));
    }
    blocks.push(ofEntryOnce(entry));
  }
  if (live !== null) blocks.push(...ofLive(live));
  blocks.push(...ofActivity(view, now), ...view.queue.map(ofQueued), ...ofStorage(view));
  const markdown = joined(blocks).markdown;
  return `${markdown === "" ? NOTHING_YET : markdown}\n`;
}

const NO_SESSION = "*No session is open. Send a prompt to begin one.*";
const LINE_BREAK = "\\\n";
const NOTHING_YET = "*Nothing has been said yet.*";

function prose(markdown: string): Block {
  return { markdown, startsWithCall: false, endsWithCallLine: false };
}

/** Calls that follow each other make one paragraph, a line each. */
function joined(blocks: readonly Block[]): Block {
  const shown = blocks.filter((block) => block.markdown !== "");
  let markdown = "";
  let before: Block | null = null;
  for (const block of shown) {
    const together = before?.endsWithCallLine && block.startsWithCall;
    markdown += before === null ? "" : together ? LINE_BREAK : "\n\n";
    markdown += block.markdown;
    before = block;
  }
  return {
    markdown,
    startsWithCall: shown[0]?.startsWithCall ?? false,
    endsWithCallLine: before?.endsWithCallLine ?? false,
  };
}

function ofEntryOnce(entry: Entry): Block {
  const known = rendered.get(entry);
  if (known !== undefined) return known;
  const block = ofEntry(entry);
  rendered.set(entry, block);
  return block;
}

function ofEntry(entry: Entry): Block {
  switch (entry.kind) {
    case "prompt":
      return prose(ofPrompt(entry));
    case "notice":
      return prose(ofNotice(entry.text));
    case "answer":
      return joined(entry.parts.map(ofPart));
    case "cut":
      return prose(`*${ofCut(entry.why)}*`);
    case "summary":
      return prose(ofSummary(entry));
    case "compactionFailed":
      return prose(quoted(`**Not compacted.** ${inline(entry.error.message)}`));
    case "gap":
      return prose("*Messages are missing here: the session was damaged on disk.*");
    case "turnEnd":
      return prose(ofTurnEnd(entry));
    default:
      return unreachable(entry, prose(""));
  }
}

function ofPrompt({ text, attached, steered }: PromptEntry): string {
  const mark = steered ? "↳ " : "";
  const heading = `## ${mark}${inline(firstLine(text, HEADING_LENGTH))}`.trimEnd();
  const whole = text.trim();
  const fits = !whole.includes("\n") && Array.from(whole).length <= HEADING_LENGTH;
  const below = [
    ...(fits ? [] : [quoted(fencesClosed(whole))]),
    ...(attached.length === 0 ? [] : [`*${attached.map(inline).join(" · ")}*`]),
  ];
  return [heading, ...below].join("\n\n");
}

function ofNotice(text: string): string {
  return folded(`agentls to the model: ${firstLine(text, HEADING_LENGTH)}`, text);
}

function ofCut(why: CutReason): string {
  switch (why) {
    case "interrupted":
      return "Cut off here: the server ended.";
    case "cut":
      return "Cut off here by the model's side. What had come is kept, and the turn goes on.";
    case "maxTokens":
      return "Cut off here: an answer may not be longer.";
    case "refusal":
      return "The model declined to go on.";
    case "contextWindow":
      return "Cut off here: the model's window is full.";
    default:
      return unreachable(why, "Cut off here.");
  }
}

function ofSummary({ text, messageCount, tokens }: SummaryEntry): string {
  const room =
    tokens === null ? "" : `, ${tokensText(tokens.before)} → ${tokensText(tokens.after)} tokens`;
  const line = `**Conversation compacted:** ${counted(messageCount, "message")}${room}`;
  return ["---", line, folded("Summary of what came before", text)].join("\n\n");
}

function ofCleared({ tokens }: Cleared): string {
  const saved = tokens === null ? "" : ` (about ${tokensText(tokens)} tokens less)`;
  return `---\n\n*Tool output above is sent to the model as placeholders${saved}.*`;
}

function ofPart(part: PartView): Block {
  switch (part.kind) {
    case "text":
      return prose(fencesClosed(part.text.trim()));
    case "thinking":
      return prose(part.text.trim() === "" ? "" : folded("Thought", part.text));
    case "call":
      return ofCall(part.call);
    default:
      return unreachable(part, prose(""));
  }
}

function ofCall(call: CallView): Block {
  const line = callLine(call);
  const below = belowCall(call);
  return {
    markdown: below === "" ? line : `${line}\n\n${below}`,
    startsWithCall: true,
    endsWithCallLine: below === "",
  };
}

function ofTurnEnd(entry: Extract<Entry, { kind: "turnEnd" }>): string {
  switch (entry.status) {
    case "cancelled":
      return "*Stopped.*";
    case "failed":
      return quoted(`**Failed.** ${inline(entry.error?.message ?? "The turn ended in an error.")}`);
    case "maxTurns":
      return "*Stopped: the limit of model calls for one prompt is reached.*";
    case "interrupted":
      return "*Interrupted: the server ended while this turn ran.*";
    default:
      return unreachable(entry.status, "");
  }
}

/** Say what the agent is doing or waits for; a call says for itself what it does. */
function ofActivity({ activity, transcript }: SessionView, now: Date): readonly Block[] {
  const silentSince = transcript.live?.stalledSince ?? null;
  if (activity.turnId === null || activity.callIds.length > 0) return [];
  if (activity.retry !== null) return [prose(`*${inline(retrySentence(activity.retry, now))}*`)];
  if (silentSince !== null) {
    const since = clockText(silentSince, now);
    return [prose(`*The model has said nothing since ${inline(since)}; still waiting…*`)];
  }
  return [prose(`*${inline(activity.label)}…*`)];
}

function ofLive(live: LiveView): readonly Block[] {
  return live.parts.map(ofLivePart);
}

function ofLivePart(part: LivePartView): Block {
  switch (part.type) {
    case "text":
      return prose(fencesClosed(part.text.trim()));
    case "thinking":
      return prose(part.text.trim() === "" ? "" : quoted(fencesClosed(part.text.trim())));
    case "redactedThinking":
      return prose("");
    case "toolCall": {
      const markdown = `… **${inline(part.name ?? "tool")}**`;
      return { markdown, startsWithCall: true, endsWithCallLine: true };
    }
    default:
      return unreachable(part.type, prose(""));
  }
}

/** Say what stands between the session and its place on disk. */
function ofStorage(view: SessionView): Block[] {
  const notes: string[] = [];
  if (view.access.mode === "follower") {
    notes.push(`**Read-only.** ${inline(view.access.owner ?? "Nobody writes it any more.")}`);
  }
  if (view.storage !== null) notes.push(`**Not saved.** ${inline(view.storage.message)}`);
  return notes.map((note) => prose(quoted(note)));
}

function ofQueued(item: QueuedPrompt): Block {
  const how = item.delivery === "steer" ? "Steers the turn" : "In the queue";
  return prose(`*${how}:* ${inline(queuedText(item, HEADING_LENGTH))}`);
}
