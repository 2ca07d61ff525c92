import assert from "node:assert/strict";
import { test } from "node:test";
import { logLine } from "../src/eventLog";
import { envelope, prompt, retry } from "./fixtures";

test("a missed cache stands in the output, with its cause", () => {
  const missed = {
    type: "cacheMissed",
    responseId: "r1",
    cause: "tools",
    expectedTokens: 85_000,
    readTokens: 0,
  } as const;
  assert.equal(
    logLine(envelope(2, missed)),
    "The prompt cache was missed: the tools have changed; 0 of 85k tokens were in it.",
  );
});

test("a retry stands there with the error's own words", () => {
  const line = logLine(envelope(2, { type: "retryScheduled", parent: "m1", retry: retry() }));
  assert.match(line ?? "", /^The model is overloaded; trying again .* The API is overloaded/);
});

test("what the conversation shows does not", () => {
  assert.equal(logLine(envelope(2, prompt("Hello"))), null);
});
