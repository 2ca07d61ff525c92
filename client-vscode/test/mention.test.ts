import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf, mentionOf, withMention } from "../src/mention";

function selected(start: number, end: number, character: number) {
  return { start: { line: start }, end: { line: end, character }, isEmpty: false };
}

test("selected lines are counted from 1, and one of which nothing is selected is left out", () => {
  assert.deepEqual(linesOf(selected(9, 19, 4)), { first: 10, last: 20 });
  assert.deepEqual(linesOf(selected(9, 20, 0)), { first: 10, last: 20 });
  assert.deepEqual(linesOf(selected(9, 9, 3)), { first: 10, last: 10 });
});

test("where nothing is selected, the whole file is mentioned", () => {
  const cursor = { start: { line: 4 }, end: { line: 4, character: 2 }, isEmpty: true };
  assert.equal(mentionOf("src/main.py", linesOf(cursor)), "@src/main.py");
});

test("a path that could be read otherwise stands in quotes", () => {
  assert.equal(mentionOf("src/größe.py", { first: 10, last: 20 }), "@src/größe.py:10-20");
  assert.equal(mentionOf("my notes.txt", { first: 1, last: 2 }), '@"my notes.txt":1-2');
  assert.equal(mentionOf("a#b.txt", null), '@"a#b.txt"');
  assert.equal(mentionOf("my docs/", null), '@"my docs/"');
  assert.equal(mentionOf("odd.", null), '@"odd."');
});

test("a mention is put behind what stands there, and can be written on", () => {
  assert.equal(withMention("", "@a"), "@a ");
  assert.equal(withMention("Explain", "@a"), "Explain @a ");
  assert.equal(withMention("Explain ", "@a"), "Explain @a ");
});
