/** Approvals as notifications: each is asked once, and stays pending until somebody answers. */

import * as vscode from "vscode";
import { detailLanguage } from "./conversationMarkdown";
import type { Approval, ApprovalOption } from "./protocol";
import { messageOf } from "./server";
import type { SessionView } from "./sessionView";
import type { WindowSession } from "./windowSession";

const SCHEME = "agentls-approval";
const FILE_ENDINGS = { diff: "diff", shell: "sh", "": "txt" } as const;

interface AnswerItem extends vscode.MessageItem {
  readonly optionId: string | null;
}

interface OptionPick extends vscode.QuickPickItem {
  readonly option: ApprovalOption | null;
}

export class Approvals implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  private readonly asked = new Set<string>();
  private view: SessionView | null = null;
  private picker: { readonly callId: string; readonly hide: () => void } | null = null;

  constructor(private readonly session: WindowSession) {}

  /** Ask what has not been asked; put away what somebody has answered. */
  show(view: SessionView | null): void {
    if (view?.approvals === this.view?.approvals) return;
    this.view = view;
    const pending = new Set(view?.approvals.map((approval) => approval.callId));
    for (const callId of this.asked) if (!pending.has(callId)) this.putAway(callId);
    for (const approval of view?.approvals ?? []) {
      if (this.asked.has(approval.callId)) continue;
      this.asked.add(approval.callId);
      if (view !== null) void this.ask(view.sessionId, approval);
    }
  }

  /** Ask again what is pending, in a list that cannot be missed. */
  async askAgain(): Promise<void> {
    const view = this.view;
    const approval = await choose(view?.approvals ?? []);
    if (view === null || approval === undefined) return;
    const option = await this.pickOption(approval);
    if (option === undefined) return;
    if (option !== null) return this.answer(view.sessionId, approval, option.id);
    await this.openDetail(approval);
    await this.ask(view.sessionId, approval);
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const pending = this.view?.approvals.find((approval) => approval.callId === callIdOf(uri));
    return pending?.detail ?? "This has been answered.";
  }

  dispose(): void {
    this.picker?.hide();
    this.registration.dispose();
  }

  private async ask(sessionId: string, approval: Approval): Promise<void> {
    const items: AnswerItem[] = approval.options.map((option) => ({
      title: option.label,
      optionId: option.id,
    }));
    const text = `The agent asks: ${approval.title.replace(/\.$/, "")}. ${approval.reason}`.trim();
    for (;;) {
      const show: AnswerItem = { title: "Show", optionId: null };
      const choice = await vscode.window.showWarningMessage<AnswerItem>(text, ...items, show);
      if (choice === undefined) return; // closing a notification is not an answer
      if (choice.optionId !== null) return this.answer(sessionId, approval, choice.optionId);
      if (!this.isPending(approval.callId)) return;
      await this.openDetail(approval); // a button closes the notification, so it is shown again
    }
  }

  private async answer(sessionId: string, approval: Approval, optionId: string): Promise<void> {
    try {
      await this.session.answer(sessionId, approval.callId, optionId);
    } catch (error) {
      void vscode.window.showInformationMessage(`${approval.title}: ${messageOf(error)}`);
    }
  }

  private pickOption(approval: Approval): Promise<ApprovalOption | null | undefined> {
    const pick = vscode.window.createQuickPick<OptionPick>();
    pick.title = approval.title;
    pick.placeholder = approval.reason;
    pick.ignoreFocusOut = true;
    pick.items = [
      ...approval.options.map((option) => ({
        label: option.label,
        description: option.rule ?? "",
        option,
      })),
      { label: "$(eye) Show what it wants to do", option: null },
    ];
    return new Promise((resolve) => {
      pick.onDidAccept(() => {
        resolve(pick.selectedItems[0]?.option);
        pick.hide();
      });
      pick.onDidHide(() => {
        resolve(undefined);
        this.picker = null;
        pick.dispose();
      });
      this.picker = { callId: approval.callId, hide: () => pick.hide() };
      pick.show();
    });
  }

  private async openDetail(approval: Approval): Promise<void> {
    const document = await vscode.workspace.openTextDocument(detailUri(approval));
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  }

  private isPending(callId: string): boolean {
    return this.view?.approvals.some((approval) => approval.callId === callId) ?? false;
  }

  private putAway(callId: string): void {
    this.asked.delete(callId);
    if (this.picker?.callId === callId) this.picker.hide();
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const details = tabs.filter(
      (tab) =>
        tab.input instanceof vscode.TabInputText &&
        tab.input.uri.scheme === SCHEME &&
        callIdOf(tab.input.uri) === callId,
    );
    if (details.length > 0) void vscode.window.tabGroups.close(details, true);
  }
}

async function choose(approvals: readonly Approval[]): Promise<Approval | undefined> {
  if (approvals.length === 0) {
    void vscode.window.showInformationMessage("No approval is waiting.");
    return undefined;
  }
  if (approvals.length === 1) return approvals[0];
  const picks = approvals.map((approval) => ({
    label: approval.title,
    description: approval.reason,
    approval,
  }));
  return (await vscode.window.showQuickPick(picks, { title: "Answer an Approval" }))?.approval;
}

function detailUri(approval: Approval): vscode.Uri {
  const ending = FILE_ENDINGS[detailLanguage(approval)];
  return vscode.Uri.from({
    scheme: SCHEME,
    path: `/${approval.toolName}.${ending}`,
    query: approval.callId,
  });
}

function callIdOf(uri: vscode.Uri): string {
  return uri.query;
}
