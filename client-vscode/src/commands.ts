/** The commands of the palette and the menu. */

import * as vscode from "vscode";
import type { Approvals } from "./approvals";
import type { Conversation } from "./conversation";
import { firstLine } from "./markdownText";
import { showMenu } from "./menu";
import { inOrder, modelDetail, modelOrigin } from "./modelText";
import type { Mode, SessionSummary } from "./protocol";
import { Prompter } from "./prompter";
import { clear, compact, removeQueued, toggleFastMode } from "./roomCommands";
import { messageOf } from "./server";
import type { AgentServer } from "./server";
import { effectiveModel } from "./sessionView";
import { modeLabel } from "./statusText";
import { showTaskOutput, stopTask } from "./taskCommands";
import type { TaskOutput } from "./taskOutput";
import type { UserQuestions } from "./userQuestions";
import type { WindowSession } from "./windowSession";

const PROMPT_LENGTH = 80;

/** What the commands work with. */
export interface Parts {
  readonly server: AgentServer;
  readonly session: WindowSession;
  readonly conversation: Conversation;
  readonly approvals: Approvals;
  readonly questions: UserQuestions;
  readonly taskOutput: TaskOutput;
}

/** What a view or a menu of the editor says the command is about. */
type Arguments = readonly unknown[];

/** Register every command; disposing of what is returned takes them back. */
export function registerCommands(parts: Parts): vscode.Disposable[] {
  const { server, session, conversation, approvals, questions, taskOutput } = parts;
  const prompter = new Prompter(session, conversation);
  const handlers: Record<string, (...about: Arguments) => Promise<void>> = {
    "agentls.prompt": () => prompter.ask(),
    "agentls.steer": () => prompter.ask("steer"),
    "agentls.attach": () => prompter.attach(),
    "agentls.mention": (...about) => prompter.mention(filesOf(about)),
    "agentls.cancel": () => cancel(session),
    "agentls.approve": (about) => approvals.askAgain(textField(about, "id")),
    "agentls.answer": (about) => questions.askAgain(textField(about, "id")),
    "agentls.removeQueued": (about) => removeQueued(session, textField(about, "id") ?? null),
    "agentls.stopTask": (about) => stopTask(session, textField(about, "id") ?? null),
    "agentls.showTaskOutput": (about) =>
      showTaskOutput(session, taskOutput, textField(about, "id") ?? null),
    "agentls.compact": () => compact(session),
    "agentls.clear": () => clear(session),
    "agentls.toggleFastMode": () => toggleFastMode(session),
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
    vscode.commands.registerCommand(id, (...about: Arguments) => reported(() => handler(...about))),
  );
}

/** Return a field of what a command is about, where it is there and is text. */
function textField(about: unknown, name: string): string | undefined {
  if (typeof about !== "object" || about === null) return undefined;
  const value: unknown = Reflect.get(about, name);
  return typeof value === "string" ? value : undefined;
}

/** Return the files that are marked in the explorer; null where the command came from elsewhere. */
function filesOf([, marked]: Arguments): readonly vscode.Uri[] | null {
  if (!Array.isArray(marked)) return null;
  return marked.filter((uri): uri is vscode.Uri => uri instanceof vscode.Uri);
}

async function reported(handler: () => Promise<void>): Promise<void> {
  try {
    await handler();
  } catch (error) {
    void vscode.window.showErrorMessage(messageOf(error));
  }
}

async function cancel(session: WindowSession): Promise<void> {
  if (await session.cancel()) return;
  void vscode.window.showInformationMessage("No turn is running.");
}

async function selectModel(session: WindowSession): Promise<void> {
  const chosen = session.view ? effectiveModel(session.view.model) : null;
  const items = inOrder(await session.models(), chosen).map((model) => ({
    label: `${model.id === chosen ? "$(check) " : ""}${model.displayName}`,
    description: modelOrigin(model),
    detail: modelDetail(model),
    id: model.id,
  }));
  const item = await vscode.window.showQuickPick(items, {
    title: "Select the Model",
    placeHolder: "Which model answers in this session from now on?",
    matchOnDescription: true,
  });
  if (item !== undefined) await session.setModel(item.id);
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
