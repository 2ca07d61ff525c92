/** A wait before the model is asked again, in words. */

import { clockText, spanText } from "./amounts";
import type { RetryCause, RetryWait } from "./protocol";
import { unreachable } from "./unreachable";

/** Return the sentence that the conversation shows for as long as the wait lasts. */
export function retrySentence(retry: RetryWait, now: Date): string {
  const until = clockText(retry.resumesAt, now);
  const why = happened(retry.cause);
  if (retry.parked) return `${why}; the turn is put aside until ${until} and goes on by itself`;
  return `${why}; trying again at ${until} ${triesOf(retry)}`;
}

/** Return the same for a status line, with what is left of the wait. */
export function retryCountdown(retry: RetryWait, now: Date): string {
  const why = inShort(retry.cause);
  if (retry.parked) return `${why}: put aside until ${clockText(retry.resumesAt, now)}`;
  const left = new Date(retry.resumesAt).getTime() - now.getTime();
  return left <= 0 ? `${why}: trying again` : `${why}: again in ${spanText(left)}`;
}

function triesOf({ attempt, maxAttempts }: RetryWait): string {
  return `(${attempt + 1} of ${maxAttempts})`;
}

function happened(cause: RetryCause): string {
  switch (cause) {
    case "rateLimited":
      return "The model takes no more requests just now";
    case "overloaded":
      return "The model is overloaded";
    case "serverFailed":
      return "The model's server failed";
    case "connectionLost":
      return "The connection to the model broke";
    case "unreachable":
      return "The model's server cannot be reached";
    case "streamBroken":
      return "The model's answer broke off";
    default:
      return unreachable(cause, "The model did not answer");
  }
}

function inShort(cause: RetryCause): string {
  switch (cause) {
    case "rateLimited":
      return "Rate limit";
    case "overloaded":
      return "Overloaded";
    case "serverFailed":
      return "Server failed";
    case "connectionLost":
      return "Connection lost";
    case "unreachable":
      return "Not reachable";
    case "streamBroken":
      return "Answer broke off";
    default:
      return unreachable(cause, "No answer");
  }
}
