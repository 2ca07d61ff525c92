import assert from "node:assert/strict";
import { test } from "node:test";
import * as forms from "../src/questionForm";
import { questions } from "./fixtures";

const SQLITE = { selected: ["SQLite"], other: null };
const BOTH = { selected: ["Reading", "Writing"], other: null };

test("questions are answered one after the other, and all answers are sent together", () => {
  let form = forms.formOf(questions().questions);
  assert.equal(forms.formTitle(form), "Database · 1 of 2");
  form = forms.withAnswer(form, SQLITE);
  assert.equal(forms.formTitle(form), "Scope · 2 of 2");
  assert.equal(forms.allAnswers(form), null);
  form = forms.withAnswer(form, BOTH);
  assert.equal(forms.currentQuestion(form), null);
  assert.deepEqual(forms.allAnswers(form), [SQLITE, BOTH]);
});

test("a single question is not counted", () => {
  const form = forms.formOf(questions().questions.slice(0, 1));
  assert.equal(forms.formTitle(form), "Database");
});

test("who goes back finds the answer given before, and can give another", () => {
  let form = forms.withAnswer(forms.formOf(questions().questions), SQLITE);
  form = forms.stepBack(form);
  assert.equal(forms.currentQuestion(form)?.header, "Database");
  assert.deepEqual(forms.currentAnswer(form), SQLITE);
  const own = { selected: [], other: "MariaDB" };
  form = forms.withAnswer(forms.withAnswer(form, own), BOTH);
  assert.deepEqual(forms.allAnswers(form), [own, BOTH]);
});

test("there is nothing before the first question", () => {
  const form = forms.formOf(questions().questions);
  assert.equal(forms.stepBack(form).step, 0);
});
