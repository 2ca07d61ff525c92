/** What a conversation shows, built from a snapshot and the events after it; knows no editor. */

import { answered, entriesOf, said, summaryOf } from "./entries";
import type { CallView, Entry } from "./entries";
import type {
  Envelope,
  LiveAnswer,
  LivePart,
  SessionState,
  Timestamp,
  ToolCall,
} from "./protocol";
import { unreachable } from "./unreachable";

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
  /** When the model's last word came, where that is a while ago. */
  readonly stalledSince: Timestamp | null;
}

/** Before which entry tool output is sent to the model as placeholders. */
export interface Cleared {
  readonly before: string;
  /** About how many that saves; null: not known any more. */
  readonly tokens: number | null;
}

export interface Transcript {
  readonly entries: readonly Entry[];
  readonly live: LiveView | null;
  readonly cleared: Cleared | null;
}

export interface Delta {
  readonly partId: string;
  readonly offset: number;
  readonly text: string;
}

/** Return the conversation that a snapshot holds. */
export function transcriptOf(state: SessionState): Transcript {
  const finished = new Map<string, ToolCall>();
  for (const entry of state.history) {
    if (entry.type === "callResult") finished.set(entry.call.id, entry.call);
  }
  const callOf = (id: string): ToolCall | undefined => finished.get(id) ?? state.calls[id];
  const entries: Entry[] = [];
  for (const entry of state.history) entries.push(...entriesOf(entry, entries, callOf));
  const last = state.lastTurn;
  if (state.turn === null && last !== null && last.status !== "completed") {
    entries.push({ kind: "turnEnd", status: last.status, error: last.error });
  }
  const before = state.compaction.clearedBefore;
  return {
    entries,
    live: state.live === null ? null : liveOf(state.live),
    cleared: before === null ? null : { before, tokens: null },
  };
}

/** Return the conversation after an event; the very same object where it shows nothing new. */
export function withEvent(
  transcript: Transcript,
  { event, turnId }: Pick<Envelope, "event" | "turnId">,
): Transcript {
  switch (event.type) {
    case "userMessageReceived":
      return append(transcript, said({ ...event, turnId }, transcript.entries));
    case "answerStarted":
      return {
        ...transcript,
        live: { messageId: event.messageId, parts: [], stalledSince: null },
      };
    case "answerStalled":
      return stalled(transcript, event.messageId, event.silentSince);
    case "retryScheduled":
      return transcript.live === null ? transcript : { ...transcript, live: null };
    case "partStarted":
      return withPart(transcript, event.messageId, event.part);
    case "partDelta":
      return withDelta(transcript, event);
    case "answerFinished":
      return append(transcript, ...answered(event, () => undefined));
    case "approvalRequested":
      return withCall(transcript, event.approval.callId, {
        status: "waiting",
        approval: event.approval,
      });
    case "approvalAnswered":
      return withCall(transcript, event.callId, { status: "ready" });
    case "questionsAsked":
      return withCall(transcript, event.questions.callId, {
        status: "waiting",
        questions: event.questions,
      });
    case "questionsAnswered":
      return withCall(transcript, event.callId, { status: "ready", answers: event.answers });
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
    case "toolOutputsCleared":
      return { ...transcript, cleared: { before: event.before, tokens: event.tokens } };
    case "conversationCompacted":
      return { ...append(transcript, summaryOf(event)), cleared: null };
    case "compactionFailed":
      return append(transcript, { kind: "compactionFailed", error: event.error });
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
    case "tagChanged":
    case "sidechainStarted":
    case "sessionResumed":
    case "logDamaged":
    case "storageFailed":
    case "storageRecovered":
    case "accessChanged":
    case "retryEnded":
    case "cacheMissed":
    case "compactionStarted":
    case "taskAdded":
    case "taskStarted":
    case "taskProgressed":
    case "taskFinished":
    case "tasksEvicted":
    case "fastModeChanged":
    case "gatesChanged":
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
  const parts = live.parts.with(index, grown);
  return { ...transcript, live: { ...live, parts, stalledSince: null } };
}

function liveOf(live: LiveAnswer): LiveView {
  return {
    messageId: live.messageId,
    parts: live.parts.map(livePartOf),
    stalledSince: live.stalledSince,
  };
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
  const parts = [...live.parts, livePartOf(part)];
  return { ...transcript, live: { ...live, parts, stalledSince: null } };
}

function stalled(transcript: Transcript, messageId: string, since: Timestamp): Transcript {
  const live = transcript.live;
  if (live === null || live.messageId !== messageId) return transcript;
  return { ...transcript, live: { ...live, stalledSince: since } };
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

function append(transcript: Transcript, ...entries: readonly Entry[]): Transcript {
  return { ...transcript, entries: [...transcript.entries, ...entries], live: null };
}
