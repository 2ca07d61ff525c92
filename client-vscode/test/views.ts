/** Views of a session at some moment, as events make them. */

import { fromSnapshot, withEvent } from "../src/sessionView";
import type { SessionView } from "../src/sessionView";
import type { Envelope } from "../src/protocol";
import { envelope, prompt, SESSION, snapshot } from "./fixtures";

/** A session in which nothing has been said. */
export function opened(): SessionView {
  return fromSnapshot(SESSION, snapshot());
}

/** A view once these events have come. */
export function after(view: SessionView, ...envelopes: Envelope[]): SessionView {
  return envelopes.reduce(withEvent, view);
}

/** A session whose model has begun to answer a prompt. */
export function streaming(): SessionView {
  return after(
    opened(),
    envelope(2, prompt("Hello")),
    envelope(2, { type: "answerStarted", messageId: "m2", model: "offline" }),
    envelope(2, {
      type: "partStarted",
      messageId: "m2",
      part: { type: "text", id: "p1", name: null, text: "" },
    }),
  );
}

/** Text that the model streams into the answer of `streaming`. */
export function delta(offset: number, text: string) {
  return { sessionId: SESSION, chatId: "main", seq: 2, partId: "p1", offset, text };
}

/** The first call of the last entry. */
export function callOf(view: SessionView) {
  const entry = view.transcript.entries.at(-1);
  const part = entry?.kind === "answer" ? entry.parts[0] : undefined;
  return part?.kind === "call" ? part.call : undefined;
}
