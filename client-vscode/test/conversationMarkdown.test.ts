import assert from "node:assert/strict";
import { test } from "node:test";
import { detailLanguage } from "../src/callMarkdown";
import { conversationMarkdown } from "../src/conversationMarkdown";
import { fromSnapshot } from "../src/sessionView";
import type { SessionView } from "../src/sessionView";
import type { CallView, Entry, PromptEntry } from "../src/entries";
import type { LivePartView } from "../src/transcript";
import { activity, approval, AT, questions, queued, retry, SESSION, snapshot } from "./fixtures";

function markdown(entries: readonly Entry[], live: readonly LivePartView[] | null = null): string {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const transcript = {
    entries,
    live: live && { messageId: "m2", parts: live, stalledSince: null },
    cleared: null,
  };
  return conversationMarkdown({ ...view, transcript });
}

function said(text: string, change: Partial<PromptEntry> = {}): PromptEntry {
  return { kind: "prompt", id: "m1", turnId: "t1", text, attached: [], steered: false, ...change };
}

function call(change: Partial<CallView>): { kind: "call"; call: CallView } {
  return {
    kind: "call",
    call: {
      id: "c1",
      name: "Read",
      status: "finished",
      invocation: "Reading notes.txt",
      approval: null,
      questions: null,
      answers: null,
      progress: null,
      outcome: "ok",
      summary: "Read notes",
      ...change,
    },
  };
}

test("every prompt is a heading", () => {
  const text = markdown([
    said("What is *this*?"),
    { kind: "answer", id: "m2", parts: [{ kind: "text", text: "A **test**." }] },
  ]);
  assert.equal(text, "## What is \\*this\\*?\n\nA **test**.\n");
});

test("what is missing, summed up or cut off says so", () => {
  const text = markdown([
    { kind: "summary", id: "m0", text: "Renamed it.", messageCount: 120, tokens: null },
    { kind: "gap", id: "gap_m1" },
    { kind: "answer", id: "m1", parts: [{ kind: "text", text: "The first" }] },
    { kind: "cut", why: "interrupted" },
  ]);
  assert.equal(
    text,
    "---\n\n**Conversation compacted:** 120 messages\n\n```agentls-fold Summary of what came before\nRenamed it.\n```\n\n*Messages are missing here: the session was damaged on disk.*\n\nThe first\n\n*Cut off here: the server ended.*\n",
  );
});

