import assert from "node:assert/strict";
import { test } from "node:test";
import { contextPercent, fromSnapshot, withDelta, withEvent, withSlices } from "../src/sessionView";
import type { SessionView } from "../src/sessionView";
import type { Envelope, FileBlock } from "../src/protocol";
import {
  activity,
  answer,
  approval,
  AT,
  context,
  envelope,
  finishedCall,
  prompt,
  questions,
  retry,
  SESSION,
  snapshot,
  state,
  task,
  usage,
} from "./fixtures";

function opened(): SessionView {
  return fromSnapshot(SESSION, snapshot());
}

function after(view: SessionView, ...envelopes: Envelope[]): SessionView {
  return envelopes.reduce(withEvent, view);
}

function streaming(): SessionView {
  return after(
    opened(),
    envelope(2, prompt("Hello")),
    envelope(2, { type: "answerStarted", messageId: "m2", model: "offline" }),
    envelope(2, {
      type: "partStarted",
      messageId: "m2",
      part: { type: "text", id: "p1", name: null, text: "" },
    }),
  );
}

function delta(offset: number, text: string) {
  return { sessionId: SESSION, chatId: "main", seq: 2, partId: "p1", offset, text };
}

function liveText(view: SessionView): string | undefined {
  return view.transcript.live?.parts[0]?.text;
}

test("a slice that is absent has not changed", () => {
  const view = withSlices(fromSnapshot(SESSION, snapshot({ title: "Old" })), {
    sessionId: SESSION,
    seq: 2,
    activity: activity({ status: "running", label: "Thinking", turnId: "t1" }),
  });
  assert.equal(view.activity.label, "Thinking");
  assert.equal(view.title, "Old");
  assert.deepEqual(view.model, { session: null, default: "offline", fast: null });
});

test("slices of another session and older slices change nothing", () => {
  const view = opened();
  assert.equal(withSlices(view, { sessionId: "s2", seq: 9, title: "No" }), view);
  assert.equal(withSlices(view, { sessionId: SESSION, seq: 0, title: "No" }), view);
});

test("an event that the snapshot holds is not applied again", () => {
  const view = opened();
  assert.equal(withEvent(view, envelope(1, prompt("Hello"))), view);
});

test("a missing event makes the view stale", () => {
  const next = withEvent(opened(), envelope(2, prompt("Hello")));
  assert.equal(next.stale, false);
  assert.equal(withEvent(next, envelope(4, prompt("Again", "m3"))).stale, true);
});

test("a moved head makes the view stale", () => {
  const rewound = {
    type: "headMoved",
    head: null,
    previous: null,
    reason: "rewind",
    changes: [],
    redo: [],
  } as const;
  assert.equal(withEvent(opened(), envelope(2, rewound)).stale, true);
});

test("trouble with the disk comes without a number of its own, and goes again", () => {
  const trouble = { message: "no space left", since: AT, unsavedBytes: 10, accepted: false };
  const told = withEvent(opened(), envelope(1, { type: "storageFailed", trouble }));
  assert.equal(told.stale, false);
  const failed = withSlices(told, { sessionId: SESSION, seq: 1, storage: trouble });
  assert.equal(failed.storage?.message, "no space left");
  assert.equal(withSlices(failed, { sessionId: SESSION, seq: 2, storage: null }).storage, null);
});

test("an event of a subagent counts and is not shown", () => {
  const view = withEvent(opened(), envelope(2, prompt("Hello"), { chatId: "agent-1" }));
  assert.equal(view.eventSeq, 2);
  assert.deepEqual(view.transcript.entries, []);
});

test("streamed text is added where it continues, in code points", () => {
  let view = withDelta(streaming(), delta(0, "Grüße 🌍"));
  view = withDelta(view, delta(7, "!"));
  assert.equal(liveText(view), "Grüße 🌍!");
});

test("text that was streamed twice stands there once", () => {
  const view = withDelta(withDelta(streaming(), delta(0, "abc")), delta(1, "bcde"));
  assert.equal(liveText(view), "abcde");
  assert.equal(withDelta(view, delta(0, "abc")), view);
});

test("text that leaves a gap is dropped until the answer is whole", () => {
  const view = streaming();
  assert.equal(withDelta(view, delta(5, "late")), view);
});

test("the finished answer replaces the streamed one", () => {
  const view = after(
    withDelta(streaming(), delta(0, "Hel")),
    envelope(3, answer([{ type: "text", id: "p1", text: "Hello!" }])),
  );
  assert.equal(view.transcript.live, null);
  assert.deepEqual(view.transcript.entries.at(-1), {
    kind: "answer",
    id: "m2",
    parts: [{ kind: "text", text: "Hello!" }],
  });
});

