/** What waits for the user, approvals and questions, as a tree view. */

import * as vscode from "vscode";
import { FlatTree } from "./flatTree";
import type { SessionView } from "./sessionView";

/** An approval, or the questions of a call. */
export interface Waiting {
  /** Of the call. */
  readonly id: string;
  readonly kind: "approval" | "questions";
  readonly title: string;
  readonly detail: string;
}

export class WaitingTree implements vscode.Disposable {
  private readonly tree = new FlatTree<Waiting>({
    viewId: "agentls.waiting",
    contextKey: "agentls.hasWaiting",
    itemOf,
  });
  private shown: Pick<SessionView, "approvals" | "questions"> | null = null;

  show(view: SessionView | null): void {
    const { approvals, questions } = this.shown ?? {};
    if (view?.approvals === approvals && view?.questions === questions) return;
    this.shown = view;
    this.tree.show(view === null ? [] : waitingOf(view));
  }

  dispose(): void {
    this.tree.dispose();
  }
}

function waitingOf({ approvals, questions }: SessionView): readonly Waiting[] {
  return [
    ...approvals.map(({ callId, title, reason }) => {
      return { id: callId, kind: "approval", title, detail: reason } as const;
    }),
    ...questions.map((asked) => ({
      id: asked.callId,
      kind: "questions" as const,
      title: asked.questions[0]?.question ?? "",
      detail: asked.questions.map(({ question }) => question).join("\n"),
    })),
  ];
}

function itemOf(waiting: Waiting): vscode.TreeItem {
  const item = new vscode.TreeItem(waiting.title);
  const asks = waiting.kind === "questions";
  item.iconPath = new vscode.ThemeIcon(
    asks ? "question" : "shield",
    new vscode.ThemeColor("list.warningForeground"),
  );
  item.tooltip = waiting.detail;
  item.contextValue = "agentls.waiting";
  item.command = {
    command: asks ? "agentls.answer" : "agentls.approve",
    title: "Answer",
    arguments: [waiting],
  };
  return item;
}
