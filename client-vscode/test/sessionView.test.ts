import assert from "node:assert/strict";
import { test } from "node:test";
import { fromSnapshot, withDelta, withEvent, withSlices } from "../src/sessionView";
import type { SessionView } from "../src/sessionView";
import type { Envelope, FileBlock } from "../src/protocol";
import {
  activity,
  answer,
  approval,
  AT,
  envelope,
  finishedCall,
  prompt,
  SESSION,
  snapshot,
  usage,
} from "./fixtures";
import { after, callOf, delta, opened, streaming } from "./views";

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

test("an event of a newer server is passed over", () => {
  const unknown = { type: "somethingNew" } as unknown as Envelope["event"];
  const view = withEvent(opened(), envelope(2, unknown));
  assert.equal(view.eventSeq, 2);
  assert.deepEqual(view.transcript.entries, []);
});

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