test("a call goes from the approval to its result", () => {
  const toolCall = { type: "toolCall", id: "c1", name: "Edit", input: {}, malformedInput: null };
  let view = after(
    opened(),
    envelope(2, prompt("Edit it")),
    envelope(3, answer([{ ...toolCall, type: "toolCall" }])),
    envelope(4, { type: "approvalRequested", parent: "m2", approval: approval() }),
  );
  assert.equal(callOf(view)?.status, "waiting");
  const decision = {
    behaviour: "allow",
    decidedBy: "user",
    reason: "",
    rule: null,
    clientId: "vscode",
  } as const;
  view = after(
    view,
    envelope(5, {
      type: "approvalAnswered",
      parent: "m2",
      callId: "c1",
      optionId: "allow",
      decision,
      editedInput: null,
    }),
    envelope(6, {
      type: "toolCallStarted",
      parent: "m2",
      callId: "c1",
      invocation: "Editing notes.txt",
      decision,
    }),
    envelope(6, { type: "toolCallProgressed", callId: "c1", text: "half" }),
  );
  assert.deepEqual(
    [callOf(view)?.status, callOf(view)?.invocation, callOf(view)?.progress],
    ["running", "Editing notes.txt", "half"],
  );
  view = after(
    view,
    envelope(7, {
      type: "toolCallFinished",
      parent: "m2",
      callId: "c1",
      outcome: "ok",
      summary: "Edited notes.txt",
      content: [],
      changes: [],
      leftOut: null,
      variables: {},
      decision: null,
    }),
  );
  assert.deepEqual(
    [callOf(view)?.status, callOf(view)?.outcome, callOf(view)?.summary, callOf(view)?.progress],
    ["finished", "ok", "Edited notes.txt", null],
  );
});

test("a snapshot shows calls in the answer that made them, with their results", () => {
  const call = finishedCall("c1");
  const view = fromSnapshot(
    SESSION,
    snapshot({
      history: [
        { type: "user", id: "m1", at: AT, turnId: "t1", content: [], author: "user" },
        {
          type: "answer",
          id: "m2",
          at: call.startedAt ?? "",
          turnId: "t1",
          model: "offline",
          parts: [{ type: "toolCall", id: "c1", name: "Read", input: {}, malformedInput: null }],
          stopReason: "toolUse",
          usage: usage(),
        },
        { type: "callResult", call },
      ],
    }),
  );
  assert.equal(view.transcript.entries.length, 2);
  assert.equal(callOf(view)?.summary, "Read 3 lines of notes.txt");
});

test("passing events bear the number of the last kept one", () => {
  const gates = { parallelReads: 4, thinking: false, fastModel: null };
  const view = after(
    streaming(),
    envelope(2, { type: "answerStalled", messageId: "m2", silentSince: AT }),
    envelope(2, { type: "taskProgressed", taskId: "b1", outputBytes: 5, lastLines: "x" }),
    envelope(2, { type: "gatesChanged", gates }),
  );
  assert.deepEqual([view.stale, view.eventSeq], [false, 2]);
});

test("a stalled answer says since when, until the model goes on", () => {
  const stall = { type: "answerStalled", messageId: "m2", silentSince: AT } as const;
  const view = after(streaming(), envelope(2, stall));
  assert.equal(view.transcript.live?.stalledSince, AT);
  assert.equal(withDelta(view, delta(0, "Go")).transcript.live?.stalledSince, null);
  const other = after(streaming(), envelope(2, { ...stall, messageId: "m7" }));
  assert.equal(other.transcript.live?.stalledSince, null);
});

test("what was streamed before a retry is void", () => {
  const scheduled = { type: "retryScheduled", parent: "m1", retry: retry() } as const;
  const view = after(withDelta(streaming(), delta(0, "Hel")), envelope(3, scheduled));
  assert.equal(view.transcript.live, null);
  assert.equal(view.transcript.entries.length, 1);
});

test("an answer that the model's side cut keeps what had come, and says so", () => {
  const cut = answer([{ type: "text", id: "p1", text: "Hel" }], "m2", "cut");
  const kinds = after(streaming(), envelope(3, cut)).transcript.entries.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["prompt", "answer", "cut"]);
});

test("a second prompt of the same turn has steered it; a word of agentls is a notice", () => {
  const notice = { ...prompt("Task b1 has ended.", "m4"), author: "agentls" } as const;
  const view = after(
    opened(),
    envelope(2, prompt("Do it")),
    envelope(3, prompt("With tabs", "m3")),
    envelope(4, notice as Envelope["event"]),
    envelope(5, prompt("And now", "m5"), { turnId: "t2" }),
  );
  const shown = view.transcript.entries.map((entry) =>
    entry.kind === "prompt" ? [entry.text, entry.steered] : entry.kind,
  );
  assert.deepEqual(shown, [["Do it", false], ["With tabs", true], "notice", ["And now", false]]);
});

test("what came with a prompt is named, not shown", () => {
  const event = {
    ...prompt("Look at these"),
    content: [
      { type: "text", text: "Look at these" },
      { type: "image", mediaType: "image/png", data: "", name: "a.png" },
      { type: "document", mediaType: "application/pdf", data: "", name: "b.pdf", pages: 3 },
      file({ what: "range", firstLine: 10, lastLine: 20 }),
      file({ what: "symbol", symbol: "main" }),
      file({ what: "folder", path: "src/" }),
    ],
  } as Envelope["event"];
  const entry = after(opened(), envelope(2, event)).transcript.entries[0];
  assert.deepEqual(entry?.kind === "prompt" && [entry.text, entry.attached], [
    "Look at these",
    [
      "image: a.png",
      "document: b.pdf, 3 pages",
      "range: src/a.py:10-20",
      "symbol: src/a.py#main",
      "folder: src/",
    ],
  ]);
});

