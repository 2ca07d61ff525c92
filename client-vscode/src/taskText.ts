/** A task in the background, in words. */

import { bytesText, spanText } from "./amounts";
import type { Task, TaskKind, TaskStatus } from "./protocol";
import { unreachable } from "./unreachable";

/** Return whether a task may still go on. */
export function isOpen(task: Task): boolean {
  return task.status === "pending" || task.status === "running";
}

/** Return how a task stands: "12 s", "exit code 1 after 3 min", "stopped after 12 s". */
export function taskStanding(task: Task, now: Date): string {
  const span = taskSpan(task, now);
  const after = span === "" ? "" : ` after ${span}`;
  switch (task.status) {
    case "pending":
      return "about to begin";
    case "running":
      return span;
    case "completed":
      return `done${after}`;
    case "failed":
      return `${failure(task)}${after}`;
    case "killed":
      return `stopped${after}`;
    default:
      return unreachable(task.status, "");
  }
}

/** Return all there is to say of a task, a line each. */
export function taskLines(task: Task, now: Date): readonly string[] {
  const where = task.outputPath === null ? "" : ` in ${task.outputPath}`;
  return [
    `${kindText(task.kind)} ${task.id}: ${taskStanding(task, now)}`,
    ...(task.command === null ? [] : [task.command]),
    ...(task.reason === null ? [] : [task.reason]),
    `${bytesText(task.outputBytes)} of output${where}`,
    ...(task.lastLines.trim() === "" ? [] : ["", task.lastLines.trimEnd()]),
  ];
}

/** Return the tasks that were open in `before`, and have ended in `after`. */
export function endedTasks(before: readonly Task[], after: readonly Task[]): readonly Task[] {
  const open = new Set(before.filter(isOpen).map((task) => task.id));
  return after.filter((task) => open.has(task.id) && !isOpen(task));
}

/** Return the name of an icon. */
export function taskIcon(kind: TaskKind): string {
  switch (kind) {
    case "shell":
      return "terminal";
    case "localAgent":
      return "robot";
    default:
      return unreachable(kind, "server-process");
  }
}

/** Return the colour of a theme for a status; null: none. */
export function taskColour(status: TaskStatus): string | null {
  switch (status) {
    case "pending":
    case "killed":
      return "disabledForeground";
    case "running":
      return null;
    case "completed":
      return "testing.iconPassed";
    case "failed":
      return "testing.iconFailed";
    default:
      return unreachable(status, null);
  }
}

function taskSpan({ startedAt, endedAt }: Task, now: Date): string {
  if (startedAt === null) return "";
  const end = endedAt === null ? now.getTime() : new Date(endedAt).getTime();
  return spanText(end - new Date(startedAt).getTime());
}

function failure({ exitCode }: Task): string {
  if (exitCode === null) return "failed";
  return exitCode < 0 ? `signal ${-exitCode}` : `exit code ${exitCode}`;
}

function kindText(kind: TaskKind): string {
  switch (kind) {
    case "shell":
      return "Command";
    case "localAgent":
      return "Agent";
    default:
      return unreachable(kind, "Task");
  }
}
