/** The menu of the status bar: what can be done just now. */

import * as vscode from "vscode";
import type { AgentServer } from "./server";
import { contextPercent, effectiveModel } from "./sessionView";
import type { SessionView } from "./sessionView";
import { modeLabel } from "./statusText";
import type { WindowSession } from "./windowSession";

/** Show the menu, and carry out what is chosen. */
export async function showMenu(server: AgentServer, session: WindowSession): Promise<void> {
  const item = await vscode.window.showQuickPick(menuItems(server, session), { title: "Agent" });
  if (item !== undefined) await vscode.commands.executeCommand(item.command);
}

interface MenuItem extends vscode.QuickPickItem {
  readonly command: string;
}

function menuItems(server: AgentServer, session: WindowSession): MenuItem[] {
  const restart = { label: "$(refresh) Restart the server", command: "agentls.restart" };
  if (server.phase.kind === "stopped") return [restart];
  const view = session.view;
  return [
    ...(view === null ? [] : waitingItems(view)),
    { label: "$(comment) Send a prompt", command: "agentls.prompt" },
    ...(view === null ? [] : turnItems(view)),
    { label: "$(comment-discussion) Show the conversation", command: "agentls.showConversation" },
    {
      label: "$(chip) Select the model",
      description: (view && effectiveModel(view.model)) ?? "",
      command: "agentls.selectModel",
    },
    {
      label: "$(shield) Select the permission mode",
      description: modeLabel(view?.permissions.mode ?? "default"),
      command: "agentls.selectMode",
    },
    ...(view === null ? [] : conversationItems(view)),
    { label: "$(history) Open a session", command: "agentls.sessions" },
    { label: "$(add) New session", command: "agentls.newSession" },
    restart,
  ];
}

function waitingItems({ approvals, questions }: SessionView): MenuItem[] {
  const wishes = approvals.map((approval) => approval.title).join(", ");
  const asked = questions.flatMap((call) => call.questions.map(({ question }) => question));
  return [
    ...(wishes === ""
      ? []
      : [{ label: "$(bell-dot) Answer", description: wishes, command: "agentls.approve" }]),
    ...(asked.length === 0
      ? []
      : [
          {
            label: "$(question) Answer the question",
            description: asked.join(" "),
            command: "agentls.answer",
          },
        ]),
  ];
}

function turnItems({ activity, queue, tasks }: SessionView): MenuItem[] {
  return [
    ...(activity.turnId === null
      ? []
      : [
          { label: "$(debug-step-into) Steer the turn", command: "agentls.steer" },
          {
            label: "$(debug-stop) Stop the turn",
            description: activity.label,
            command: "agentls.cancel",
          },
        ]),
    ...(queue.length === 0
      ? []
      : [
          {
            label: "$(close) Remove a prompt from the queue",
            description: String(queue.length),
            command: "agentls.removeQueued",
          },
        ]),
    ...(tasks.length === 0
      ? []
      : [
          {
            label: "$(output) Show the output of a task",
            description: tasks.map((task) => task.description).join(", "),
            command: "agentls.showTaskOutput",
          },
        ]),
  ];
}

function conversationItems({ model, gates, context }: SessionView): MenuItem[] {
  const percent = contextPercent(context);
  const fast = model.fast === null ? "on" : "off";
  return [
    ...(model.fast === null && gates.fastModel === null
      ? []
      : [
          {
            label: `$(zap) Turn fast mode ${fast}`,
            description: model.fast ?? gates.fastModel ?? "",
            command: "agentls.toggleFastMode",
          },
        ]),
    {
      label: "$(fold) Compact the conversation",
      description: percent === null ? "" : `${percent}% of the window in use`,
      command: "agentls.compact",
    },
    { label: "$(clear-all) Clear the conversation", command: "agentls.clear" },
  ];
}
