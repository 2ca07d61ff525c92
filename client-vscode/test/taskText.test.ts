import assert from "node:assert/strict";
import { test } from "node:test";
import { endedTasks, taskLines, taskStanding } from "../src/taskText";
import { AT, task } from "./fixtures";

const NOW = new Date(new Date(AT).getTime() + 12_000);
const ENDED = "2026-11-30T14:59:55.123Z";

test("a running task says for how long it has run", () => {
  assert.equal(taskStanding(task(), NOW), "12 s");
  assert.equal(taskStanding(task({ status: "pending", startedAt: null }), NOW), "about to begin");
});

test("a task that has ended says how, and after how long", () => {
  const standing = (change: Parameters<typeof task>[0]) =>
    taskStanding(task({ endedAt: ENDED, ...change }), NOW);
  assert.equal(standing({ status: "completed", exitCode: 0 }), "done after 3 min 20 s");
  assert.equal(standing({ status: "failed", exitCode: 1 }), "exit code 1 after 3 min 20 s");
  assert.equal(standing({ status: "failed", exitCode: -9 }), "signal 9 after 3 min 20 s");
  assert.equal(standing({ status: "failed" }), "failed after 3 min 20 s");
  assert.equal(standing({ status: "killed" }), "stopped after 3 min 20 s");
});

test("all there is to say of a task has a line each", () => {
  const shown = taskLines(
    task({ status: "killed", reason: "agentls ended", outputBytes: 4200, lastLines: "1\n2\n" }),
    NOW,
  );
  assert.deepEqual(shown, [
    "Command b3k9x0q2m: stopped after 12 s",
    "pytest -q",
    "agentls ended",
    "4.2 KB of output in /work/.agentls/tasks/b3k9x0q2m.log",
    "",
    "1\n2",
  ]);
});

test("a task is news once, when it ends", () => {
  const failed = task({ status: "failed" });
  assert.deepEqual(endedTasks([task()], [failed]), [failed]);
  assert.deepEqual(endedTasks([failed], [failed]), []);
  assert.deepEqual(endedTasks([], [failed]), []);
  assert.deepEqual(endedTasks([task()], [task({ outputBytes: 5 })]), []);
});
