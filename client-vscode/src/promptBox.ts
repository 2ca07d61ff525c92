/** The box in which prompts are written, with a button for each thing that can be done with one. */

import * as vscode from "vscode";
import type { Delivery } from "./protocol";

/** What stands in the box. */
export interface Draft {
  readonly text: string;
  /** Paths of pictures and documents. */
  readonly attached: readonly string[];
}

/** What the user does next: send it, or something that needs another window first. */
export interface Reply {
  readonly action: "send" | "attach" | "detach" | "mention" | "close";
  readonly text: string;
  readonly delivery: Delivery;
}

export interface BoxOptions {
  readonly draft: Draft;
  /** What the Enter key does while a turn runs. */
  readonly delivery: Delivery;
  /** A turn runs. */
  readonly running: boolean;
  /** There is something to mention. */
  readonly canMention: boolean;
}

interface Button extends vscode.QuickInputButton {
  readonly action: Reply["action"];
  readonly delivery: Delivery;
}

/** Show the box until the user does something with it. */
export function showPromptBox(options: BoxOptions): Promise<Reply> {
  const { draft, delivery, running } = options;
  const box = vscode.window.createInputBox();
  box.title = running && delivery === "steer" ? "Steer the Turn" : "Send a Prompt";
  box.placeholder = "What should the agent do?";
  box.value = draft.text;
  box.prompt = [...hintOf(delivery, running), ...attachedText(draft.attached)].join(" ");
  box.ignoreFocusOut = true; // a prompt half written is worth keeping
  const buttons = buttonsOf(options);
  box.buttons = buttons;
  return new Promise((resolve) => {
    const done = (reply: Omit<Reply, "text">) => {
      resolve({ ...reply, text: box.value });
      box.hide();
    };
    box.onDidTriggerButton((pressed) => {
      const button = buttons.find((known) => known === pressed);
      if (button === undefined) return;
      if (button.action === "send" && box.value.trim() === "") return;
      done(button);
    });
    box.onDidAccept(() => {
      if (box.value.trim() !== "") done({ action: "send", delivery });
    });
    box.onDidHide(() => {
      resolve({ action: "close", delivery, text: box.value });
      box.dispose();
    });
    box.show();
  });
}

function hintOf(delivery: Delivery, running: boolean): string[] {
  if (!running) return [];
  if (delivery === "steer") return ["A turn runs and takes it in. The list above queues it instead."];
  return ["A turn runs: it waits in the queue. The arrow above hands it to the turn instead."];
}

function attachedText(paths: readonly string[]): string[] {
  if (paths.length === 0) return [];
  return [`With ${paths.map((path) => path.split(/[/\\]/).at(-1) ?? path).join(", ")}.`];
}

function buttonsOf({ draft, delivery, running, canMention }: BoxOptions): readonly Button[] {
  const button = (
    icon: string,
    tooltip: string,
    action: Reply["action"],
    to: Delivery = delivery,
  ): Button => ({ iconPath: new vscode.ThemeIcon(icon), tooltip, action, delivery: to });
  const otherWay = () =>
    delivery === "queue"
      ? button("debug-step-into", "Steer the Running Turn", "send", "steer")
      : button("list-ordered", "Put It in the Queue", "send", "queue");
  return [
    ...(canMention ? [button("mention", "Mention the File or Selection", "mention")] : []),
    button("file-media", "Attach Pictures or PDFs", "attach"),
    ...(draft.attached.length > 0
      ? [button("clear-all", "Remove What Is Attached", "detach")]
      : []),
    ...(running ? [otherWay()] : []),
  ];
}
