/** What a conversation shows, built from a snapshot and the events after it; knows no editor. */

import type {
  AnswerPart,
  Approval,
  CallOutcome,
  CallStatus,
  ContentBlock,
  Envelope,
  ErrorInfo,
  HistoryEntry,
  LiveAnswer,
  LivePart,
  SessionState,
  ToolCall,
  TurnStatus,
} from "./protocol";
import { unreachable } from "./unreachable";

export interface CallView {
  readonly id: string;
  readonly name: string;
  readonly status: CallStatus;
  /** What it is doing; until it runs, no more than the tool's name. */
  readonly invocation: string;
  /** What was asked before it could run, whether or not that is answered. */
  readonly approval: Approval | null;
  /** The latest lines of its output while it runs. */
  readonly progress: string | null;
  readonly outcome: CallOutcome | null;
  readonly summary: string | null;
}

export type PartView =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "call"; readonly call: CallView };

export type Entry =
  | { readonly kind: "prompt"; readonly id: string; readonly text: string }
  | { readonly kind: "answer"; readonly id: string; readonly parts: readonly PartView[] }
  /** The server ended in the middle of the answer before. */
  | { readonly kind: "cut" }
  | { readonly kind: "summary"; readonly id: string; readonly text: string }
  | { readonly kind: "gap"; readonly id: string }
  | {
      readonly kind: "turnEnd";
      readonly status: Exclude<TurnStatus, "completed">;
      readonly error: ErrorInfo | null;
    };

export interface LivePartView {
  readonly id: string;
  readonly type: LivePart["type"];
  readonly name: string | null;
  readonly text: string;
  /** Of the text, in Unicode code points, as offsets are counted. */
  readonly length: number;
}

export interface LiveView {
  readonly messageId: string;
  readonly parts: readonly LivePartView[];
}

export interface Transcript {
  readonly entries: readonly Entry[];
  readonly live: LiveView | null;
}

export interface Delta {
  readonly partId: string;
  readonly offset: number;
  readonly text: string;
}

export const emptyTranscript: Transcript = { entries: [], live: null };

/** Return the conversation that a snapshot holds. */
export function transcriptOf(state: SessionState): Transcript {
  const finished = new Map<string, ToolCall>();
  for (const entry of state.history) {
    if (entry.type === "callResult") finished.set(entry.call.id, entry.call);
  }
  const callOf = (id: string): ToolCall | undefined => finished.get(id) ?? state.calls[id];
  const entries = state.history.flatMap((entry) => entryOf(entry, callOf));
  const last = state.lastTurn;
  if (state.turn === null && last !== null && last.status !== "completed") {
    entries.push({ kind: "turnEnd", status: last.status, error: last.error });
  }
  return { entries, live: state.live === null ? null : liveOf(state.live) };
}

/** Return the conversation after an event; the very same object where it shows nothing new. */
export function withEvent(transcript: Transcript, event: Envelope["event"]): Transcript {
  switch (event.type) {
    case "userMessageReceived":
      return append(transcript, { kind: "prompt", id: event.id, text: textOf(event.content) });
    case "answerStarted":
      return { ...transcript, live: { messageId: event.messageId, parts: [] } };
    case "partStarted":
      return withPart(transcript, event.messageId, event.part);
    case "partDelta":
      return withDelta(transcript, event);
    case "answerFinished":
      return append(transcript, {
        kind: "answer",
        id: event.id,
        parts: event.parts.flatMap((part) => partOf(part, () => undefined)),
      });
    case "approvalRequested":
      return withCall(transcript, event.approval.callId, {
        status: "waiting",
        approval: event.approval,
      });
    case "approvalAnswered":
      return withCall(transcript, event.callId, { status: "ready" });
    case "toolCallStarted":
      return withCall(transcript, event.callId, {
        status: "running",
        invocation: event.invocation,
      });
    case "toolCallProgressed":
      return withCall(transcript, event.callId, { progress: event.text });
    case "toolCallFinished":
      return withCall(transcript, event.callId, {
        status: "finished",
        outcome: event.outcome,
        summary: event.summary,
        progress: null,
      });
    case "turnFinished":
      if (event.status === "completed") return { ...transcript, live: null };
      return append(transcript, { kind: "turnEnd", status: event.status, error: event.error });
    case "sessionCreated":
    case "promptQueued":
    case "promptDequeued":
    case "turnStarted":
    case "usageRecorded":
    case "todosChanged":
    case "headMoved":
    case "titleChanged":
    case "modelChanged":
    case "modeChanged":
    case "ruleAdded":
    case "answerProgressed":
    case "toolResultIgnored":
    case "conversationCompacted":
    case "tagChanged":
    case "sidechainStarted":
    case "sessionResumed":
    case "logDamaged":
    case "storageFailed":
    case "storageRecovered":
    case "accessChanged":
      return transcript;
    default:
      return unreachable(event, transcript);
  }
}

