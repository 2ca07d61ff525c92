import assert from "node:assert/strict";
import { test } from "node:test";
import { Rows } from "../src/rows";

function entry(id: string, text = "") {
  return { id, text };
}

test("a line stays the same object while its entry changes", () => {
  const rows = new Rows<ReturnType<typeof entry>>();
  rows.show([entry("a"), entry("b")]);
  const [a, b] = rows.shown;
  const changed = rows.show([entry("a", "more"), b!.entry]);
  assert.deepEqual(changed, [a]);
  assert.equal(rows.shown[0], a);
  assert.equal(a?.entry.text, "more");
  assert.deepEqual(rows.show(rows.shown.map((row) => row.entry)), []);
});

test("other lines, or the same in another order, are a list to be drawn anew", () => {
  const rows = new Rows<ReturnType<typeof entry>>();
  assert.equal(rows.show([entry("a"), entry("b")]), null);
  const [a, b] = rows.shown;
  assert.equal(rows.show([b!.entry, a!.entry]), null);
  assert.deepEqual(rows.shown, [b, a]);
  assert.equal(rows.show([b!.entry]), null);
  assert.equal(rows.show([b!.entry, entry("c")]), null);
  assert.equal(rows.shown[0], b, "what stays is the same line in the new list");
  assert.equal(rows.show([]), null);
  assert.deepEqual(rows.show([]), []);
});
