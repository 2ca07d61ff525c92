/** One window's agent: the server, the session and the views, and what passes between them. */

import * as vscode from "vscode";
import { Approvals } from "./approvals";
import { registerCommands } from "./commands";
import { Conversation } from "./conversation";
import { appGet } from "./methods";
import { Notices } from "./notices";
import { AgentServer, messageOf } from "./server";
import type { ServerPhase } from "./statusText";
import { statusText } from "./statusText";
import { StatusBar } from "./statusBar";
import { TodoTree } from "./todoTree";
import { WindowSession } from "./windowSession";

const SESSION_KEY = "agentls.sessionId";

export class AgentWindow implements vscode.Disposable {
  private readonly server: AgentServer;
  private readonly session: WindowSession;
  private readonly statusBar = new StatusBar();
  private readonly todos = new TodoTree();
  private readonly conversation = new Conversation();
  private readonly approvals: Approvals;
  private readonly notices = new Notices();
  private readonly registrations: vscode.Disposable[];
  private defaultModel: string | null = null;

  constructor(context: vscode.ExtensionContext) {
    this.server = new AgentServer({
      sessionEvent: (envelope) => this.session.receiveEvent(envelope),
      sessionDelta: (delta) => this.session.receiveDelta(delta),
      sessionDidReset: (reset) => this.session.receiveReset(reset),
      stateDidChange: (changed) => this.session.receiveSlices(changed),
      appDidChange: (changed) => {
        if (changed.defaultModel !== undefined) this.defaultModel = changed.defaultModel;
        this.notices.show(changed.notices ?? []);
        this.showStatus();
      },
    });
    this.session = new WindowSession(this.server, {
      get: () => context.workspaceState.get<string>(SESSION_KEY),
      set: (sessionId) => context.workspaceState.update(SESSION_KEY, sessionId),
    });
    this.approvals = new Approvals(this.session);
    this.session.onDidChange(() => this.showSession());
    this.registrations = [
      this.server.onDidChangePhase((phase) => void this.phaseChanged(phase)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("agentls")) void this.offerRestart();
      }),
      ...registerCommands(this.server, this.session, this.conversation, this.approvals),
    ];
    this.showStatus();
  }

  start(): Promise<void> {
    return this.server.start();
  }

  stop(): Promise<void> {
    return this.server.stop();
  }

  dispose(): void {
    for (const registration of this.registrations) registration.dispose();
    this.approvals.dispose();
    this.conversation.dispose();
    this.todos.dispose();
    this.statusBar.dispose();
    this.server.dispose();
  }

  private async phaseChanged(phase: ServerPhase): Promise<void> {
    this.showStatus();
    if (phase.kind !== "running") return;
    try {
      const { state } = await this.server.request(appGet, {});
      this.defaultModel = state.defaultModel;
      this.showStatus();
      await this.session.resume();
    } catch (error) {
      void vscode.window.showWarningMessage(
        `The window's last session was not opened; the next prompt begins a new one. ${messageOf(error)}`,
      );
    }
  }

  private showSession(): void {
    this.showStatus();
    this.todos.show(this.session.view);
    this.conversation.show(this.session.view);
    this.approvals.show(this.session.view);
  }

  private showStatus(): void {
    const defaults = { model: this.defaultModel };
    this.statusBar.show(statusText(this.server.phase, this.session.view, defaults));
  }

  private async offerRestart(): Promise<void> {
    const text = "The agent's settings have changed. They hold from the server's next start.";
    const choice = await vscode.window.showInformationMessage(text, "Restart");
    if (choice === "Restart") await this.server.restart();
  }
}
