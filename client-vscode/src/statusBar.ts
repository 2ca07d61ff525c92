/** The status bar item. */

import * as vscode from "vscode";
import type { StatusText } from "./statusText";
import { unreachable } from "./unreachable";

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    "agentls.status",
    vscode.StatusBarAlignment.Left,
    100,
  );

  constructor() {
    this.item.name = "Agent";
    this.item.command = "agentls.menu";
    this.item.show();
  }

  show(status: StatusText): void {
    this.item.text = status.text;
    this.item.tooltip = new vscode.MarkdownString(status.tooltip);
    this.item.backgroundColor = backgroundOf(status);
  }

  dispose(): void {
    this.item.dispose();
  }
}

function backgroundOf(status: StatusText): vscode.ThemeColor | undefined {
  switch (status.background) {
    case "none":
      return undefined;
    case "warning":
      return new vscode.ThemeColor("statusBarItem.warningBackground");
    case "error":
      return new vscode.ThemeColor("statusBarItem.errorBackground");
    default:
      return unreachable(status.background, undefined);
  }
}
