import assert from "node:assert/strict";
import { test } from "node:test";
import { conversationMarkdown } from "../src/conversationMarkdown";
import { fromSnapshot } from "../src/sessionView";
import type { SessionView } from "../src/sessionView";
import type { CallView, Entry, LivePartView } from "../src/transcript";
import { approval, SESSION, snapshot } from "./fixtures";

function markdown(entries: readonly Entry[], live: readonly LivePartView[] | null = null): string {
  const view: SessionView = fromSnapshot(SESSION, snapshot());
  const transcript = { entries, live: live && { messageId: "m2", parts: live } };
  return conversationMarkdown({ ...view, transcript });
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
      progress: null,
      outcome: "ok",
      summary: "Read notes",
      ...change,
    },
  };
}

test("every prompt is a heading", () => {
  const text = markdown([
    { kind: "prompt", id: "m1", text: "What is *this*?" },
    { kind: "answer", id: "m2", parts: [{ kind: "text", text: "A **test**." }] },
  ]);
  assert.equal(text, "## What is \\*this\\*?\n\nA **test**.\n");
});

test("what is missing, summed up or cut off says so", () => {
  const text = markdown([
    { kind: "summary", id: "m0", text: "Renamed it." },
    { kind: "gap", id: "gap_m1" },
    { kind: "answer", id: "m1", parts: [{ kind: "text", text: "The first" }] },
    { kind: "cut" },
  ]);
  assert.equal(
    text,
    "> **Summary of what came before**\n>\n> Renamed it.\n\n*Messages are missing here: the session was damaged on disk.*\n\nThe first\n\n*Cut off here: the server ended.*\n",
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
  const text = markdown([{ kind: "prompt", id: "m1", text: "Do this\nand that" }]);
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
    activity: { status: "running", label: "Answering", turnId: "t1", callIds: [], error: null },
    transcript: { entries: [], live: { messageId: "m2", parts: [part] } },
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
      queue: [{ id: "q1", content: [{ type: "text", text: "And then" }], queuedAt: "" }],
    }),
  );
  assert.equal(conversationMarkdown(view), "*In the queue:* And then\n");
});

test("without a session the document says how to begin", () => {
  assert.match(conversationMarkdown(null), /Send a prompt/);
});
