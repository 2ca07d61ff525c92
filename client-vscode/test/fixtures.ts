/** Sessions, events and answers as a server sends them. */

import type {
  Activity,
  Approval,
  ContextUse,
  Envelope,
  Questions,
  QueuedPrompt,
  RetryWait,
  SessionSlices,
  SessionSnapshot,
  SessionState,
  StopReason,
  Task,
  ToolCall,
  Usage,
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
    model: { session: null, default: "offline", fast: null },
    permissions: { mode: "default", rules: [] },
    todos: [],
    variables: {},
    usage: {
      total: usage(),
      byModel: {},
      responses: 0,
      last: null,
      lastResponseId: null,
      window: null,
    },
    tasks: [],
    compaction: {
      running: null,
      failures: 0,
      clearedBefore: null,
      clearedAt: null,
      carried: { goal: null, constraints: [], prompts: [], files: [], failures: [] },
    },
    gates: { parallelReads: 8, thinking: true, fastModel: null },
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
      activity: activity(),
      usage: whole.usage,
      approvals: [],
      questions: [],
      queue: whole.queue,
      tasks: whole.tasks,
      context: context(),
      gates: whole.gates,
      title: whole.title,
      tag: whole.tag,
      access: whole.access,
      storage: whole.storage,
      ...slices,
    },
  };
}

export function activity(change: Partial<Activity> = {}): Activity {
  return {
    status: "idle",
    label: "Idle",
    turnId: null,
    callIds: [],
    error: null,
    retry: null,
    ...change,
  };
}

export function context(change: Partial<ContextUse> = {}): ContextUse {
  return { usedTokens: null, window: null, compacting: null, compactionFailures: 0, ...change };
}

export function usage(
  inputTokens = 0,
  outputTokens = 0,
  change: Partial<Usage> = {},
): Usage {
  return {
    inputTokens,
    outputTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costNanoUsd: 0,
    unpricedResponses: 0,
    ...change,
  };
}

/** Half a minute after `AT`, the second of three tries. */
export function retry(change: Partial<RetryWait> = {}): RetryWait {
  return {
    cause: "overloaded",
    error: { kind: "Overloaded", message: "The API is overloaded (529).", retryable: true },
    attempt: 1,
    maxAttempts: 3,
    delayMs: 30_000,
    resumesAt: "2026-11-30T14:57:05.123Z",
    parked: false,
    ...change,
  };
}

export function questions(callId = "c1"): Questions {
  return {
    callId,
    questions: [
      {
        question: "Which database should the tests use?",
        header: "Database",
        options: [
          { label: "SQLite", description: "Nothing to install" },
          { label: "PostgreSQL", description: "" },
        ],
        multiSelect: false,
      },
      {
        question: "What is to be tested?",
        header: "Scope",
        options: [
          { label: "Reading", description: "" },
          { label: "Writing", description: "" },
        ],
        multiSelect: true,
      },
    ],
    askedAt: AT,
  };
}

export function queued(text: string, change: Partial<QueuedPrompt> = {}): QueuedPrompt {
  const content = text === "" ? [] : [{ type: "text", text } as const];
  return { id: "q1", content, queuedAt: AT, delivery: "queue", kind: "prompt", ...change };
}

export function task(change: Partial<Task> = {}): Task {
  return {
    id: "b3k9x0q2m",
    kind: "shell",
    description: "Run the tests",
    command: "pytest -q",
    callId: "c1",
    chatId: null,
    status: "running",
    startedAt: AT,
    endedAt: null,
    exitCode: null,
    reason: null,
    outputPath: "/work/.agentls/tasks/b3k9x0q2m.log",
    outputBytes: 0,
    lastLines: "",
    ...change,
  };
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
  return {
    type: "userMessageReceived",
    id,
    parent: null,
    content: [{ type: "text", text }],
    author: "user",
  };
}

export function answer(
  parts: Extract<Event, { type: "answerFinished" }>["parts"],
  id = "m2",
  stopReason: StopReason = "endTurn",
): Event {
  return {
    type: "answerFinished",
    id,
    parent: "m1",
    model: "offline",
    parts,
    stopReason,
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
      { id: "allow", kind: "allowOnce", label: "Allow", rule: null, mode: null },
      { id: "deny", kind: "deny", label: "Deny", rule: null, mode: null },
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
    questions: null,
    answers: null,
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
