/** What a user does with tasks in the background. */

import * as vscode from "vscode";
import type { Task } from "./protocol";
import type { SessionView } from "./sessionView";
import { endedTasks, isOpen, taskIcon, taskStanding } from "./taskText";
import type { TaskOutput } from "./taskOutput";
import type { WindowSession } from "./windowSession";

const TOLD_MILLISECONDS = 8000;

/** End a task: the one with that id, else one that the user picks. */
export async function stopTask(session: WindowSession, taskId: string | null): Promise<void> {
  const task = await chosen(session.view, taskId, {
    title: "Stop a Task",
    none: "No task is running.",
    fits: isOpen,
  });
  if (task === undefined) return;
  const stopped = await session.stopTask(task.id);
  const text = `${stopped.description}: ${taskStanding(stopped, new Date())}`;
  vscode.window.setStatusBarMessage(text, TOLD_MILLISECONDS);
}

/** Show a task's output: that with the id, else that of one that the user picks. */
export async function showTaskOutput(
  session: WindowSession,
  output: TaskOutput,
  taskId: string | null,
): Promise<void> {
  const task = await chosen(session.view, taskId, {
    title: "Show the Output of a Task",
    none: "There is no task in the background.",
    fits: () => true,
  });
  if (task !== undefined && session.view) await output.open(session.view.sessionId, task);
}

/** Tells of tasks that end: of a failure so that it is not overlooked. */
export class TaskNews {
  private view: SessionView | null = null;

  constructor(
    private readonly session: WindowSession,
    private readonly output: TaskOutput,
  ) {}

  show(view: SessionView | null): void {
    const before = this.view;
    this.view = view;
    if (view === null || before?.sessionId !== view.sessionId) return;
    if (before.tasks === view.tasks) return;
    for (const task of endedTasks(before.tasks, view.tasks)) void this.tell(task);
  }

  private async tell(task: Task): Promise<void> {
    const text = `${task.description}: ${taskStanding(task, new Date())}`;
    if (task.status !== "failed") {
      vscode.window.setStatusBarMessage(text, TOLD_MILLISECONDS);
      return;
    }
    const choice = await vscode.window.showWarningMessage(text, "Show the Output");
    const sessionId = this.session.view?.sessionId;
    if (choice !== undefined && sessionId !== undefined) await this.output.open(sessionId, task);
  }
}

interface Choosing {
  readonly title: string;
  /** What is said where no task fits. */
  readonly none: string;
  fits(task: Task): boolean;
}

async function chosen(
  view: SessionView | null,
  taskId: string | null,
  { title, none, fits }: Choosing,
): Promise<Task | undefined> {
  const tasks = (view?.tasks ?? []).filter(fits);
  const named = tasks.find((task) => task.id === taskId);
  if (named !== undefined) return named;
  if (tasks.length === 0) {
    void vscode.window.showInformationMessage(none);
    return undefined;
  }
  const picks = tasks.map((task) => ({
    label: `$(${taskIcon(task.kind)}) ${task.description}`,
    description: taskStanding(task, new Date()),
    detail: task.command ?? "",
    task,
  }));
  return (await vscode.window.showQuickPick(picks, { title, matchOnDetail: true }))?.task;
}
