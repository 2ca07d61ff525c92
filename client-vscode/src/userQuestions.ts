/** The agent's questions: each is announced once, and answered in lists, one for each question. */

import * as vscode from "vscode";
import type { Question, QuestionAnswer, QuestionOption, Questions } from "./protocol";
import * as forms from "./questionForm";
import type { QuestionForm } from "./questionForm";
import { messageOf } from "./server";
import type { SessionView } from "./sessionView";
import { unreachable } from "./unreachable";
import type { WindowSession } from "./windowSession";

type Reply =
  | { readonly kind: "answer"; readonly answer: QuestionAnswer }
  | { readonly kind: "back" }
  /** The user would not answer, and says so. */
  | { readonly kind: "declined" }
  /** Closing a list is not an answer: the questions stay open. */
  | { readonly kind: "closed" };

type Choice = QuestionOption | "other" | "decline";

interface ChoicePick extends vscode.QuickPickItem {
  readonly choice: Choice;
}

const OTHER: ChoicePick = {
  label: "$(edit) Other…",
  detail: "Answer in your own words",
  choice: "other",
};
const DECLINE: ChoicePick = {
  label: "$(circle-slash) Do not answer",
  detail: "The agent is told so, and decides for itself",
  choice: "decline",
};
const DECLINE_BUTTON: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("circle-slash"),
  tooltip: "Do not answer",
};

export class UserQuestions implements vscode.Disposable {
  private readonly announced = new Set<string>();
  private view: SessionView | null = null;
  private answering: { callId: string; closing: vscode.CancellationTokenSource } | null = null;

  constructor(private readonly session: WindowSession) {}

  /** Announce what has not been; put away what somebody has answered. */
  show(view: SessionView | null): void {
    if (view?.questions === this.view?.questions) return;
    const sameSession = view?.sessionId === this.view?.sessionId;
    this.view = view;
    for (const callId of this.announced) {
      if (!this.isPending(callId)) this.putAway(callId, sameSession);
    }
    for (const asked of view?.questions ?? []) {
      if (this.announced.has(asked.callId)) continue;
      this.announced.add(asked.callId);
      void this.announce(asked);
    }
  }

  /** Ask again what is pending, or that of one call. */
  async askAgain(callId?: string): Promise<void> {
    const pending = this.view?.questions ?? [];
    const asked = pending.find((known) => known.callId === callId) ?? (await choose(pending));
    if (asked !== undefined) await this.ask(asked);
  }

  dispose(): void {
    this.answering?.closing.cancel();
  }

  private async announce(asked: Questions): Promise<void> {
    const [first] = asked.questions;
    const more = asked.questions.length > 1 ? ` (and ${asked.questions.length - 1} more)` : "";
    const text = `The agent asks: ${first?.question ?? ""}${more}`;
    const choice = await vscode.window.showInformationMessage(text, "Answer");
    if (choice === undefined) return;
    if (this.isPending(asked.callId)) return this.ask(asked);
    this.tellOver();
  }

  private async ask(asked: Questions): Promise<void> {
    const sessionId = this.view?.sessionId;
    if (sessionId === undefined) return;
    this.answering?.closing.cancel();
    const closing = new vscode.CancellationTokenSource();
    this.answering = { callId: asked.callId, closing };
    const answers = await fillIn(asked.questions, closing.token);
    if (this.answering?.closing === closing) this.answering = null;
    closing.dispose();
    if (answers === undefined) return;
    try {
      await this.session.answerQuestions(sessionId, asked.callId, answers);
    } catch (error) {
      void vscode.window.showInformationMessage(messageOf(error));
    }
  }

  private isPending(callId: string): boolean {
    return this.view?.questions.some((asked) => asked.callId === callId) ?? false;
  }

  private putAway(callId: string, tell: boolean): void {
    this.announced.delete(callId);
    if (this.answering?.callId !== callId) return;
    this.answering.closing.cancel();
    this.answering = null;
    if (tell) this.tellOver();
  }

  private tellOver(): void {
    const goesOn = (this.view?.activity.turnId ?? null) !== null;
    const text = goesOn ? "It was answered elsewhere." : "No answer is needed: the turn has ended.";
    void vscode.window.showInformationMessage(text);
  }
}

