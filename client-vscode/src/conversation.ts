/** The conversation as a document that grows, shown in VS Code's Markdown preview. */

import * as vscode from "vscode";
import { conversationMarkdown } from "./conversationMarkdown";
import { CONVERSATION_SCHEME } from "./conversationPreview";
import type { SessionView } from "./sessionView";

const UPDATE_MILLISECONDS = 100;
const PREVIEW = "vscode.markdown.preview.editor";
const ADDRESS = vscode.Uri.from({ scheme: CONVERSATION_SCHEME, path: "/Conversation.md" });

export class Conversation implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(
    CONVERSATION_SCHEME,
    this,
  );
  /** A change told while the document is being opened is lost: look again once it is. */
  private readonly opening = vscode.workspace.onDidOpenTextDocument((document) => {
    if (document.uri.scheme !== CONVERSATION_SCHEME || this.provided === this.view) return;
    this.changed.fire(ADDRESS);
  });
  private view: SessionView | null = null;
  /** What the document was last made of. */
  private provided: SessionView | null = null;
  private timer: NodeJS.Timeout | null = null;

  /** Take what is to be shown; while text streams, the document follows some times a second. */
  show(view: SessionView | null): void {
    this.view = view;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.changed.fire(ADDRESS);
    }, UPDATE_MILLISECONDS);
  }

  provideTextDocumentContent(): string {
    this.provided = this.view;
    return conversationMarkdown(this.view);
  }

  /** Bring the conversation to the user's eyes, beside what is being edited. */
  async open(): Promise<void> {
    const groups = vscode.window.tabGroups.all;
    const group = groups.find((known) => known.tabs.some(isConversation));
    if (group?.activeTab && isConversation(group.activeTab)) return; // it is in sight
    const empty = groups.every((known) => known.tabs.length === 0);
    const viewColumn =
      group?.viewColumn ?? (empty ? vscode.ViewColumn.Active : vscode.ViewColumn.Beside);
    await vscode.commands.executeCommand("vscode.openWith", ADDRESS, PREVIEW, {
      viewColumn,
      preview: false,
      preserveFocus: true,
    });
  }

  dispose(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.opening.dispose();
    this.registration.dispose();
    this.changed.dispose();
  }
}

function isConversation(tab: vscode.Tab): boolean {
  return (
    tab.input instanceof vscode.TabInputCustom && tab.input.uri.scheme === CONVERSATION_SCHEME
  );
}
