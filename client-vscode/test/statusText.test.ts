import assert from "node:assert/strict";
import { test } from "node:test";
import { fromSnapshot } from "../src/sessionView";
import { statusText } from "../src/statusText";
import {
  activity,
  approval,
  AT,
  context,
  questions,
  retry,
  SESSION,
  snapshot,
  state,
  task,
  usage,
} from "./fixtures";

const RUNNING = { kind: "running" } as const;

test("before the first prompt the default model is shown", () => {
  const status = statusText(RUNNING, null, { model: "offline" });
  assert.equal(status.text, "$(robot) offline · default · Idle");
});

test("until the server has told what holds, it is said to start", () => {
  assert.equal(statusText(RUNNING, null, null).text, "$(loading~spin) Agent: starting");
});

test("the session's own model and mode are shown", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot({
      model: { session: "opus", default: "offline", fast: null },
      permissions: { mode: "acceptEdits", rules: [] },
    }),
  );
  assert.equal(
    statusText(RUNNING, view, { model: null }).text,
    "$(robot) opus · accept edits · Idle",
  );
});

test("a running turn spins", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot({}, { activity: activity({ status: "running", label: "Running pytest" }) }),
  );
  assert.equal(
    statusText(RUNNING, view, { model: null }).text,
    "$(loading~spin) offline · default · Running pytest",
  );
});

test("a waiting approval has a warning background, whatever else runs", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot(
      {},
      {
        activity: activity({ status: "running", label: "Reading" }),
        approvals: [approval(), approval("c2")],
      },
    ),
  );
  const status = statusText(RUNNING, view, { model: null });
  assert.equal(status.text, "$(bell-dot) offline · default · Waiting for approval (2)");
  assert.equal(status.background, "warning");
});

test("a long activity is cut", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot(
      {},
      { activity: activity({ status: "running", label: `Running ${"x".repeat(200)}` }) },
    ),
  );
  assert.ok(statusText(RUNNING, view, { model: null }).text.endsWith("x…"));
});

test("a server that is gone is an error", () => {
  const status = statusText({ kind: "stopped", reason: "It ended." }, null, { model: null });
  assert.equal(status.background, "error");
  assert.match(status.tooltip, /It ended\./);
});

test("a wait before another try is counted down", () => {
  const wait = activity({ status: "running", turnId: "t1", retry: retry() });
  const view = fromSnapshot(SESSION, snapshot({}, { activity: wait }));
  const text = (seconds: number) => {
    const now = new Date(new Date(AT).getTime() + seconds * 1000);
    return statusText(RUNNING, view, { model: null }, now).text;
  };
  assert.equal(text(0), "$(watch) offline · default · Overloaded: again in 30 s");
  assert.equal(text(29), "$(watch) offline · default · Overloaded: again in 1 s");
  assert.equal(text(31), "$(watch) offline · default · Overloaded: trying again");
});

test("a turn that was put aside says until when", () => {
  const wait = retry({ cause: "rateLimited", parked: true });
  const parked = activity({ status: "running", turnId: "t1", retry: wait });
  const view = fromSnapshot(SESSION, snapshot({}, { activity: parked }));
  const { text } = statusText(RUNNING, view, { model: null }, new Date(AT));
  assert.match(text, /Rate limit: put aside until \S*:05$/);
});

test("a question that waits has a warning background", () => {
  const view = fromSnapshot(SESSION, snapshot({}, { questions: [questions()] }));
  const status = statusText(RUNNING, view, { model: null });
  assert.equal(status.text, "$(bell-dot) offline · default · Waiting for an answer");
  assert.equal(status.background, "warning");
  assert.match(status.tooltip, /Asks\\: Which database/);
});

test("how full the window is stands at the end, where it is known", () => {
  const text = (usedTokens: number | null, window: number | null) => {
    const slices = { context: context({ usedTokens, window }) };
    return statusText(RUNNING, fromSnapshot(SESSION, snapshot({}, slices)), { model: null }).text;
  };
  assert.equal(text(84_000, 200_000), "$(robot) offline · default · Idle · 42%");
  assert.equal(text(300_000, 200_000), "$(robot) offline · default · Idle · 100%");
  assert.equal(text(84_000, null), "$(robot) offline · default · Idle");
  assert.equal(text(null, 200_000), "$(robot) offline · default · Idle");
});

test("fast mode is marked, and its model is the one shown", () => {
  const model = { session: "opus", default: "offline", fast: "haiku" };
  const status = statusText(RUNNING, fromSnapshot(SESSION, snapshot({ model })), { model: null });
  assert.equal(status.text, "$(robot) $(zap) haiku · default · Idle");
  assert.match(status.tooltip, /Fast mode\\: haiku in place of opus/);
});

test("the tooltip tells tokens, by model where there are several, and the cost", () => {
  const opus = usage(1000, 200, { cacheReadTokens: 80_000, costNanoUsd: 100_000_000 });
  const haiku = usage(500, 100, { costNanoUsd: 20_000_000 });
  const total = usage(1500, 300, { cacheReadTokens: 80_000, costNanoUsd: 120_000_000 });
  const totals = { ...state().usage, total, byModel: { opus, haiku }, responses: 2 };
  const slices = { context: context({ usedTokens: 84_000, window: 200_000 }) };
  const view = fromSnapshot(SESSION, snapshot({ usage: totals, tasks: [task()] }, slices));
  const { tooltip } = statusText(RUNNING, view, { model: null });
  const lines = tooltip.replaceAll("\\", "").split("\n\n").slice(4);
  assert.deepEqual(lines, [
    "Tasks in the background: 1",
    "Context: about 84k of 200k tokens (42%)",
    "Tokens: 82k in (80k cached), 300 out",
    "— opus: 81k in (80k cached), 200 out",
    "— haiku: 500 in, 100 out",
    "Cost so far: $0.12",
  ]);
});