/** Add streamed text where it continues its part; what is already there is not added twice. */
export function withDelta(transcript: Transcript, delta: Delta): Transcript {
  const live = transcript.live;
  const index = live?.parts.findIndex((part) => part.id === delta.partId) ?? -1;
  const part = live?.parts[index];
  if (live === null || part === undefined || delta.offset > part.length) return transcript;
  const fresh = Array.from(delta.text).slice(part.length - delta.offset);
  if (fresh.length === 0) return transcript;
  const grown = { ...part, text: part.text + fresh.join(""), length: part.length + fresh.length };
  return { ...transcript, live: { ...live, parts: live.parts.with(index, grown) } };
}

function entryOf(
  entry: HistoryEntry,
  callOf: (id: string) => ToolCall | undefined,
): readonly Entry[] {
  switch (entry.type) {
    case "user":
      return [{ kind: "prompt", id: entry.id, text: textOf(entry.content) }];
    case "answer":
      return [
        {
          kind: "answer",
          id: entry.id,
          parts: entry.parts.flatMap((part) => partOf(part, callOf)),
        },
        ...(entry.stopReason === "interrupted" ? [{ kind: "cut" } as const] : []),
      ];
    case "summary":
      return [{ kind: "summary", id: entry.id, text: entry.text }];
    case "gap":
      return [{ kind: "gap", id: entry.id }];
    case "callResult":
      return []; // it is shown where the answer made the call
    default:
      return unreachable(entry, []);
  }
}

function partOf(
  part: AnswerPart,
  callOf: (id: string) => ToolCall | undefined,
): readonly PartView[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: part.text }];
    case "thinking":
      return [{ kind: "thinking", text: part.text }];
    case "redactedThinking":
      return [];
    case "toolCall":
      return [{ kind: "call", call: callView(part.id, part.name, callOf(part.id)) }];
    default:
      return unreachable(part, []);
  }
}

function callView(id: string, name: string, call: ToolCall | undefined): CallView {
  return {
    id,
    name,
    status: call?.status ?? "ready",
    invocation: call?.invocation ?? name,
    approval: call?.approval ?? null,
    progress: call?.progress ?? null,
    outcome: call?.outcome ?? null,
    summary: call?.summary ?? null,
  };
}

function liveOf(live: LiveAnswer): LiveView {
  return { messageId: live.messageId, parts: live.parts.map(livePartOf) };
}

function livePartOf(part: LivePart): LivePartView {
  return {
    id: part.id,
    type: part.type,
    name: part.name,
    text: part.text,
    length: Array.from(part.text).length,
  };
}

function withPart(transcript: Transcript, messageId: string, part: LivePart): Transcript {
  const live = transcript.live;
  if (live === null || live.messageId !== messageId) return transcript;
  if (live.parts.some((known) => known.id === part.id)) return transcript;
  return { ...transcript, live: { ...live, parts: [...live.parts, livePartOf(part)] } };
}

function withCall(transcript: Transcript, callId: string, change: Partial<CallView>): Transcript {
  for (let index = transcript.entries.length - 1; index >= 0; index -= 1) {
    const entry = transcript.entries[index];
    if (entry?.kind !== "answer") continue;
    const at = entry.parts.findIndex((part) => part.kind === "call" && part.call.id === callId);
    const part = entry.parts[at];
    if (part?.kind !== "call") continue;
    if (part.call.status === "finished") return transcript;
    const parts = entry.parts.with(at, { kind: "call", call: { ...part.call, ...change } });
    return { ...transcript, entries: transcript.entries.with(index, { ...entry, parts }) };
  }
  return transcript;
}

function append(transcript: Transcript, entry: Entry): Transcript {
  return { entries: [...transcript.entries, entry], live: null };
}

/** Return the text of a prompt or a result, with a mark where a picture stands. */
export function textOf(content: readonly ContentBlock[]): string {
  return content
    .map((block) =>
      block.type === "text" ? block.text : `[image: ${block.name ?? block.mediaType}]`,
    )
    .join("\n\n");
}
