/** The output of tasks as read-only documents, which follow it while it grows. */

import * as vscode from "vscode";
import type { Connection } from "./connection";
import { OutputFollower } from "./outputFollower";
import type { Task } from "./protocol";
import { messageOf } from "./server";

const SCHEME = "agentls-task";
const POLL_MILLISECONDS = 1000;
/** A reader this near to the end is taken along when more comes. */
const NEAR_LINES = 2;

export class TaskOutput implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly followers = new Map<string, OutputFollower>();
  private readonly timers = new Map<string, NodeJS.Timeout>();
  private readonly atEnd = new Set<vscode.TextEditor>();
  private readonly registrations = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => {
      if (uri.scheme === SCHEME) this.leave(uri);
    }),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (document.uri.scheme === SCHEME) this.revealEnd(document);
    }),
  ];

  constructor(private readonly connection: Connection) {}

  /** Show a task's output, from now on as it comes. */
  async open(sessionId: string, task: Task): Promise<void> {
    const uri = addressOf(sessionId, task);
    const key = uri.toString();
    if (!this.followers.has(key)) {
      const follower = new OutputFollower(this.connection, sessionId, task.id);
      await follower.read();
      this.followers.set(key, follower);
      this.changed.fire(uri); // it may be open still, from before it was left
      if (!follower.finished) this.pollLater(uri, follower);
    }
    const document = await vscode.workspace.openTextDocument(uri);
    const editor = await vscode.window.showTextDocument(document, { preview: false });
    reveal(editor);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const follower = this.followers.get(uri.toString());
    return follower?.shown() ?? "This output is not followed any more. Show it anew from the task.";
  }

  dispose(): void {
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const registration of this.registrations) registration.dispose();
    this.changed.dispose();
  }

  private pollLater(uri: vscode.Uri, follower: OutputFollower): void {
    const poll = () => void this.poll(uri, follower);
    this.timers.set(uri.toString(), setTimeout(poll, POLL_MILLISECONDS));
  }

  private async poll(uri: vscode.Uri, follower: OutputFollower): Promise<void> {
    try {
      if (await follower.read()) this.tell(uri);
    } catch (error) {
      vscode.window.setStatusBarMessage(`The output is not followed: ${messageOf(error)}`, 5000);
      this.leave(uri); // shown again, it is read anew
      return;
    }
    const isFollowed = this.followers.get(uri.toString()) === follower;
    if (isFollowed && !follower.finished) this.pollLater(uri, follower);
  }

  private tell(uri: vscode.Uri): void {
    for (const editor of editorsOf(uri)) {
      const last = editor.visibleRanges.at(-1)?.end.line ?? 0;
      if (last >= editor.document.lineCount - 1 - NEAR_LINES) this.atEnd.add(editor);
    }
    this.changed.fire(uri);
  }

  private revealEnd(document: vscode.TextDocument): void {
    for (const editor of editorsOf(document.uri)) if (this.atEnd.delete(editor)) reveal(editor);
  }

  private leave(uri: vscode.Uri): void {
    const key = uri.toString();
    clearTimeout(this.timers.get(key));
    this.timers.delete(key);
    this.followers.delete(key);
  }
}

function addressOf(sessionId: string, task: Task): vscode.Uri {
  const name = task.description.replace(/[/\\\s]+/g, " ").trim();
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${name} (${task.id}).log`,
    query: `${sessionId}/${task.id}`,
  });
}

function editorsOf(uri: vscode.Uri): readonly vscode.TextEditor[] {
  const address = uri.toString();
  return vscode.window.visibleTextEditors.filter(
    ({ document }) => document.uri.toString() === address,
  );
}

function reveal(editor: vscode.TextEditor): void {
  const last = editor.document.lineAt(editor.document.lineCount - 1).range;
  editor.revealRange(last);
}