test("a session that is not saved, or only followed, says so at its end", () => {
  const trouble = { message: "no space left", since: "", unsavedBytes: 1, accepted: false };
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const shown = conversationMarkdown({
    ...view,
    storage: trouble,
    access: { mode: "follower", owner: "an editor's server" },
  });
  assert.match(shown, /> \*\*Read-only\.\*\* an editor's server/);
  assert.match(shown, /> \*\*Not saved\.\*\* no space left/);
});

test("a long prompt stands whole below its heading", () => {
  const text = markdown([said("Do this\nand that")]);
  assert.equal(text, "## Do this\n\n> Do this\n> and that\n");
});

test("calls that follow each other have a line each", () => {
  const text = markdown([
    {
      kind: "answer",
      id: "m2",
      parts: [
        call({}),
        call({ id: "c2", name: "Bash", outcome: "denied", summary: "Not run" }),
        call({ id: "c3", name: "Bash", outcome: "error", summary: "Exit code 1" }),
        call({ id: "c4", name: "Bash", outcome: "cancelled", summary: "Cancelled" }),
      ],
    },
  ]);
  assert.equal(
    text,
    "✓ **Read** notes\\\n– **Bash** Not run \\(denied\\)\\\n✗ **Bash** Exit code 1 \\(error\\)\\\n– **Bash** Cancelled\n",
  );
});

test("a call that the user denied says what it was", () => {
  const denied = { name: "Edit", outcome: "denied", summary: "Denied: the user said no" } as const;
  const text = markdown([
    { kind: "answer", id: "m2", parts: [call({ ...denied, approval: approval() })] },
  ]);
  assert.equal(text, "– **Edit** notes\\.txt · Denied\\: the user said no\n");
});

test("calls of answers that say nothing else are lines of one paragraph", () => {
  const text = markdown([
    { kind: "answer", id: "m2", parts: [{ kind: "text", text: "I read." }, call({})] },
    { kind: "answer", id: "m3", parts: [call({ id: "c2" })] },
    { kind: "answer", id: "m4", parts: [{ kind: "text", text: "Done." }] },
  ]);
  assert.equal(text, "I read.\n\n✓ **Read** notes\\\n✓ **Read** notes\n\nDone.\n");
});

test("a waiting call shows what it wants to do", () => {
  const waiting = call({ name: "Edit", status: "waiting", approval: approval() });
  const text = markdown([{ kind: "answer", id: "m2", parts: [waiting] }]);
  assert.match(text, /^\? \*\*Edit\*\* notes\\\.txt \\\(waiting for approval\\\)$/m);
  assert.match(text, /^```diff\n--- notes\.txt\n/m);
});

test("a running call shows the last lines of its output", () => {
  const running = call({ status: "running", progress: "1\n2\n3\n4\n5\n6\n7\n" });
  const text = markdown([{ kind: "answer", id: "m2", parts: [running] }]);
  assert.equal(text, "… **Reading** notes\\.txt\n\n```\n3\n4\n5\n6\n7\n```\n");
});

test("output with a fence in it cannot end its code block", () => {
  const running = call({ status: "running", progress: "````\n# not a heading" });
  const text = markdown([{ kind: "answer", id: "m2", parts: [running] }]);
  assert.ok(text.includes("`````\n````\n# not a heading\n`````"));
});

test("streamed text with an open code block does not swallow what follows", () => {
  const view = fromSnapshot(SESSION, snapshot());
  const part = { id: "p1", type: "text", name: null, text: "```py\nx = 1", length: 11 } as const;
  const text = conversationMarkdown({
    ...view,
    activity: activity({ status: "running", label: "Answering", turnId: "t1" }),
    transcript: {
      entries: [],
      live: { messageId: "m2", parts: [part], stalledSince: null },
      cleared: null,
    },
  });
  assert.equal(text, "```py\nx = 1\n```\n\n*Answering…*\n");
});

test("a failed turn says why", () => {
  const error = { kind: "NoCredentials", message: "No key is known.", retryable: false };
  const text = markdown([{ kind: "turnEnd", status: "failed", error }]);
  assert.equal(text, "> **Failed.** No key is known\\.\n");
});

test("a prompt in the queue is shown at the end", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot({
      queue: [queued("And then")],
    }),
  );
  assert.equal(conversationMarkdown(view), "*In the queue:* And then\n");
});

test("without a session the document says how to begin", () => {
  assert.match(conversationMarkdown(null), /Send a prompt/);
});

test("what is queued says how it will be taken up", () => {
  const queue = [
    queued("Use tabs", { delivery: "steer" }),
    queued("", { kind: "compact" }),
    queued("Keep the paths", { kind: "compact" }),
  ];
  assert.equal(
    conversationMarkdown(fromSnapshot(SESSION, snapshot({ queue }))),
    "*Steers the turn:* Use tabs\n\n*In the queue:* Compact the conversation\n\n" +
      "*In the queue:* Compact the conversation\\: Keep the paths\n",
  );
});

test("a prompt that steered a turn, and what came with one, can be seen", () => {
  const text = markdown([
    said("What is in it?", { attached: ["image: a.png", "range: src/b.py:10-20"] }),
    said("In short", { steered: true }),
  ]);
  assert.equal(
    text,
    "## What is in it?\n\n*image\\: a\\.png · range\\: src/b\\.py\\:10\\-20*\n\n## ↳ In short\n",
  );
});

test("a notice of agentls is folded, and is no heading", () => {
  const text = markdown([{ kind: "notice", id: "m3", text: "Task b3k9 has ended.\nExit code 1." }]);
  assert.equal(
    text,
    "```agentls-fold agentls to the model: Task b3k9 has ended.\nTask b3k9 has ended.\nExit code 1.\n```\n",
  );
});

