import assert from "node:assert/strict";
import { test } from "node:test";
import type { RequestType } from "vscode-languageclient/node";
import type { Connection } from "../src/connection";
import { WindowSession } from "../src/windowSession";
import { envelope, prompt, SESSION, snapshot, task } from "./fixtures";

type Answers = Record<string, (params: Record<string, unknown>) => unknown>;

class FakeServer implements Connection {
  readonly sent: [string, Record<string, unknown>][] = [];

  constructor(private readonly answers: Answers) {}

  async request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R> {
    const fields = params as Record<string, unknown>;
    this.sent.push([type.method, fields]);
    const answer = this.answers[type.method];
    if (answer === undefined) throw new Error(`Unhandled method ${type.method}`);
    return answer(fields) as R;
  }

  methods(): string[] {
    return this.sent.map(([method]) => method);
  }
}

function memory(remembered?: string) {
  let id = remembered;
  return {
    get: () => id,
    set: async (sessionId: string | undefined) => {
      id = sessionId;
    },
  };
}

const NEW: Answers = {
  "agent/session/new": () => ({ sessionId: SESSION, snapshot: snapshot() }),
  "agent/session/prompt": ({ turnId }) => ({ turnId, queued: false }),
};

test("the first prompt begins a session, which the window remembers", async () => {
  const server = new FakeServer(NEW);
  const kept = memory();
  const session = new WindowSession(server, kept);
  await Promise.all([session.prompt("One"), session.prompt("Two")]);
  assert.deepEqual(server.methods(), [
    "agent/session/new",
    "agent/session/prompt",
    "agent/session/prompt",
  ]);
  assert.equal(kept.get(), SESSION);
  const turnIds = server.sent.slice(1).map(([, params]) => params["turnId"]);
  assert.equal(new Set(turnIds).size, 2);
});

test("the window's last session is continued", async () => {
  const server = new FakeServer({
    ...NEW,
    "agent/session/load": () => ({ snapshot: snapshot({ title: "Before" }) }),
  });
  const session = new WindowSession(server, memory(SESSION));
  await session.resume();
  assert.equal(session.view?.title, "Before");
  await session.prompt("Go on");
  assert.deepEqual(server.methods(), ["agent/session/load", "agent/session/prompt"]);
});

test("a session that another window writes is followed, and taken over once nobody does", async () => {
  const followed = { mode: "follower", owner: "an editor's server" } as const;
  let access: { mode: "follower" | "owner"; owner: string | null } = followed;
  const server = new FakeServer({
    "agent/session/load": () => ({ snapshot: snapshot({ access }) }),
  });
  const session = new WindowSession(server, memory(SESSION));
  await session.resume();
  assert.equal(server.sent[0]?.[1]["ifInUse"], "follow");
  assert.equal(session.view?.access.mode, "follower");
  session.receiveSlices({ sessionId: SESSION, seq: 1, access: followed });
  assert.equal(server.sent.length, 1);
  access = { mode: "owner", owner: null };
  session.receiveSlices({ sessionId: SESSION, seq: 1, access: { ...followed, owner: null } });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(session.view?.access.mode, "owner");
  assert.equal(server.sent.length, 2);
});

test("a session that is gone is forgotten, and the user is told", async () => {
  const server = new FakeServer({
    "agent/session/load": () => {
      throw new Error("No session s1.");
    },
  });
  const kept = memory(SESSION);
  await assert.rejects(new WindowSession(server, kept).resume(), /No session s1/);
  assert.equal(kept.get(), undefined);
});

test("a refused prompt leaves nothing half open", async () => {
  let refuse = true;
  const server = new FakeServer({
    ...NEW,
    "agent/session/new": () => {
      if (refuse) throw new Error("The workspace cannot be entered.");
      return { sessionId: SESSION, snapshot: snapshot() };
    },
  });
  const session = new WindowSession(server, memory());
  await assert.rejects(session.prompt("One"), /cannot be entered/);
  refuse = false;
  assert.deepEqual((await session.prompt("Two")).queued, false);
});

test("a missing event is made up for by a fresh snapshot", async () => {
  const server = new FakeServer({
    ...NEW,
    "agent/state/get": () => ({ snapshot: snapshot({ title: "Fresh" }, {}, 7) }),
  });
  const session = new WindowSession(server, memory());
  await session.startNew();
  const fresh = new Promise<void>((resolve) => {
    session.onDidChange((view) => {
      if (view?.title === "Fresh") resolve();
    });
  });
  session.receiveEvent(envelope(7, prompt("Hello")));
  await fresh;
  assert.deepEqual([session.view?.eventSeq, session.view?.stale], [7, false]);
});

