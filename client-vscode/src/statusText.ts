/** What the status bar says: a pure function of the server's phase and the session. */

import { costText, tokensText } from "./amounts";
import { inline } from "./markdownText";
import type { Mode, Question, Task, Usage } from "./protocol";
import { retryCountdown, retrySentence } from "./retryText";
import { contextPercent, effectiveModel } from "./sessionView";
import type { SessionView } from "./sessionView";
import { unreachable } from "./unreachable";

export type ServerPhase =
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  | { readonly kind: "stopped"; readonly reason: string };

export interface StatusText {
  readonly text: string;
  /** Markdown. */
  readonly tooltip: string;
  readonly background: "none" | "warning" | "error";
}

/** What holds for a session that is not there yet. */
export interface Defaults {
  readonly model: string | null;
}

const STARTING: StatusText = {
  text: "$(loading~spin) Agent: starting",
  tooltip: "The agent server is starting.",
  background: "none",
};
const MODEL_LENGTH = 32;
const LABEL_LENGTH = 48;

/**
 * Return what the status bar says; while the model is waited for, what is left of the wait.
 * `defaults` are null until the server has told them.
 */
export function statusText(
  phase: ServerPhase,
  view: SessionView | null,
  defaults: Defaults | null,
  now: Date = new Date(),
): StatusText {
  switch (phase.kind) {
    case "starting":
      return STARTING;
    case "stopped":
      return {
        text: "$(error) Agent: stopped",
        tooltip: `${phase.reason}\n\nClick for a restart.`,
        background: "error",
      };
    case "running":
      if (view !== null) return ofSession(view, now);
      return defaults === null ? STARTING : beforeTheFirstPrompt(defaults);
    default:
      return unreachable(phase, { text: "Agent", tooltip: "", background: "none" });
  }
}

/** Return the name of a permission mode as a person reads it. */
export function modeLabel(mode: Mode): string {
  switch (mode) {
    case "default":
      return "default";
    case "acceptEdits":
      return "accept edits";
    case "plan":
      return "plan";
    case "dontAsk":
      return "don't ask";
    case "bypassPermissions":
      return "bypass permissions";
    default:
      return unreachable(mode, mode);
  }
}

function beforeTheFirstPrompt(defaults: Defaults): StatusText {
  const model = defaults.model ?? "no model";
  return {
    text: `$(robot) ${model} · ${modeLabel("default")} · Idle`,
    tooltip: "The agent waits for the first prompt.\n\nClick for what it can do.",
    background: "none",
  };
}

function ofSession(view: SessionView, now: Date): StatusText {
  const fast = view.model.fast === null ? "" : "$(zap) ";
  const { icon, label, background } = activityOf(view, now);
  const percent = contextPercent(view.context);
  const parts = [
    `${icon} ${fast}${cut(effectiveModel(view.model) ?? "no model", MODEL_LENGTH)}`,
    modeLabel(view.permissions.mode),
    cut(label, LABEL_LENGTH),
    ...(percent === null ? [] : [`${percent}%`]),
  ];
  return { text: parts.join(" · "), tooltip: tooltipOf(view, now), background };
}

interface ActivityText {
  readonly icon: string;
  readonly label: string;
  readonly background: StatusText["background"];
}

function activityOf(view: SessionView, now: Date): ActivityText {
  const { status, label, retry } = view.activity;
  if (view.approvals.length > 0) return waiting("Waiting for approval", view.approvals.length);
  if (view.questions.length > 0) return waiting("Waiting for an answer", view.questions.length);
  if (retry !== null) {
    return { icon: "$(watch)", label: retryCountdown(retry, now), background: "none" };
  }
  switch (status) {
    case "idle":
      return { icon: "$(robot)", label, background: "none" };
    case "running":
      return { icon: "$(loading~spin)", label, background: "none" };
    case "waiting":
      return { icon: "$(bell-dot)", label, background: "warning" };
    case "error":
      return { icon: "$(warning)", label, background: "none" };
    default:
      return unreachable(status, { icon: "$(robot)", label, background: "none" });
  }
}

function waiting(label: string, count: number): ActivityText {
  const more = count > 1 ? ` (${count})` : "";
  return { icon: "$(bell-dot)", label: `${label}${more}`, background: "warning" };
}

function tooltipOf(view: SessionView, now: Date): string {
  const { activity, storage } = view;
  const lines = [
    modelLine(view),
    `Permission mode: ${modeLabel(view.permissions.mode)}`,
    `Activity: ${activity.label}`,
    ...(activity.retry ? [retrySentence(activity.retry, now), activity.retry.error.message] : []),
    ...(activity.error ? [activity.error.message] : []),
    ...view.approvals.map((approval) => `Waits for an answer: ${approval.title}`),
    ...questionsAsked(view).map(({ question }) => `Asks: ${question}`),
    ...(storage ? [`Not saved: ${storage.message}`] : []),
    ...(view.access.mode === "follower" ? ["Read-only: another process writes the session"] : []),
    ...(view.queue.length > 0 ? [`Prompts in the queue: ${view.queue.length}`] : []),
    ...tasksLine(view.tasks),
    ...contextLine(view),
    ...usageLines(view),
  ];
  const title = `**${inline(view.title ?? "New session")}**`;
  return [title, ...lines.map(inline)].join("\n\n");
}

function questionsAsked(view: SessionView): readonly Question[] {
  return view.questions.flatMap(({ questions }) => questions);
}

function modelLine({ model }: SessionView): string {
  if (model.fast === null) return `Model: ${effectiveModel(model) ?? "no model"}`;
  return `Fast mode: ${model.fast} in place of ${model.session ?? model.default ?? "no model"}`;
}

function tasksLine(tasks: readonly Task[]): string[] {
  const running = tasks.filter((task) => task.status === "running").length;
  return running === 0 ? [] : [`Tasks in the background: ${running}`];
}

function contextLine({ context }: SessionView): string[] {
  const { usedTokens, window } = context;
  if (usedTokens === null) return [];
  const used = `Context: about ${tokensText(usedTokens)}`;
  if (window === null) return [`${used} tokens`];
  return [`${used} of ${tokensText(window)} tokens (${contextPercent(context)}%)`];
}

function usageLines({ usage }: SessionView): string[] {
  const models = Object.entries(usage.byModel);
  const cost = costText(usage.total);
  return [
    `Tokens: ${inAndOut(usage.total)}`,
    ...(models.length < 2 ? [] : models.map(([id, used]) => `— ${id}: ${inAndOut(used)}`)),
    ...(cost === null ? [] : [`Cost so far: ${cost}`]),
  ];
}

function inAndOut(usage: Usage): string {
  const read = usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
  const cached = usage.cacheReadTokens;
  const ofThem = cached === 0 ? "" : ` (${tokensText(cached)} cached)`;
  return `${tokensText(read)} in${ofThem}, ${tokensText(usage.outputTokens)} out`;
}

function cut(text: string, length: number): string {
  const letters = Array.from(text.replace(/\s+/g, " "));
  return letters.length <= length ? letters.join("") : `${letters.slice(0, length - 1).join("")}…`;
}
