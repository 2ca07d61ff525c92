/** A session as this window shows it: slices and events reduced to one value; knows no editor. */

import type {
  Access,
  Activity,
  Approval,
  ContextUse,
  Envelope,
  Gates,
  ModelChoice,
  Permissions,
  Questions,
  QueuedPrompt,
  SessionDeltaParams,
  SessionSnapshot,
  StateDidChangeParams,
  StorageTrouble,
  Task,
  Todo,
  UsageTotals,
} from "./protocol";
import * as transcripts from "./transcript";
import type { Transcript } from "./transcript";

export interface SessionView {
  readonly sessionId: string;
  readonly title: string | null;
  readonly model: ModelChoice;
  readonly permissions: Permissions;
  readonly activity: Activity;
  readonly approvals: readonly Approval[];
  readonly questions: readonly Questions[];
  readonly todos: readonly Todo[];
  readonly queue: readonly QueuedPrompt[];
  readonly tasks: readonly Task[];
  readonly usage: UsageTotals;
  /** How full the model's window is. */
  readonly context: ContextUse;
  readonly gates: Gates;
  /** Whether this server writes the session, or follows another process that does. */
  readonly access: Access;
  /** Why the session cannot be saved just now. */
  readonly storage: StorageTrouble | null;
  readonly transcript: Transcript;
  /** The last event that counts in `transcript`. */
  readonly eventSeq: number;
  /** The last event that counts in the slices; they are joined, so it may be another. */
  readonly sliceSeq: number;
  /** What came does not suffice: the conversation goes on elsewhere, or an event is missing. */
  readonly stale: boolean;
}

/** The chat that the window shows; a subagent's events are counted, not shown. */
const MAIN_CHAT = "main";

const PASSING: ReadonlySet<Envelope["event"]["type"]> = new Set([
  "answerStarted",
  "partStarted",
  "partDelta",
  "answerStalled",
  "toolCallProgressed",
  "taskProgressed",
  "gatesChanged",
  "storageFailed",
  "storageRecovered",
  "accessChanged",
]);

/** After these the conversation goes on from elsewhere, which only the server can say. */
const TURNING: ReadonlySet<Envelope["event"]["type"]> = new Set(["headMoved"]);

/** Return the view that a snapshot gives. */
export function fromSnapshot(sessionId: string, snapshot: SessionSnapshot): SessionView {
  const { seq, slices, state } = snapshot;
  return {
    sessionId,
    title: slices.title ?? state.title,
    model: slices.model ?? state.model,
    permissions: slices.permissions ?? state.permissions,
    activity: slices.activity ?? IDLE,
    approvals: slices.approvals ?? [],
    questions: slices.questions ?? [],
    todos: slices.todos ?? state.todos,
    queue: slices.queue ?? state.queue,
    tasks: slices.tasks ?? state.tasks,
    usage: slices.usage ?? state.usage,
    context: slices.context ?? UNKNOWN,
    gates: slices.gates ?? state.gates,
    access: state.access,
    storage: state.storage,
    transcript: transcripts.transcriptOf(state),
    eventSeq: seq,
    sliceSeq: seq,
    stale: false,
  };
}

/** Return the view with the slices that changed; older ones than it holds change nothing. */
export function withSlices(view: SessionView, changed: StateDidChangeParams): SessionView {
  if (changed.sessionId !== view.sessionId || changed.seq < view.sliceSeq) return view;
  return {
    ...view,
    title: changed.title ?? view.title,
    model: changed.model ?? view.model,
    permissions: changed.permissions ?? view.permissions,
    activity: changed.activity ?? view.activity,
    approvals: changed.approvals ?? view.approvals,
    questions: changed.questions ?? view.questions,
    todos: changed.todos ?? view.todos,
    queue: changed.queue ?? view.queue,
    tasks: changed.tasks ?? view.tasks,
    usage: changed.usage ?? view.usage,
    context: changed.context ?? view.context,
    gates: changed.gates ?? view.gates,
    access: changed.access ?? view.access,
    storage: changed.storage === undefined ? view.storage : changed.storage,
    sliceSeq: changed.seq,
  };
}

/** Return the view after an event; the very same object where the view has it already. */
export function withEvent(view: SessionView, envelope: Envelope): SessionView {
  if (envelope.sessionId !== view.sessionId) return view;
  const passing = PASSING.has(envelope.event.type);
  if (envelope.seq < view.eventSeq || (!passing && envelope.seq === view.eventSeq)) return view;
  const missed = envelope.seq > view.eventSeq + (passing ? 0 : 1);
  const stale = view.stale || missed || TURNING.has(envelope.event.type);
  const transcript =
    envelope.chatId === MAIN_CHAT
      ? transcripts.withEvent(view.transcript, envelope)
      : view.transcript;
  if (passing && transcript === view.transcript && stale === view.stale) return view;
  return { ...view, transcript, stale, eventSeq: envelope.seq };
}

/** Whether the session is only followed here, and nobody writes it any more. */
export function isLeft(view: SessionView): boolean {
  return view.access.mode === "follower" && view.access.owner === null;
}

/** Return the view with streamed text. */
export function withDelta(view: SessionView, delta: SessionDeltaParams): SessionView {
  if (delta.sessionId !== view.sessionId || delta.chatId !== MAIN_CHAT) return view;
  const transcript = transcripts.withDelta(view.transcript, delta);
  return transcript === view.transcript ? view : { ...view, transcript };
}

/** Return the model that the next call goes to; null where none is chosen. */
export function effectiveModel(model: ModelChoice): string | null {
  return model.fast ?? model.session ?? model.default;
}

/** Return how much of the model's window is in use, in per cent; null where that is not known. */
export function contextPercent({ usedTokens, window }: ContextUse): number | null {
  if (usedTokens === null || window === null || window <= 0) return null;
  return Math.min(100, Math.round((usedTokens / window) * 100));
}

const IDLE: Activity = {
  status: "idle",
  label: "Idle",
  turnId: null,
  callIds: [],
  error: null,
  retry: null,
};

const UNKNOWN: ContextUse = {
  usedTokens: null,
  window: null,
  compacting: null,
  compactionFailures: 0,
};