/** Return all answers; null where the user declined, undefined where nothing is to be sent. */
async function fillIn(
  questions: readonly Question[],
  closing: vscode.CancellationToken,
): Promise<readonly QuestionAnswer[] | null | undefined> {
  let form = forms.formOf(questions);
  for (;;) {
    const question = forms.currentQuestion(form);
    if (question === null) return forms.allAnswers(form) ?? undefined;
    const reply = await replyTo(form, question, closing);
    switch (reply.kind) {
      case "answer":
        form = forms.withAnswer(form, reply.answer);
        break;
      case "back":
        form = forms.stepBack(form);
        break;
      case "declined":
        return null;
      case "closed":
        return undefined;
      default:
        return unreachable(reply, undefined);
    }
  }
}

async function replyTo(
  form: QuestionForm,
  question: Question,
  closing: vscode.CancellationToken,
): Promise<Reply> {
  let before = forms.currentAnswer(form);
  for (;;) {
    const picked = await pick(form, question, before, closing);
    if (typeof picked === "string") return { kind: picked };
    if (picked.some((choice) => choice === "decline")) return { kind: "declined" };
    const selected = picked.flatMap((choice) => (isOption(choice) ? [choice.label] : []));
    if (!picked.includes("other")) return { kind: "answer", answer: { selected, other: null } };
    const other = await ownWords(form, question, before, closing);
    if (closing.isCancellationRequested) return { kind: "closed" };
    if (other !== undefined) return { kind: "answer", answer: { selected, other } };
    before = { selected, other: before?.other ?? null }; // back to the list, as it was left
  }
}

function isOption(choice: Choice): choice is QuestionOption {
  return typeof choice !== "string";
}

function pick(
  form: QuestionForm,
  question: Question,
  before: QuestionAnswer | null,
  closing: vscode.CancellationToken,
): Promise<readonly Choice[] | "back" | "declined" | "closed"> {
  const list = vscode.window.createQuickPick<ChoicePick>();
  list.title = forms.formTitle(form);
  list.placeholder = question.question;
  list.canSelectMany = question.multiSelect;
  list.ignoreFocusOut = true;
  list.matchOnDetail = true;
  list.buttons = [...(form.step > 0 ? [vscode.QuickInputButtons.Back] : []), DECLINE_BUTTON];
  list.items = [
    ...question.options.map((choice) => ({
      label: choice.label,
      ...(choice.description === "" ? {} : { detail: choice.description }),
      choice,
    })),
    OTHER,
    ...(question.multiSelect ? [] : [DECLINE]), // among boxes to tick it would make no sense
  ];
  const chosen = list.items.filter((item) => wasChosen(item, before));
  if (question.multiSelect) list.selectedItems = chosen;
  else if (chosen.length > 0) list.activeItems = chosen;
  const hidden = closing.onCancellationRequested(() => list.hide());
  return new Promise((resolve) => {
    list.onDidTriggerButton((button) => {
      resolve(button === DECLINE_BUTTON ? "declined" : "back");
      list.hide();
    });
    list.onDidAccept(() => {
      if (list.selectedItems.length === 0) return; // nothing is ticked yet
      resolve(list.selectedItems.map((item) => item.choice));
      list.hide();
    });
    list.onDidHide(() => {
      resolve("closed");
      hidden.dispose();
      list.dispose();
    });
    list.show();
  });
}

function wasChosen({ choice }: ChoicePick, before: QuestionAnswer | null): boolean {
  if (choice === "other") return before !== null && before.other !== null;
  return isOption(choice) && (before?.selected.includes(choice.label) ?? false);
}

/** Ask for the user's own words; undefined where they take that back. */
async function ownWords(
  form: QuestionForm,
  question: Question,
  before: QuestionAnswer | null,
  closing: vscode.CancellationToken,
): Promise<string | undefined> {
  const options: vscode.InputBoxOptions = {
    title: forms.formTitle(form),
    prompt: question.question,
    placeHolder: "Your answer",
    value: before?.other ?? "",
    ignoreFocusOut: true,
    validateInput: (text) => (text.trim() === "" ? "Write an answer, or press Escape" : null),
  };
  return (await vscode.window.showInputBox(options, closing))?.trim();
}

async function choose(pending: readonly Questions[]): Promise<Questions | undefined> {
  if (pending.length === 0) {
    void vscode.window.showInformationMessage("No question is waiting.");
    return undefined;
  }
  if (pending.length === 1) return pending[0];
  const picks = pending.map((asked) => ({
    label: asked.questions.map(({ header }) => header).join(", "),
    detail: asked.questions[0]?.question ?? "",
    asked,
  }));
  return (await vscode.window.showQuickPick(picks, { title: "Answer a Question" }))?.asked;
}