test("a reset replaces what the window holds of its session, and of no other", async () => {
  const session = new WindowSession(new FakeServer(NEW), memory());
  await session.startNew();
  session.receiveReset({ sessionId: "s2", snapshot: snapshot({ title: "Other" }, {}, 9) });
  assert.equal(session.view?.title, null);
  session.receiveReset({ sessionId: SESSION, snapshot: snapshot({ title: "Whole" }, {}, 9) });
  assert.deepEqual([session.view?.title, session.view?.eventSeq], ["Whole", 9]);
});

test("a model chosen before the first prompt is what the session begins with", async () => {
  const server = new FakeServer({ ...NEW, "agent/model/set": () => ({}) });
  const session = new WindowSession(server, memory());
  await session.setModel("offline");
  await session.setModel("opus");
  assert.deepEqual(server.sent, [
    ["agent/session/new", { model: "offline" }],
    ["agent/model/set", { sessionId: SESSION, model: "opus" }],
  ]);
});

test("cancel without a turn asks the server nothing", async () => {
  const server = new FakeServer(NEW);
  const session = new WindowSession(server, memory());
  await session.startNew();
  assert.equal(await session.cancel(), false);
  assert.deepEqual(server.methods(), ["agent/session/new"]);
});

test("listeners hear of changes until they leave, and of nothing that is no change", async () => {
  const session = new WindowSession(new FakeServer(NEW), memory());
  let heard = 0;
  const leave = session.onDidChange(() => {
    heard += 1;
  });
  await session.startNew();
  session.receiveEvent(envelope(1, prompt("Known already")));
  assert.equal(heard, 1);
  leave();
  session.receiveEvent(envelope(2, prompt("Hello")));
  assert.equal(heard, 1);
});

test("a prompt says how it is delivered, and what goes with it", async () => {
  const server = new FakeServer(NEW);
  const session = new WindowSession(server, memory());
  await session.prompt("Look", "steer", [{ path: "/a.png" }]);
  await session.prompt("Go on");
  const sent = server.sent.slice(1).map(([, { text, delivery, attachments }]) => {
    return { text, delivery, attachments };
  });
  assert.deepEqual(sent, [
    { text: "Look", delivery: "steer", attachments: [{ path: "/a.png" }] },
    { text: "Go on", delivery: "queue", attachments: [] },
  ]);
});

test("what is done to a session is done to the one that is shown", async () => {
  const sessionId = SESSION;
  const done = {};
  const server = new FakeServer({
    ...NEW,
    "agent/session/compact": ({ turnId }) => ({ turnId, queued: true }),
    "agent/session/clear": () => ({ messages: 12 }),
    "agent/session/redo": () => ({ applied: true }),
    "agent/queue/remove": () => done,
    "agent/task/stop": () => ({ task: task({ status: "killed" }) }),
    "agent/fastMode/set": () => ({ model: { session: null, default: "opus", fast: "haiku" } }),
    "agent/question/answer": () => done,
    "agent/approval/answer": () => done,
  });
  const session = new WindowSession(server, memory());
  await session.startNew();
  assert.equal((await session.compact("Keep the paths")).queued, true);
  assert.equal((await session.clear()).messages, 12);
  assert.equal((await session.redo()).applied, true);
  await session.removeQueued("q1");
  assert.equal((await session.stopTask("b1")).status, "killed");
  assert.equal(await session.setFastMode(true), "haiku");
  await session.answerQuestions(SESSION, "c1", [{ selected: ["SQLite"], other: null }]);
  await session.answerQuestions(SESSION, "c2", null);
  await session.answer(SESSION, "c3", "deny", "Smaller steps");
  const [[, asked] = ["", {}], ...rest] = server.sent.slice(1);
  assert.equal(asked["instructions"], "Keep the paths");
  assert.deepEqual(rest, [
    ["agent/session/clear", { sessionId }],
    ["agent/session/redo", { sessionId }],
    ["agent/queue/remove", { sessionId, itemId: "q1" }],
    ["agent/task/stop", { sessionId, taskId: "b1" }],
    ["agent/fastMode/set", { sessionId, enabled: true }],
    [
      "agent/question/answer",
      { sessionId, callId: "c1", answers: [{ selected: ["SQLite"], other: null }] },
    ],
    ["agent/question/answer", { sessionId, callId: "c2", answers: null }],
    [
      "agent/approval/answer",
      { sessionId, callId: "c3", optionId: "deny", reason: "Smaller steps" },
    ],
  ]);
});

test("without a session there is nothing to compact, and the user is told how to begin", async () => {
  const server = new FakeServer(NEW);
  const session = new WindowSession(server, memory());
  await assert.rejects(session.compact(null), /Send a prompt to begin one/);
  assert.deepEqual(server.methods(), []);
});
