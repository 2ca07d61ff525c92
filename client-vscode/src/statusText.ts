/** What the status bar says: a pure function of the server's phase and the session. */

import { inline } from "./markdownText";
import type { Mode } from "./protocol";
import { effectiveModel } from "./sessionView";
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

const LABEL_LENGTH = 48;

/** Return what the status bar says. */
export function statusText(
  phase: ServerPhase,
  view: SessionView | null,
  defaults: Defaults,
): StatusText {
  switch (phase.kind) {
    case "starting":
      return {
        text: "$(loading~spin) Agent: starting",
        tooltip: "The agent server is starting.",
        background: "none",
      };
    case "stopped":
      return {
        text: "$(error) Agent: stopped",
        tooltip: `${phase.reason}\n\nClick for a restart.`,
        background: "error",
      };
    case "running":
      return view === null ? beforeTheFirstPrompt(defaults) : ofSession(view);
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

function ofSession(view: SessionView): StatusText {
  const model = effectiveModel(view.model) ?? "no model";
  const mode = modeLabel(view.permissions.mode);
  const { icon, label, background } = activityOf(view);
  return {
    text: `${icon} ${model} · ${mode} · ${cut(label)}`,
    tooltip: tooltipOf(view, model, mode),
    background,
  };
}

function activityOf(view: SessionView): {
  icon: string;
  label: string;
  background: StatusText["background"];
} {
  const { status, label } = view.activity;
  if (view.approvals.length > 0) {
    const more = view.approvals.length > 1 ? ` (${view.approvals.length})` : "";
    return { icon: "$(bell-dot)", label: `Waiting for approval${more}`, background: "warning" };
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

function tooltipOf(view: SessionView, model: string, mode: string): string {
  const { total } = view.usage;
  const read = total.inputTokens + total.cacheReadTokens + total.cacheWriteTokens;
  const lines = [
    `Model: ${model}`,
    `Permission mode: ${mode}`,
    `Activity: ${view.activity.label}`,
    ...(view.activity.error ? [view.activity.error.message] : []),
    ...view.approvals.map((approval) => `Waits for an answer: ${approval.title}`),
    ...(view.storage ? [`Not saved: ${view.storage.message}`] : []),
    ...(view.access.mode === "follower" ? ["Read-only: another process writes the session"] : []),
    ...(view.queue.length > 0 ? [`Prompts in the queue: ${view.queue.length}`] : []),
    `Tokens: ${read} in, ${total.outputTokens} out`,
  ];
  const title = `**${inline(view.title ?? "New session")}**`;
  return [title, ...lines.map(inline)].join("\n\n");
}

function cut(label: string): string {
  const letters = Array.from(label.replace(/\s+/g, " "));
  return letters.length <= LABEL_LENGTH
    ? letters.join("")
    : `${letters.slice(0, LABEL_LENGTH - 1).join("")}…`;
}