test("a compaction is a divider with its numbers, and its summary is folded", () => {
  const text = markdown([
    {
      kind: "summary",
      id: "m9",
      text: "```py\nx = 1",
      messageCount: 120,
      tokens: { before: 85_000, after: 9_000 },
    },
  ]);
  assert.match(text, /^---\n\n\*\*Conversation compacted:\*\* 120 messages, 85k → 9k tokens\n\n/);
  assert.match(text, /````agentls-fold Summary of what came before\n```py\nx = 1\n```\n````\n$/);
});

test("a compaction that failed says why", () => {
  const error = { kind: "CompactionRejected", message: "It did not shrink.", retryable: false };
  const text = markdown([{ kind: "compactionFailed", error }]);
  assert.equal(text, "> **Not compacted.** It did not shrink\\.\n");
});

test("a line shows from where on tool output is sent whole", () => {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const entries = [said("One"), said("Two", { id: "m5" })];
  const transcript = { entries, live: null, cleared: { before: "m5", tokens: 12_300 } };
  assert.match(
    conversationMarkdown({ ...view, transcript }),
    /## One\n\n---\n\n\*Tool output above is sent .* \(about 12k tokens less\)\.\*\n\n## Two/,
  );
});

test("a wait before another try has a line for as long as it lasts", () => {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const running = activity({ status: "running", turnId: "t1", label: "Waiting", retry: retry() });
  const waits = conversationMarkdown({ ...view, activity: running }, new Date(AT));
  assert.match(waits, /^\*The model is overloaded; trying again at .*05 \\\(2 of 3\\\)\*\n$/);
  const over = { ...running, retry: null, label: "Thinking" };
  assert.equal(conversationMarkdown({ ...view, activity: over }), "*Thinking…*\n");
});

test("a turn that was put aside says until when", () => {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const wait = retry({ cause: "rateLimited", parked: true });
  const parked = activity({ status: "running", turnId: "t1", retry: wait });
  assert.match(
    conversationMarkdown({ ...view, activity: parked }, new Date(AT)),
    /takes no more requests just now; the turn is put aside until .*05 and goes on by itself/,
  );
});

test("an answer that has stalled says since when", () => {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const live = { messageId: "m2", parts: [], stalledSince: AT };
  const stalled = conversationMarkdown(
    {
      ...view,
      activity: activity({ status: "running", label: "Thinking", turnId: "t1" }),
      transcript: { entries: [], live, cleared: null },
    },
    new Date(AT),
  );
  assert.match(stalled, /^\*The model has said nothing since .*35; still waiting…\*\n$/);
});

test("thinking that is over is folded", () => {
  const thinking = { kind: "thinking", text: "Hm.\n" } as const;
  const text = markdown([{ kind: "answer", id: "m2", parts: [thinking] }]);
  assert.equal(text, "```agentls-fold Thought\nHm.\n```\n");
});

test("a question shows what can be chosen, and then what was", () => {
  const asks = { name: "AskUserQuestion", questions: questions(), outcome: null, summary: null };
  const waiting = call({ ...asks, status: "waiting" });
  const asked = markdown([{ kind: "answer", id: "m2", parts: [waiting] }]);
  assert.match(asked, /^\? \*\*AskUserQuestion\*\* \\\(waiting for your answer\\\)\n/);
  assert.match(asked, /\*\*Database\*\* Which database .*\n\n- SQLite\\: Nothing to install\n- PostgreSQL\n/);
  const answers = [
    { selected: ["SQLite"], other: null },
    { selected: ["Reading", "Writing"], other: "and locks" },
  ];
  const done = call({ ...asks, status: "finished", outcome: "ok", summary: "Asked", answers });
  assert.match(
    markdown([{ kind: "answer", id: "m2", parts: [done] }]),
    /^✓ .* Answered\n\n- Which .* \*\*SQLite\*\*\n- What .* \*\*Reading, Writing, and locks\*\*\n$/,
  );
});

test("a plan that waits is drawn, not quoted as code", () => {
  const plan = { ...approval(), toolName: "ExitPlanMode", detail: "# Plan\n\n---\n\n1. Do it" };
  const waiting = call({ name: "ExitPlanMode", status: "waiting", approval: plan });
  const text = markdown([{ kind: "answer", id: "m2", parts: [waiting] }]);
  assert.match(text, /\n\n> # Plan\n>\n> ---\n>\n> 1\. Do it\n$/);
  assert.equal(detailLanguage(plan), "markdown");
});
