/** The questions of one call while a person answers them, step by step; knows no editor. */

import type { Question, QuestionAnswer } from "./protocol";

export interface QuestionForm {
  readonly questions: readonly Question[];
  /** What has been answered so far, one for each question; null: not yet. */
  readonly answers: readonly (QuestionAnswer | null)[];
  readonly step: number;
}

/** Return the form at its first question. */
export function formOf(questions: readonly Question[]): QuestionForm {
  return { questions, answers: questions.map(() => null), step: 0 };
}

/** Return the question that is to be answered now; null where none is left. */
export function currentQuestion(form: QuestionForm): Question | null {
  return form.questions[form.step] ?? null;
}

/** Return what the question of now was answered with, before the user went back to it. */
export function currentAnswer(form: QuestionForm): QuestionAnswer | null {
  return form.answers[form.step] ?? null;
}

/** Return the form at the next question. */
export function withAnswer(form: QuestionForm, answer: QuestionAnswer): QuestionForm {
  return { ...form, answers: form.answers.with(form.step, answer), step: form.step + 1 };
}

/** Return the form at the question before; the answers stay. */
export function stepBack(form: QuestionForm): QuestionForm {
  return { ...form, step: Math.max(0, form.step - 1) };
}

/** Return the answers to all questions; null while one is missing. */
export function allAnswers(form: QuestionForm): readonly QuestionAnswer[] | null {
  const answers = form.answers.flatMap((answer) => (answer === null ? [] : [answer]));
  return answers.length === form.questions.length ? answers : null;
}

/** Return what a list shows above the question: "Database · 1 of 2". */
export function formTitle(form: QuestionForm): string {
  const header = currentQuestion(form)?.header ?? "";
  const count = form.questions.length;
  return count === 1 ? header : `${header} · ${form.step + 1} of ${count}`;
}
