import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesText, clockText, costText, counted, spanText, tokensText } from "../src/amounts";
import { usage } from "./fixtures";

test("tokens have two digits that count", () => {
  const seen = [0, 940, 1000, 8_540, 85_400, 999_400, 999_500, 1_240_000].map(tokensText);
  assert.deepEqual(seen, ["0", "940", "1k", "8.5k", "85k", "999k", "1M", "1.2M"]);
});

test("bytes have their unit", () => {
  const seen = [0, 312, 4_210, 18_000_000, 1_000_000_000].map(bytesText);
  assert.deepEqual(seen, ["0 B", "312 B", "4.2 KB", "18 MB", "1 GB"]);
});

test("a span has its two largest units", () => {
  const seen = [-5, 400, 12_000, 60_000, 200_000, 7_500_000].map(spanText);
  assert.deepEqual(seen, ["0 s", "0 s", "12 s", "1 min", "3 min 20 s", "2 h 5 min"]);
});

test("a moment of another day bears its date", () => {
  const moment = new Date(2026, 10, 30, 9, 5, 7);
  const at = moment.toISOString();
  assert.equal(clockText(at, new Date(2026, 10, 30, 23, 0)), "09:05:07");
  assert.equal(clockText(at, new Date(2026, 11, 1)), "2026-11-30 09:05:07");
});

test("the cost says what of it is not known", () => {
  const costs = [
    usage(),
    usage(1, 1, { costNanoUsd: 123_000_000 }),
    usage(1, 1, { costNanoUsd: 1000 }),
    usage(1, 1, { unpricedResponses: 1 }),
    usage(1, 1, { costNanoUsd: 2_500_000_000, unpricedResponses: 3 }),
  ].map(costText);
  assert.deepEqual(costs, [
    null,
    "$0.12",
    "less than $0.01",
    "1 response of unknown price",
    "$2.50 and 3 responses of unknown price",
  ]);
});

test("one is counted without an s", () => {
  assert.deepEqual([counted(1, "message"), counted(0, "message")], ["1 message", "0 messages"]);
});
