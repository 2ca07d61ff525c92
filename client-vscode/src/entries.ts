/** What a conversation consists of, as it is shown, made of the history or of events. */

import { nameOf, textOf, wordsOf } from "./contentText";
import type {
  Answer,
  AnswerPart,
  Approval,
  CallOutcome,
  CallStatus,
  ConversationCompacted,
  ErrorInfo,
  HistoryEntry,
  QuestionAnswer,
  Questions,
  StopReason,
  ToolCall,
  TurnStatus,
  UserMessage,
} from "./protocol";
import { unreachable } from "./unreachable";

export interface CallView {
  readonly id: string;
  readonly name: string;
  readonly status: CallStatus;
  /** What it is doing; until it runs, no more than the tool's name. */
  readonly invocation: string;
  /** What was asked before it could run, whether or not that is answered. */
  readonly approval: Approval | null;
  /** What it asks the user, where it is a question, whether or not that is answered. */
  readonly questions: Questions | null;
  /** One for each question; null: none yet, or the user would not answer. */
  readonly answers: readonly QuestionAnswer[] | null;
  /** The latest lines of its output while it runs. */
  readonly progress: string | null;
  readonly outcome: CallOutcome | null;
  readonly summary: string | null;
}

export type PartView =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "call"; readonly call: CallView };

/** Why an answer is not all that the model would have said. */
export type CutReason = Extract<
  StopReason,
  "interrupted" | "cut" | "maxTokens" | "refusal" | "contextWindow"
>;

export type Entry =
  | PromptEntry
  /** A word of agentls to the model. */
  | { readonly kind: "notice"; readonly id: string; readonly text: string }
  | { readonly kind: "answer"; readonly id: string; readonly parts: readonly PartView[] }
  /** The answer before ended early. */
  | { readonly kind: "cut"; readonly why: CutReason }
  | SummaryEntry
  | { readonly kind: "compactionFailed"; readonly error: ErrorInfo }
  | { readonly kind: "gap"; readonly id: string }
  | {
      readonly kind: "turnEnd";
      readonly status: Exclude<TurnStatus, "completed">;
      readonly error: ErrorInfo | null;
    };

export interface PromptEntry {
  readonly kind: "prompt";
  readonly id: string;
  readonly turnId: string | null;
  readonly text: string;
  /** Names of the pictures, documents and files that came with it. */
  readonly attached: readonly string[];
  /** It came into a turn that ran already. */
  readonly steered: boolean;
}

export interface SummaryEntry {
  readonly kind: "summary";
  readonly id: string;
  readonly text: string;
  readonly messageCount: number;
  /** About how many the conversation took; null: not known any more. */
  readonly tokens: { readonly before: number; readonly after: number } | null;
}

/** Return what is shown of an entry of the history, after what is shown already. */
export function entriesOf(
  entry: HistoryEntry,
  before: readonly Entry[],
  callOf: (id: string) => ToolCall | undefined,
): readonly Entry[] {
  switch (entry.type) {
    case "user":
      return [said(entry, before)];
    case "answer":
      return answered(entry, callOf);
    case "summary":
      return [
        {
          kind: "summary",
          id: entry.id,
          text: entry.text,
          messageCount: entry.messageCount,
          tokens: null,
        },
      ];
    case "gap":
      return [{ kind: "gap", id: entry.id }];
    case "callResult":
      return []; // it is shown where the answer made the call
    default:
      return unreachable(entry, []);
  }
}

/** Return what is shown of the user's words, or of a word of agentls. */
export function said(
  message: Pick<UserMessage, "id" | "author" | "content" | "turnId">,
  before: readonly Entry[],
): Entry {
  const { id, turnId, content } = message;
  if (message.author === "agentls") return { kind: "notice", id, text: textOf(content) };
  const steered =
    turnId !== null && before.some((entry) => entry.kind === "prompt" && entry.turnId === turnId);
  return {
    kind: "prompt",
    id,
    turnId,
    text: wordsOf(content),
    attached: content.flatMap((block) => (block.type === "text" ? [] : [nameOf(block)])),
    steered,
  };
}

/** Return what is shown of a whole answer. */
export function answered(
  answer: Pick<Answer, "id" | "parts" | "stopReason">,
  callOf: (id: string) => ToolCall | undefined,
): readonly Entry[] {
  const parts = answer.parts.flatMap((part) => partOf(part, callOf));
  const why = cutReason(answer.stopReason);
  return [
    { kind: "answer", id: answer.id, parts },
    ...(why === null ? [] : [{ kind: "cut", why } as const]),
  ];
}

function cutReason(stopReason: StopReason): CutReason | null {
  switch (stopReason) {
    case "interrupted":
    case "cut":
    case "maxTokens":
    case "refusal":
    case "contextWindow":
      return stopReason;
    case "endTurn":
    case "toolUse":
    case "stopSequence":
    case "cancelled": // the end of the turn says so
    case "other":
      return null;
    default:
      return unreachable(stopReason, null);
  }
}

/** Return what is shown of a compaction. */
export function summaryOf(event: ConversationCompacted): SummaryEntry {
  return {
    kind: "summary",
    id: event.id,
    text: event.summary,
    messageCount: event.messageCount,
    tokens: { before: event.tokensBefore, after: event.tokensAfter },
  };
}

function partOf(
  part: AnswerPart,
  callOf: (id: string) => ToolCall | undefined,
): readonly PartView[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: part.text }];
    case "thinking":
      return [{ kind: "thinking", text: part.text }];
    case "redactedThinking":
      return [];
    case "toolCall":
      return [{ kind: "call", call: callView(part.id, part.name, callOf(part.id)) }];
    default:
      return unreachable(part, []);
  }
}

function callView(id: string, name: string, call: ToolCall | undefined): CallView {
  return {
    id,
    name,
    status: call?.status ?? "ready",
    invocation: call?.invocation ?? name,
    approval: call?.approval ?? null,
    questions: call?.questions ?? null,
    answers: call?.answers ?? null,
    progress: call?.progress ?? null,
    outcome: call?.outcome ?? null,
    summary: call?.summary ?? null,
  };
}
