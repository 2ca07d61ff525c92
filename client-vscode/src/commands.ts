/** The commands of the palette and the menu. */

import * as vscode from "vscode";
import type { Approvals } from "./approvals";
import type { Conversation } from "./conversation";
import { firstLine } from "./markdownText";
import type { Mode, ModelInfo, SessionSummary } from "./protocol";
import { messageOf } from "./server";
import type { AgentServer } from "./server";
import { effectiveModel } from "./sessionView";
import { modeLabel } from "./statusText";
import type { WindowSession } from "./windowSession";

const PROMPT_LENGTH = 80;

/** Register every command; disposing of what is returned takes them back. */
export function registerCommands(
  server: AgentServer,
  session: WindowSession,
  conversation: Conversation,
  approvals: Approvals,
): vscode.Disposable[] {
  const prompter = new Prompter(session, conversation);
  const handlers: Record<string, () => Promise<void>> = {
    "agentls.prompt": () => prompter.ask(),
    "agentls.cancel": () => cancel(session),
    "agentls.approve": () => approvals.askAgain(),
    "agentls.selectModel": () => selectModel(session),
    "agentls.selectMode": () => selectMode(session),
    "agentls.sessions": () => openSession(session, conversation),
    "agentls.newSession": () => startSession(session, conversation),
    "agentls.showConversation": () => conversation.open(),
    "agentls.menu": () => showMenu(server, session),
    "agentls.continueUnsaved": () => session.continueUnsaved(),
    "agentls.restart": () => server.restart(),
  };
  return Object.entries(handlers).map(([id, handler]) =>
    vscode.commands.registerCommand(id, () => reported(handler)),
  );
}

async function reported(handler: () => Promise<void>): Promise<void> {
  try {
    await handler();
  } catch (error) {
    void vscode.window.showErrorMessage(messageOf(error));
  }
}

/** Asks for prompts, and keeps one that could not be sent for the next time. */
class Prompter {
  private unsent = "";

  constructor(
    private readonly session: WindowSession,
    private readonly conversation: Conversation,
  ) {}

  async ask(): Promise<void> {
    const text = await vscode.window.showInputBox({
      title: "Send a Prompt",
      placeHolder: "What should the agent do?",
      value: this.unsent,
      ignoreFocusOut: true, // a prompt half written is worth keeping
    });
    if (text === undefined || text.trim() === "") return;
    this.unsent = text;
    try {
      const { queued } = await this.session.prompt(text);
      if (queued) vscode.window.setStatusBarMessage("The prompt waits for its turn.", 5000);
    } catch (error) {
      return this.offerModels(messageOf(error));
    }
    this.unsent = "";
    await this.conversation.open();
  }

  /** A prompt is refused, most of all, where the model cannot be used. */
  private async offerModels(reason: string): Promise<void> {
    const choice = await vscode.window.showErrorMessage(reason, "Select the Model");
    if (choice !== undefined) await vscode.commands.executeCommand("agentls.selectModel");
  }
}

async function cancel(session: WindowSession): Promise<void> {
  if (await session.cancel()) return;
  void vscode.window.showInformationMessage("No turn is running.");
}

async function selectModel(session: WindowSession): Promise<void> {
  const chosen = session.view ? effectiveModel(session.view.model) : null;
  const items = (await session.models()).map((model) => ({
    label: `${model.id === chosen ? "$(check) " : ""}${model.displayName}`,
    description: model.id === model.displayName ? model.provider : `${model.id} · ${model.provider}`,
    detail: unavailable(model),
    id: model.id,
  }));
  const item = await vscode.window.showQuickPick(items, {
    title: "Select the Model",
    placeHolder: "Which model answers in this session from now on?",
    matchOnDescription: true,
  });
  if (item !== undefined) await session.setModel(item.id);
}

function unavailable(model: ModelInfo): string | undefined {
  return model.available ? undefined : "Not available: a key is missing";
}

