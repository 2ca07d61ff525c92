/** Where VS Code enters and leaves. */

import type * as vscode from "vscode";
import { AgentWindow } from "./agentWindow";
import { extendMarkdownIt } from "./conversationPreview";

let agentWindow: AgentWindow | null = null;

export function activate(context: vscode.ExtensionContext): {
  extendMarkdownIt: typeof extendMarkdownIt;
} {
  agentWindow = new AgentWindow(context);
  context.subscriptions.push(agentWindow);
  void agentWindow.start();
  return { extendMarkdownIt };
}

export async function deactivate(): Promise<void> {
  await agentWindow?.stop();
  agentWindow = null;
}
