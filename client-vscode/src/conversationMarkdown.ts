/** A conversation as Markdown: a heading for each prompt, a line for each tool call. */

import { fenced, fencesClosed, firstLine, inline, quoted } from "./markdownText";
import type { Approval, QueuedPrompt } from "./protocol";
import type { SessionView } from "./sessionView";
import { textOf } from "./transcript";
import type { CallView, Entry, LivePartView, LiveView, PartView } from "./transcript";
import { unreachable } from "./unreachable";

const HEADING_LENGTH = 100;
const PROGRESS_LINES = 5;

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
export function conversationMarkdown(view: SessionView | null): string {
  if (view === null) return `${NO_SESSION}\n`;
  const { entries, live } = view.transcript;
  const blocks = entries.map(ofEntryOnce);
  if (live !== null) blocks.push(...ofLive(live));
  if (view.activity.turnId !== null && view.activity.callIds.length === 0) {
    blocks.push(prose(`*${inline(view.activity.label)}…*`)); // a call says for itself what it does
  }
  blocks.push(...view.queue.map(ofQueued), ...ofStorage(view));
  const markdown = joined(blocks).markdown;
  return `${markdown === "" ? NOTHING_YET : markdown}\n`;
}

/** Return the language, as a code block names it, of what an approval shows. */
export function detailLanguage(approval: Approval): "diff" | "shell" | "" {
  if (/^(---|\+\+\+|@@|diff )/m.test(approval.detail)) return "diff";
  return approval.toolName === "Bash" ? "shell" : "";
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
      return prose(ofPrompt(entry.text));
    case "answer":
      return joined(entry.parts.map(ofPart));
    case "cut":
      return prose("*Cut off here: the server ended.*");
    case "summary":
      return prose(quoted(`**Summary of what came before**\n\n${fencesClosed(entry.text)}`));
    case "gap":
      return prose("*Messages are missing here: the session was damaged on disk.*");
    case "turnEnd":
      return prose(ofTurnEnd(entry));
    default:
      return unreachable(entry, prose(""));
  }
}

function ofPrompt(text: string): string {
  const heading = `## ${inline(firstLine(text, HEADING_LENGTH))}`;
  const whole = text.trim();
  const fits = !whole.includes("\n") && Array.from(whole).length <= HEADING_LENGTH;
  return fits ? heading : `${heading}\n\n${quoted(fencesClosed(whole))}`;
}

function ofPart(part: PartView): Block {
  switch (part.kind) {
    case "text":
      return prose(fencesClosed(part.text.trim()));
    case "thinking":
      return prose(ofThinking(part.text));
    case "call":
      return ofCall(part.call);
    default:
      return unreachable(part, prose(""));
  }
}

function ofThinking(text: string): string {
  return text.trim() === "" ? "" : quoted(fencesClosed(text.trim()));
}

function ofCall(call: CallView): Block {
  const line = `${callMark(call)} ${named(call.name, callText(call))}`.trimEnd();
  const below = belowCall(call);
  return {
    markdown: below === "" ? line : `${line}\n\n${below}`,
    startsWithCall: true,
    endsWithCallLine: below === "",
  };
}

function callMark(call: CallView): string {
  if (call.status !== "finished") return call.status === "waiting" ? "?" : "…";
  switch (call.outcome) {
    case "ok":
      return "✓";
    case "error":
      return "✗";
    case "denied":
    case "cancelled":
    case null:
      return "–";
    default:
      return unreachable(call.outcome, "");
  }
}

function callText(call: CallView): string {
  switch (call.status) {
    case "ready":
      return "";
    case "waiting":
      return `${call.approval?.title ?? call.invocation} (waiting for approval)`;
    case "running":
      return call.invocation;
    case "finished":
      return finishedText(call);
    default:
      return unreachable(call.status, "");
  }
}

/** Return `text` after the tool's name, which is not said twice: "Edited a.txt", "Grep Found it". */
function named(name: string, text: string): string {
  const [first = "", ...rest] = text.split(" ");
  const said = first.toLowerCase().startsWith(name.toLowerCase());
  return said
    ? `**${inline(first)}** ${inline(rest.join(" "))}`
    : `**${inline(name)}** ${inline(text)}`;
}

function finishedText(call: CallView): string {
  const summary = call.summary ?? call.invocation;
  if (call.outcome === "ok" || call.outcome === null) return summary;
  const said = summary.toLowerCase().includes(call.outcome);
  const text = said ? summary : `${summary} (${call.outcome})`;
  const refused = call.outcome === "denied" ? call.approval : null; // the summary does not say what
  return refused === null ? text : `${refused.title} · ${text}`;
}

function belowCall(call: CallView): string {
  if (call.status === "waiting" && call.approval !== null) {
    return fenced(call.approval.detail, detailLanguage(call.approval));
  }
  if (call.status !== "running" || call.progress === null) return "";
  return fenced(call.progress.trimEnd().split("\n").slice(-PROGRESS_LINES).join("\n"), "");
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

function ofLive(live: LiveView): readonly Block[] {
  return live.parts.map(ofLivePart);
}

function ofLivePart(part: LivePartView): Block {
  switch (part.type) {
    case "text":
      return prose(fencesClosed(part.text.trim()));
    case "thinking":
      return prose(ofThinking(part.text));
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
  return prose(`*In the queue:* ${inline(firstLine(textOf(item.content), HEADING_LENGTH))}`);
}
