/** Numbers and moments as a person reads them. */

import type { Timestamp, Usage } from "./protocol";

const NANO = 1e9;

/** Return a number of tokens in three letters or four: 940, 8.5k, 85k, 1.2M. */
export function tokensText(tokens: number): string {
  if (tokens < 1000) return String(tokens);
  if (tokens < 999_500) return `${rounded(tokens / 1000)}k`;
  return `${rounded(tokens / 1_000_000)}M`;
}

/** Return what was paid, and how much of it is not known; null where nothing was. */
export function costText(usage: Usage): string | null {
  const { costNanoUsd, unpricedResponses } = usage;
  const unpriced = `${counted(unpricedResponses, "response")} of unknown price`;
  if (costNanoUsd === 0) return unpricedResponses === 0 ? null : unpriced;
  const dollars = dollarsText(costNanoUsd / NANO);
  return unpricedResponses === 0 ? dollars : `${dollars} and ${unpriced}`;
}

/** Return a time span in its two largest units: 12 s, 3 min 20 s, 2 h 5 min. */
export function spanText(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joined(`${minutes} min`, seconds % 60, "s");
  return joined(`${Math.floor(minutes / 60)} h`, minutes % 60, "min");
}

/** Return a moment by the clock of this place; with its date where that is not today's. */
export function clockText(moment: Timestamp, now: Date): string {
  const at = new Date(moment);
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  if (at.toDateString() === now.toDateString()) return clock;
  return `${[at.getFullYear(), at.getMonth() + 1, at.getDate()].map(twoDigits).join("-")} ${clock}`;
}

/** Return a number of bytes: 312 B, 4.2 KB, 18 MB. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${rounded(bytes / 1000)} KB`;
  if (bytes < 999_500_000) return `${rounded(bytes / 1_000_000)} MB`;
  return `${rounded(bytes / 1_000_000_000)} GB`;
}

/** Return a number with what it counts, which takes an s unless there is one: 2 messages. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function rounded(amount: number): string {
  return amount < 9.95 ? amount.toFixed(1).replace(/\.0$/, "") : String(Math.round(amount));
}

function dollarsText(dollars: number): string {
  return dollars < 0.005 ? "less than $0.01" : `$${dollars.toFixed(2)}`;
}

function joined(whole: string, rest: number, unit: string): string {
  return rest === 0 ? whole : `${whole} ${rest} ${unit}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