test("a compaction is a line in the conversation, of which all stays in sight", () => {
  const cleared = { type: "toolOutputsCleared", parent: "m1", before: "m1", tokens: 900 } as const;
  let view = after(opened(), envelope(2, prompt("Do it")), envelope(3, cleared));
  assert.deepEqual(view.transcript.cleared, { before: "m1", tokens: 900 });
  view = after(
    view,
    envelope(4, { type: "compactionStarted", reason: "automatic" }),
    envelope(5, {
      type: "conversationCompacted",
      id: "m9",
      parent: null,
      logicalParent: "m1",
      keptFrom: null,
      keptFromSeq: null,
      summary: "It was done.",
      messageCount: 120,
      state: {},
      reason: "automatic",
      carried: { goal: null, constraints: [], prompts: [], files: [], failures: [] },
      turnIds: [],
      putBack: "",
      tokensBefore: 85_000,
      tokensAfter: 9_000,
    }),
    envelope(6, prompt("Go on", "m10")),
  );
  assert.deepEqual(
    view.transcript.entries.map(({ kind }) => kind),
    ["prompt", "summary", "prompt"],
  );
  assert.deepEqual([view.stale, view.transcript.cleared], [false, null]);
});

test("a compaction that failed leaves a line, and the conversation as it was", () => {
  const error = { kind: "CompactionRejected", message: "It did not shrink.", retryable: false };
  const view = after(
    opened(),
    envelope(2, prompt("Do it")),
    envelope(3, { type: "compactionFailed", error, counts: true }),
  );
  assert.deepEqual(view.transcript.entries.at(-1), { kind: "compactionFailed", error });
});

test("a question waits, and then has its answers", () => {
  const toolCall = { id: "c1", name: "AskUserQuestion", input: {}, malformedInput: null };
  let view = after(
    opened(),
    envelope(2, answer([{ ...toolCall, type: "toolCall" }])),
    envelope(3, { type: "questionsAsked", parent: "m2", questions: questions() }),
  );
  assert.deepEqual([callOf(view)?.status, callOf(view)?.questions], ["waiting", questions()]);
  const answers = [{ selected: ["SQLite"], other: null }];
  const answered = { parent: "m2", callId: "c1", answers, clientId: null };
  view = after(view, envelope(4, { type: "questionsAnswered", ...answered }));
  assert.deepEqual([callOf(view)?.status, callOf(view)?.answers], ["ready", answers]);
});

test("tasks, questions, window and gates come as slices", () => {
  const view = withSlices(opened(), {
    sessionId: SESSION,
    seq: 2,
    tasks: [task()],
    questions: [questions()],
    context: context({ usedTokens: 84_000, window: 200_000 }),
    gates: { parallelReads: 4, thinking: false, fastModel: "haiku" },
  });
  assert.equal(view.tasks[0]?.id, "b3k9x0q2m");
  assert.equal(view.questions[0]?.callId, "c1");
  assert.equal(contextPercent(view.context), 42);
  assert.equal(view.gates.fastModel, "haiku");
  assert.equal(withSlices(view, { sessionId: SESSION, seq: 3, queue: [] }).tasks, view.tasks);
});

test("a snapshot shows where tool output was cleared, and the summary without its numbers", () => {
  const { compaction } = state();
  const view = fromSnapshot(
    SESSION,
    snapshot({
      history: [
        { type: "summary", id: "m9", at: AT, text: "It was.", messageCount: 12, putBack: "" },
      ],
      compaction: { ...compaction, clearedBefore: "m9" },
    }),
  );
  assert.deepEqual(view.transcript.cleared, { before: "m9", tokens: null });
  assert.deepEqual(view.transcript.entries, [
    { kind: "summary", id: "m9", text: "It was.", messageCount: 12, tokens: null },
  ]);
});

test("an event of a newer server is passed over", () => {
  const unknown = { type: "somethingNew" } as unknown as Envelope["event"];
  const view = withEvent(opened(), envelope(2, unknown));
  assert.equal(view.eventSeq, 2);
  assert.deepEqual(view.transcript.entries, []);
});

function callOf(view: SessionView) {
  const entry = view.transcript.entries.at(-1);
  const part = entry?.kind === "answer" ? entry.parts[0] : undefined;
  return part?.kind === "call" ? part.call : undefined;
}

function file(change: Partial<FileBlock>): FileBlock {
  return {
    type: "file",
    what: "file",
    path: "src/a.py",
    text: "x = 1",
    symbol: null,
    firstLine: null,
    lastLine: null,
    leftOut: null,
    ...change,
  };
}
