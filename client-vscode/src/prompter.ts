/** Asks for prompts, and keeps one that was not sent for the next time. */

import * as vscode from "vscode";
import type { Conversation } from "./conversation";
import { linesOf, mentionOf, withMention } from "./mention";
import { showPromptBox } from "./promptBox";
import type { Draft } from "./promptBox";
import type { Delivery } from "./protocol";
import { messageOf } from "./server";
import { unreachable } from "./unreachable";
import type { WindowSession } from "./windowSession";

const EMPTY: Draft = { text: "", attached: [] };
const TOLD_MILLISECONDS = 5000;
const CAN_BE_READ = { "Pictures and PDFs": ["png", "jpg", "jpeg", "gif", "webp", "pdf"] };

export class Prompter {
  private draft = EMPTY;

  constructor(
    private readonly session: WindowSession,
    private readonly conversation: Conversation,
  ) {}

  /** Let the user write a prompt; `delivery` is what the Enter key does while a turn runs. */
  async ask(delivery: Delivery = "queue"): Promise<void> {
    for (;;) {
      const reply = await showPromptBox({
        draft: this.draft,
        delivery,
        running: this.running(),
        canMention: editedFile() !== null,
      });
      this.draft = { ...this.draft, text: reply.text };
      switch (reply.action) {
        case "send":
          return this.send(reply.delivery);
        case "attach":
          await this.pickFiles();
          break;
        case "detach":
          this.draft = { ...this.draft, attached: [] };
          break;
        case "mention":
          this.mentionEdited();
          break;
        case "close":
          return;
        default:
          return unreachable(reply.action, undefined);
      }
    }
  }

  /** Let the user choose pictures and documents, and write the prompt they go with. */
  async attach(): Promise<void> {
    if (await this.pickFiles()) await this.ask();
  }

  /** Mention files of the explorer, or what is being edited, and let the user write on. */
  async mention(uris: readonly vscode.Uri[] | null): Promise<void> {
    if (uris === null) {
      if (!this.mentionEdited()) throw new Error("Open a file to mention it, or lines of it.");
      return this.ask();
    }
    for (const uri of uris) this.addMention(mentionOf(await pathOf(uri), null));
    return this.ask();
  }

  private running(): boolean {
    return (this.session.view?.activity.turnId ?? null) !== null;
  }

  private async send(delivery: Delivery): Promise<void> {
    const { text, attached } = this.draft;
    const running = this.running();
    const attachments = attached.map((path) => ({ path }));
    try {
      const { queued } = await this.session.prompt(text, delivery, attachments);
      if (running && queued) vscode.window.setStatusBarMessage(taken(delivery), TOLD_MILLISECONDS);
    } catch (error) {
      return offerModels(messageOf(error));
    }
    this.draft = EMPTY;
    await this.conversation.open();
  }

  private async pickFiles(): Promise<boolean> {
    const uris = await vscode.window.showOpenDialog({
      title: "Attach Pictures or PDFs",
      openLabel: "Attach",
      canSelectMany: true,
      filters: CAN_BE_READ,
    });
    if (uris === undefined) return false;
    const attached = new Set([...this.draft.attached, ...uris.map((uri) => uri.fsPath)]);
    this.draft = { ...this.draft, attached: [...attached] };
    return true;
  }

  private mentionEdited(): boolean {
    const mention = editedFile();
    if (mention !== null) this.addMention(mention);
    return mention !== null;
  }

  private addMention(mention: string): void {
    this.draft = { ...this.draft, text: withMention(this.draft.text, mention) };
  }
}

/** Return the mention of what is being edited: the file, or the lines that are selected. */
function editedFile(): string | null {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.uri.scheme !== "file") return null;
  const path = vscode.workspace.asRelativePath(editor.document.uri, false);
  return mentionOf(path, linesOf(editor.selection));
}

async function pathOf(uri: vscode.Uri): Promise<string> {
  const path = vscode.workspace.asRelativePath(uri, false);
  const { type } = await vscode.workspace.fs.stat(uri);
  return (type & vscode.FileType.Directory) === 0 ? path : `${path}/`;
}

function taken(delivery: Delivery): string {
  if (delivery === "queue") return "The prompt waits for its turn.";
  return "The running turn takes the prompt in before it asks the model next.";
}

/** A prompt is refused, most of all, where the model cannot be used. */
async function offerModels(reason: string): Promise<void> {
  const choice = await vscode.window.showErrorMessage(reason, "Select the Model");
  if (choice !== undefined) await vscode.commands.executeCommand("agentls.selectModel");
}
