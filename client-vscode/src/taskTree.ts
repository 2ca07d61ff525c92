/** What runs in the background, as a tree view. */

import * as vscode from "vscode";
import { FlatTree } from "./flatTree";
import type { Task } from "./protocol";
import { isOpen, taskColour, taskIcon, taskLines, taskStanding } from "./taskText";

export function createTaskTree(): FlatTree<Task> {
  return new FlatTree({
    viewId: "agentls.tasks",
    contextKey: "agentls.hasTasks",
    itemOf: (task) => itemOf(task, new Date()),
  });
}

function itemOf(task: Task, now: Date): vscode.TreeItem {
  const standing = taskStanding(task, now);
  const colour = taskColour(task.status);
  const item = new vscode.TreeItem(task.description);
  item.description = standing;
  item.iconPath = new vscode.ThemeIcon(
    task.status === "running" ? "loading~spin" : taskIcon(task.kind),
    colour === null ? undefined : new vscode.ThemeColor(colour),
  );
  item.tooltip = taskLines(task, now).join("\n");
  item.contextValue = isOpen(task) ? "agentls.openTask" : "agentls.endedTask";
  item.command = { command: "agentls.showTaskOutput", title: "Show the Output", arguments: [task] };
  item.accessibilityInformation = { label: `${task.description}, ${task.status}, ${standing}` };
  return item;
}
