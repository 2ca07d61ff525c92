/** What a user does about a conversation that has grown long, and about what waits in it. */

import * as vscode from "vscode";
import { counted } from "./amounts";
import { queuedText } from "./contentText";
import type { SessionView } from "./sessionView";
import type { WindowSession } from "./windowSession";

/** So many in a row, and the server begins no compaction by itself any more. */
const MOST_FAILURES = 3;
const CLEAR = "Clear the Conversation";
const NEW_SESSION = "New Session";
const LABEL_LENGTH = 80;
const TOLD_MILLISECONDS = 5000;

/** Ask what the summary should heed, and have the conversation summed up. */
export async function compact(session: WindowSession): Promise<void> {
  const instructions = await vscode.window.showInputBox({
    title: "Compact the Conversation",
    prompt: "A summary takes the place of the conversation so far. It may be empty.",
    placeHolder: "What should the summary heed?",
    ignoreFocusOut: true,
  });
  if (instructions === undefined) return;
  const { queued } = await session.compact(instructions.trim() || null);
  // One that has begun is the session's activity, and is told as that.
  if (queued) {
    vscode.window.setStatusBarMessage("The compaction waits for its turn.", TOLD_MILLISECONDS);
  }
}

/** Begin the conversation anew, and offer to take that back. */
export async function clear(session: WindowSession): Promise<void> {
  const said = session.view?.transcript.entries.length ?? 0;
  if (said > 0 && !(await mayClear())) return;
  const { messages } = await session.clear();
  const text = `The conversation begins anew; ${counted(messages, "message")} left behind.`;
  const choice = await vscode.window.showInformationMessage(text, "Undo");
  if (choice !== undefined) await session.redo();
}

/** Have a lighter model answer, or the chosen one again. */
export async function toggleFastMode(session: WindowSession): Promise<void> {
  const fast = await session.setFastMode((session.view?.model.fast ?? null) === null);
  const text = fast === null ? "Fast mode is off." : `Fast mode: ${fast} answers from now on.`;
  vscode.window.setStatusBarMessage(text, TOLD_MILLISECONDS);
}

/** Take a prompt out of the queue: that with the id, else one that the user picks. */
export async function removeQueued(session: WindowSession, itemId: string | null): Promise<void> {
  const queue = session.view?.queue ?? [];
  if (queue.some((prompt) => prompt.id === itemId)) return session.removeQueued(itemId ?? "");
  if (queue.length === 0) {
    void vscode.window.showInformationMessage("No prompt is in the queue.");
    return;
  }
  const picks = queue.map((prompt) => ({ label: queuedText(prompt, LABEL_LENGTH), id: prompt.id }));
  const pick = await vscode.window.showQuickPick(picks, {
    title: "Remove a Prompt from the Queue",
    placeHolder: "Which prompt is not to be carried out?",
  });
  if (pick !== undefined) await session.removeQueued(pick.id);
}

/** Tells, once, that no room can be made in the model's window, and offers what helps. */
export class RoomTrouble {
  private failures = 0;

  show(view: SessionView | null): void {
    const failures = view?.context.compactionFailures ?? 0;
    const reached = failures >= MOST_FAILURES && this.failures < MOST_FAILURES;
    this.failures = failures;
    if (reached) void offerWaysOut(failures);
  }
}

async function mayClear(): Promise<boolean> {
  const detail = "Files are not touched. It can be undone until the next prompt.";
  const question = "Begin the conversation anew?";
  const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, "Clear");
  return answer === "Clear";
}

async function offerWaysOut(failures: number): Promise<void> {
  const choice = await vscode.window.showWarningMessage(
    `${failures} times in a row no summary of the conversation could be made. Begin anew.`,
    CLEAR,
    NEW_SESSION,
  );
  if (choice === CLEAR) await vscode.commands.executeCommand("agentls.clear");
  if (choice === NEW_SESSION) await vscode.commands.executeCommand("agentls.newSession");
}
