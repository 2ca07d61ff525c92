/** The agent's plan, as a tree view. */

import * as vscode from "vscode";
import type { Todo } from "./protocol";
import type { SessionView } from "./sessionView";
import { unreachable } from "./unreachable";

export class TodoTree implements vscode.TreeDataProvider<Todo>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree = vscode.window.createTreeView("agentls.todos", { treeDataProvider: this });
  private todos: readonly Todo[] = [];
  private working = false;

  show(view: SessionView | null): void {
    const todos = view?.todos ?? [];
    const working = view !== null && view.activity.turnId !== null;
    if (todos === this.todos && working === this.working) return;
    this.todos = todos;
    this.working = working;
    const done = todos.filter((todo) => todo.status === "completed").length;
    this.tree.description = todos.length === 0 ? "" : `${done} of ${todos.length} done`;
    this.changed.fire();
  }

  getChildren(parent?: Todo): Todo[] {
    return parent === undefined ? [...this.todos] : [];
  }

  getTreeItem(todo: Todo): vscode.TreeItem {
    const label = todo.status === "inProgress" ? todo.activeForm : todo.content;
    const item = new vscode.TreeItem(label);
    item.iconPath = iconOf(todo, this.working);
    item.tooltip = `${todo.content}\n${statusOf(todo)}`;
    item.accessibilityInformation = { label: `${label}, ${statusOf(todo)}` };
    return item;
  }

  dispose(): void {
    this.tree.dispose();
    this.changed.dispose();
  }
}

function iconOf(todo: Todo, working: boolean): vscode.ThemeIcon {
  switch (todo.status) {
    case "pending":
      return new vscode.ThemeIcon("circle-large-outline");
    case "inProgress":
      return new vscode.ThemeIcon(working ? "loading~spin" : "circle-large-filled");
    case "completed":
      return new vscode.ThemeIcon("pass-filled", new vscode.ThemeColor("testing.iconPassed"));
    default:
      return unreachable(todo.status, new vscode.ThemeIcon("circle-large-outline"));
  }
}

function statusOf(todo: Todo): string {
  switch (todo.status) {
    case "pending":
      return "to be done";
    case "inProgress":
      return "in progress";
    case "completed":
      return "done";
    default:
      return unreachable(todo.status, "");
  }
}
