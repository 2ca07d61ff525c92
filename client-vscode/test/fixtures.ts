/** Sessions, events and answers as a server sends them. */

import type {
  Approval,
  Envelope,
  SessionSlices,
  SessionSnapshot,
  SessionState,
  ToolCall,
} from "../src/protocol";

export const AT = "2026-11-30T14:56:35.123Z";
export const SESSION = "s1";

type Event = Envelope["event"];

export function state(change: Partial<SessionState> = {}): SessionState {
  return {
    meta: {
      id: SESSION,
      createdAt: AT,
      cwd: ".",
      agentlsVersion: "0.1.0",
      gitBranch: null,
      platform: "linux",
      shell: "bash",
      forkedFrom: null,
      importedFrom: null,
    },
    title: null,
    tag: null,
    redo: [],
    access: { mode: "owner", owner: null },
    storage: null,
    head: null,
    history: [],
    calls: {},
    live: null,
    queue: [],
    turn: null,
    lastTurn: null,
    model: { session: null, default: "offline" },
    permissions: { mode: "default", rules: [] },
    todos: [],
    variables: {},
    usage: { total: usage(), byModel: {}, responses: 0, last: null, lastResponseId: null },
    ...change,
  };
}

export function snapshot(
  change: Partial<SessionState> = {},
  slices: Partial<SessionSlices> = {},
  seq = 1,
): SessionSnapshot {
  const whole = state(change);
  return {
    seq,
    state: whole,
    slices: {
      model: whole.model,
      permissions: whole.permissions,
      todos: whole.todos,
      activity: { status: "idle", label: "Idle", turnId: null, callIds: [], error: null },
      usage: whole.usage,
      approvals: [],
      queue: whole.queue,
      title: whole.title,
      tag: whole.tag,
      access: whole.access,
      storage: whole.storage,
      ...slices,
    },
  };
}

export function usage(inputTokens = 0, outputTokens = 0) {
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

export function envelope(seq: number, event: Event, change: Partial<Envelope> = {}): Envelope {
  return {
    seq,
    sessionId: SESSION,
    chatId: "main",
    turnId: "t1",
    origin: null,
    at: AT,
    event,
    ...change,
  };
}

export function prompt(text: string, id = "m1"): Event {
  return { type: "userMessageReceived", id, parent: null, content: [{ type: "text", text }] };
}

export function answer(
  parts: Extract<Event, { type: "answerFinished" }>["parts"],
  id = "m2",
): Event {
  return {
    type: "answerFinished",
    id,
    parent: "m1",
    model: "offline",
    parts,
    stopReason: "endTurn",
    responseId: null,
    usage: usage(),
  };
}

export function approval(callId = "c1"): Approval {
  return {
    callId,
    toolName: "Edit",
    title: "Edit notes.txt",
    detail: "--- notes.txt\n+++ notes.txt\n@@ -1 +1 @@\n-A\n+B",
    reason: "the mode is default",
    options: [
      { id: "allow", kind: "allowOnce", label: "Allow", rule: null },
      { id: "deny", kind: "deny", label: "Deny", rule: null },
    ],
    requestedAt: AT,
  };
}

export function finishedCall(id: string, change: Partial<ToolCall> = {}): ToolCall {
  return {
    id,
    messageId: "m2",
    name: "Read",
    invocation: "Reading notes.txt",
    input: {},
    malformedInput: null,
    status: "finished",
    approval: null,
    decision: null,
    progress: null,
    outcome: "ok",
    summary: "Read 3 lines of notes.txt",
    content: [],
    changes: [],
    leftOut: null,
    startedAt: AT,
    finishedAt: AT,
    ...change,
  };
}
