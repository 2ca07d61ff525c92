import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder, modelDetail, modelOrigin } from "../src/modelText";
import type { ModelInfo } from "../src/protocol";

function model(change: Partial<ModelInfo>): ModelInfo {
  return {
    id: "claude-opus-5-5",
    displayName: "Claude Opus 5.5",
    provider: "anthropic",
    available: true,
    contextWindow: 200_000,
    inputUsdPerMtok: 5,
    outputUsdPerMtok: 25,
    ...change,
  };
}

test("the chosen model comes first, and those that cannot be used come last", () => {
  const models = [model({ id: "a", available: false }), model({ id: "b" }), model({ id: "c" })];
  assert.deepEqual(inOrder(models, "c").map(({ id }) => id), ["c", "b", "a"]);
  assert.deepEqual(inOrder(models, "a").map(({ id }) => id), ["a", "b", "c"]);
});

test("a model says its window and its price, where they are known", () => {
  assert.equal(modelDetail(model({})), "200k tokens · $5 in, $25 out for a million");
  assert.equal(
    modelDetail(model({ available: false, inputUsdPerMtok: null })),
    "Not available: a key is missing · 200k tokens",
  );
  const offline = { contextWindow: null, inputUsdPerMtok: 0, outputUsdPerMtok: 0 };
  assert.equal(modelDetail(model(offline)), "");
});

test("a model's id is not said twice", () => {
  assert.equal(modelOrigin(model({})), "claude-opus-5-5 · anthropic");
  assert.equal(modelOrigin(model({ displayName: "claude-opus-5-5" })), "anthropic");
});
