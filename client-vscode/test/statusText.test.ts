import assert from "node:assert/strict";
import { test } from "node:test";
import type { Activity } from "../src/protocol";
import { fromSnapshot } from "../src/sessionView";
import { statusText } from "../src/statusText";
import { approval, SESSION, snapshot } from "./fixtures";

const RUNNING = { kind: "running" } as const;

function activity(status: Activity["status"], label: string): Activity {
  return { status, label, turnId: null, callIds: [], error: null };
}

test("before the first prompt the default model is shown", () => {
  const status = statusText(RUNNING, null, { model: "offline" });
  assert.equal(status.text, "$(robot) offline · default · Idle");
});

test("the session's own model and mode are shown", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot({
      model: { session: "opus", default: "offline" },
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
    snapshot({}, { activity: activity("running", "Running pytest") }),
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
      { activity: activity("running", "Reading"), approvals: [approval(), approval("c2")] },
    ),
  );
  const status = statusText(RUNNING, view, { model: null });
  assert.equal(status.text, "$(bell-dot) offline · default · Waiting for approval (2)");
  assert.equal(status.background, "warning");
});

test("a long activity is cut", () => {
  const view = fromSnapshot(
    SESSION,
    snapshot({}, { activity: activity("running", `Running ${"x".repeat(200)}`) }),
  );
  assert.ok(statusText(RUNNING, view, { model: null }).text.endsWith("x…"));
});

test("a server that is gone is an error", () => {
  const status = statusText({ kind: "stopped", reason: "It ended." }, null, { model: null });
  assert.equal(status.background, "error");
  assert.match(status.tooltip, /It ended\./);
});
