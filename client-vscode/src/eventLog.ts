/** Events that are of interest to whoever looks for a cause, and stand in the output alone. */

import { tokensText } from "./amounts";
import type { CacheMissed, Envelope } from "./protocol";
import { retrySentence } from "./retryText";
import { unreachable } from "./unreachable";

/** Return the line of the output for an event; null for one that has none. */
export function logLine({ event, at }: Envelope): string | null {
  switch (event.type) {
    case "cacheMissed":
      return `The prompt cache was missed: ${missed(event)}.`;
    case "retryScheduled":
      return `${retrySentence(event.retry, new Date(at))}. ${event.retry.error.message}`;
    case "compactionFailed":
      return `The conversation was not compacted. ${event.error.message}`;
    default:
      return null;
  }
}

function missed({ cause, expectedTokens, readTokens }: CacheMissed): string {
  const tokens = `${tokensText(readTokens)} of ${tokensText(expectedTokens)} tokens were in it`;
  return `${becauseOf(cause)}; ${tokens}`;
}

function becauseOf(cause: CacheMissed["cause"]): string {
  switch (cause) {
    case "model":
      return "another model answers";
    case "tools":
      return "the tools have changed";
    case "system":
      return "the system prompt has changed";
    case "thinking":
      return "thinking was turned on or off";
    case "history":
      return "the conversation before has changed";
    case "expired":
      return "it was kept too long ago";
    case "unknown":
      return "nothing that is known has changed";
    default:
      return unreachable(cause, "for another reason");
  }
}
