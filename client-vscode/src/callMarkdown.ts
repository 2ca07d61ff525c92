/** A tool call as Markdown: a line, and below it what there is to see while it waits or runs. */

import type { CallView } from "./entries";
import { fenced, fencesClosed, inline, quoted } from "./markdownText";
import type { Approval, Question, QuestionAnswer } from "./protocol";
import { unreachable } from "./unreachable";

const PROGRESS_LINES = 5;
const PLAN_TOOL = "ExitPlanMode";

/** The language, as a code block names it, of what an approval shows. */
export type DetailLanguage = "diff" | "shell" | "markdown" | "";

/** Return the line of a call. */
export function callLine(call: CallView): string {
  return `${callMark(call)} ${named(call.name, callText(call))}`.trimEnd();
}

/** Return what stands below a call's line; empty where nothing does. */
export function belowCall(call: CallView): string {
  switch (call.status) {
    case "ready":
      return "";
    case "waiting":
      return belowWaiting(call);
    case "running":
      return call.progress === null ? "" : fenced(lastLines(call.progress), "");
    case "finished":
      return ofAnswers(call);
    default:
      return unreachable(call.status, "");
  }
}

/** Return the language of what an approval shows. */
export function detailLanguage(approval: Approval): DetailLanguage {
  if (isPlan(approval)) return "markdown";
  if (/^(---|\+\+\+|@@|diff )/m.test(approval.detail)) return "diff";
  return approval.toolName === "Bash" ? "shell" : "";
}

/** Whether an approval asks about a plan, which is Markdown. */
export function isPlan(approval: Approval): boolean {
  return approval.toolName === PLAN_TOOL;
}

function callMark(call: CallView): string {
  if (call.status !== "finished") return call.status === "waiting" ? "?" : "…";
  switch (call.outcome) {
    case "ok":
      return "✓";
    case "error":
      return "✗";
    case "denied":
    case "cancelled":
    case null:
      return "–";
    default:
      return unreachable(call.outcome, "");
  }
}

function callText(call: CallView): string {
  switch (call.status) {
    case "ready":
      return "";
    case "waiting":
      if (call.questions !== null) return "(waiting for your answer)";
      return `${call.approval?.title ?? call.invocation} (waiting for approval)`;
    case "running":
      return call.invocation;
    case "finished":
      return call.answers === null ? finishedText(call) : "Answered"; // and how, stands below
    default:
      return unreachable(call.status, "");
  }
}

/** Return `text` after the tool's name, which is not said twice: "Edited a.txt", "Grep Found it". */
function named(name: string, text: string): string {
  const [first = "", ...rest] = text.split(" ");
  const said = first.toLowerCase().startsWith(name.toLowerCase());
  return said
    ? `**${inline(first)}** ${inline(rest.join(" "))}`
    : `**${inline(name)}** ${inline(text)}`;
}

function finishedText(call: CallView): string {
  const summary = call.summary ?? call.invocation;
  if (call.outcome === "ok" || call.outcome === null) return summary;
  const said = summary.toLowerCase().includes(call.outcome);
  const text = said ? summary : `${summary} (${call.outcome})`;
  const refused = call.outcome === "denied" ? call.approval : null; // the summary does not say what
  return refused === null ? text : `${refused.title} · ${text}`;
}

function belowWaiting(call: CallView): string {
  if (call.questions !== null) return call.questions.questions.map(ofQuestion).join("\n\n");
  if (call.approval === null) return "";
  const { detail } = call.approval;
  if (isPlan(call.approval)) return quoted(fencesClosed(detail.trim()));
  return fenced(detail, detailLanguage(call.approval));
}

function lastLines(output: string): string {
  return output.trimEnd().split("\n").slice(-PROGRESS_LINES).join("\n");
}

function ofQuestion({ header, question, options }: Question): string {
  const offered = options.map(({ label, description }) => {
    const meaning = description === "" ? "" : `: ${description}`;
    return `- ${inline(`${label}${meaning}`)}`;
  });
  return [`**${inline(header)}** ${inline(question)}`, "", ...offered].join("\n");
}

function ofAnswers({ questions, answers }: CallView): string {
  if (questions === null || answers === null) return "";
  const lines = questions.questions.map(({ question }, index) => {
    return `- ${inline(question)} **${inline(answerText(answers[index]))}**`;
  });
  return lines.join("\n");
}

function answerText(answer: QuestionAnswer | undefined): string {
  const said = [...(answer?.selected ?? []), ...(answer?.other ? [answer.other] : [])];
  return said.length === 0 ? "no answer" : said.join(", ");
}
