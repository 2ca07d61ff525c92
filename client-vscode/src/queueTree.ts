/** Prompts that wait for their turn, as a tree view. */

import * as vscode from "vscode";
import { queuedText, textOf } from "./contentText";
import { FlatTree } from "./flatTree";
import type { QueuedPrompt } from "./protocol";

const LABEL_LENGTH = 80;

export function createQueueTree(): FlatTree<QueuedPrompt> {
  return new FlatTree({
    viewId: "agentls.queue",
    contextKey: "agentls.hasQueue",
    itemOf,
  });
}

function itemOf(prompt: QueuedPrompt): vscode.TreeItem {
  const item = new vscode.TreeItem(queuedText(prompt, LABEL_LENGTH));
  item.description = prompt.delivery === "steer" ? "steers the turn" : "";
  item.iconPath = new vscode.ThemeIcon(iconOf(prompt));
  item.tooltip = textOf(prompt.content);
  item.contextValue = "agentls.queued";
  return item;
}

function iconOf(prompt: QueuedPrompt): string {
  if (prompt.kind === "compact") return "fold";
  return prompt.delivery === "steer" ? "debug-step-into" : "comment";
}