const MODES: readonly { readonly mode: Mode; readonly meaning: string }[] = [
  { mode: "default", meaning: "Asks before it changes files or runs commands" },
  { mode: "acceptEdits", meaning: "Changes files without asking, asks before it runs commands" },
  { mode: "plan", meaning: "Reads and plans; changes nothing" },
  { mode: "dontAsk", meaning: "Never asks: what is not allowed by a rule is denied" },
  { mode: "bypassPermissions", meaning: "Never asks and does everything. For disposable machines" },
];

async function selectMode(session: WindowSession): Promise<void> {
  const chosen = session.view?.permissions.mode ?? "default";
  const items = MODES.map(({ mode, meaning }) => ({
    label: `${mode === chosen ? "$(check) " : ""}${modeLabel(mode)}`,
    detail: meaning,
    mode,
  }));
  const item = await vscode.window.showQuickPick(items, {
    title: "Select the Permission Mode",
    placeHolder: "What may the agent do in this session without asking?",
  });
  if (item !== undefined) await session.setMode(item.mode);
}

async function openSession(session: WindowSession, conversation: Conversation): Promise<void> {
  const summaries = await session.sessions();
  if (summaries.length === 0) {
    void vscode.window.showInformationMessage("No session is saved for this folder yet.");
    return;
  }
  const items = summaries.map((summary) => ({
    label: `${summary.id === session.view?.sessionId ? "$(check) " : ""}${nameOf(summary)}`,
    description: new Date(summary.updatedAt).toLocaleString(),
    detail: detailOf(summary),
    id: summary.id,
  }));
  const item = await vscode.window.showQuickPick(items, {
    title: "Open a Session",
    placeHolder: "Which session goes on in this window?",
    matchOnDetail: true,
  });
  if (item === undefined) return;
  await session.open(item.id);
  await conversation.open();
}

function nameOf(summary: SessionSummary): string {
  return firstLine(summary.title ?? summary.lastPrompt ?? "Untitled", PROMPT_LENGTH);
}

function detailOf(summary: SessionSummary): string {
  const count = `${summary.messageCount} messages`;
  const last = summary.title === null ? null : summary.lastPrompt;
  return last === null ? count : `${count} · ${firstLine(last, PROMPT_LENGTH)}`;
}

async function startSession(session: WindowSession, conversation: Conversation): Promise<void> {
  await session.startNew();
  await conversation.open();
}

async function showMenu(server: AgentServer, session: WindowSession): Promise<void> {
  const item = await vscode.window.showQuickPick(menuItems(server, session), { title: "Agent" });
  if (item !== undefined) await vscode.commands.executeCommand(item.command);
}

interface MenuItem extends vscode.QuickPickItem {
  readonly command: string;
}

function menuItems(server: AgentServer, session: WindowSession): MenuItem[] {
  const restart = { label: "$(refresh) Restart the server", command: "agentls.restart" };
  if (server.phase.kind === "stopped") return [restart];
  const view = session.view;
  const mode = modeLabel(view?.permissions.mode ?? "default");
  const waiting = view?.approvals.map((approval) => approval.title).join(", ") ?? "";
  return [
    ...(waiting === ""
      ? []
      : [{ label: "$(bell-dot) Answer", description: waiting, command: "agentls.approve" }]),
    { label: "$(comment) Send a prompt", command: "agentls.prompt" },
    ...(view?.activity.turnId
      ? [
          {
            label: "$(debug-stop) Stop the turn",
            description: view.activity.label,
            command: "agentls.cancel",
          },
        ]
      : []),
    { label: "$(comment-discussion) Show the conversation", command: "agentls.showConversation" },
    {
      label: "$(chip) Select the model",
      description: (view && effectiveModel(view.model)) ?? "",
      command: "agentls.selectModel",
    },
    { label: "$(shield) Select the permission mode", description: mode, command: "agentls.selectMode" },
    { label: "$(history) Open a session", command: "agentls.sessions" },
    { label: "$(add) New session", command: "agentls.newSession" },
    restart,
  ];
}
