import assert from "node:assert/strict";
import { test } from "node:test";
import { contextPercent, fromSnapshot, withDelta, withSlices } from "../src/sessionView";
import type { Envelope } from "../src/protocol";
import {
  answer,
  AT,
  context,
  envelope,
  prompt,
  questions,
  retry,
  SESSION,
  snapshot,
  state,
  task,
} from "./fixtures";
import { after, callOf, delta, opened, streaming } from "./views";

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
