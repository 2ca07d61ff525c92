/** Approvals as notifications: each is asked once, and stays pending until somebody answers. */

import * as vscode from "vscode";
import { detailLanguage, isPlan } from "./callMarkdown";
import { APPROVAL_SCHEME } from "./conversationPreview";
import type { Approval, ApprovalOption } from "./protocol";
import { messageOf } from "./server";
import type { SessionView } from "./sessionView";
import type { WindowSession } from "./windowSession";

const PREVIEW = "vscode.markdown.preview.editor";
const FILE_ENDINGS = { diff: "diff", shell: "sh", markdown: "md", "": "txt" } as const;

interface AnswerItem extends vscode.MessageItem {
  readonly option: ApprovalOption | null;
}

interface OptionPick extends vscode.QuickPickItem {
  readonly option: ApprovalOption | null;
}

export class Approvals implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(
    APPROVAL_SCHEME,
    this,
  );
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

  /** Ask again what is pending, or that of one call, in a list that cannot be missed. */
  async askAgain(callId?: string): Promise<void> {
    const view = this.view;
    const pending = view?.approvals ?? [];
    const approval = pending.find((known) => known.callId === callId) ?? (await choose(pending));
    if (view === null || approval === undefined) return;
    const option = await this.pickOption(approval);
    if (option === undefined) return;
    if (option !== null) return void (await this.answer(view.sessionId, approval, option));
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
    const items: AnswerItem[] = approval.options.map((option) => ({ title: option.label, option }));
    const text = `The agent asks: ${approval.title.replace(/\.$/, "")}. ${approval.reason}`.trim();
    if (isPlan(approval)) await this.openDetail(approval); // it is what the user is asked about
    else items.push({ title: "Show", option: null });
    for (;;) {
      const choice = await vscode.window.showWarningMessage<AnswerItem>(text, ...items);
      if (choice === undefined) return; // closing a notification is not an answer
      if (choice.option !== null && (await this.answer(sessionId, approval, choice.option))) return;
      if (!this.isPending(approval.callId)) return;
      // A button closes the notification, so it is shown again.
      if (choice.option === null) await this.openDetail(approval);
    }
  }

  /** Send an answer; false where the user took it back before it was sent. */
  private async answer(
    sessionId: string,
    approval: Approval,
    option: ApprovalOption,
  ): Promise<boolean> {
    const reason = isPlan(approval) && option.kind === "deny" ? await askForReason(option) : null;
    if (reason === undefined) return false;
    try {
      await this.session.answer(sessionId, approval.callId, option.id, reason);
    } catch (error) {
      void vscode.window.showInformationMessage(`${approval.title}: ${messageOf(error)}`);
    }
    return true;
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
    if (isPlan(approval)) {
      const place = { preview: true, preserveFocus: true };
      await vscode.commands.executeCommand("vscode.openWith", detailUri(approval), PREVIEW, place);
      return;
    }
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
    const details = tabs.filter((tab) => isDetail(tab, callId));
    if (details.length > 0) void vscode.window.tabGroups.close(details, true);
  }
}

function isDetail({ input }: vscode.Tab, callId: string): boolean {
  const shown = input instanceof vscode.TabInputText || input instanceof vscode.TabInputCustom;
  return shown && input.uri.scheme === APPROVAL_SCHEME && callIdOf(input.uri) === callId;
}

/** Ask what is wrong with a plan; empty: null, taken back: undefined. */
async function askForReason(option: ApprovalOption): Promise<string | null | undefined> {
  const text = await vscode.window.showInputBox({
    title: option.label,
    prompt: "The agent reads it, and plans on. It may be empty.",
    placeHolder: "What should be different?",
    ignoreFocusOut: true,
  });
  return text === undefined ? undefined : text.trim() || null;
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
    scheme: APPROVAL_SCHEME,
    path: `/${isPlan(approval) ? "Plan" : approval.toolName}.${ending}`,
    query: approval.callId,
  });
}

function callIdOf(uri: vscode.Uri): string {
  return uri.query;
}
