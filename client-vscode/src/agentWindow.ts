/** One window's agent: the server, the session and the views, and what passes between them. */

import * as vscode from "vscode";
import { Approvals } from "./approvals";
import { registerCommands } from "./commands";
import { Conversation } from "./conversation";
import { logLine } from "./eventLog";
import { appGet } from "./methods";
import { Notices } from "./notices";
import type { Envelope } from "./protocol";
import { createQueueTree } from "./queueTree";
import { RoomTrouble } from "./roomCommands";
import { AgentServer, messageOf } from "./server";
import type { SessionView } from "./sessionView";
import type { Defaults, ServerPhase } from "./statusText";
import { statusText } from "./statusText";
import { StatusBar } from "./statusBar";
import { TaskNews } from "./taskCommands";
import { TaskOutput } from "./taskOutput";
import { isOpen } from "./taskText";
import { createTaskTree } from "./taskTree";
import { TodoTree } from "./todoTree";
import { UserQuestions } from "./userQuestions";
import { WaitingTree } from "./waitingTree";
import { WindowSession } from "./windowSession";

const SESSION_KEY = "agentls.sessionId";
const TICK_MILLISECONDS = 1000;

export class AgentWindow implements vscode.Disposable {
  private readonly server: AgentServer;
  private readonly session: WindowSession;
  private readonly statusBar = new StatusBar();
  private readonly waiting = new WaitingTree();
  private readonly todos = new TodoTree();
  private readonly queue = createQueueTree();
  private readonly tasks = createTaskTree();
  private readonly conversation = new Conversation();
  private readonly approvals: Approvals;
  private readonly questions: UserQuestions;
  private readonly taskOutput: TaskOutput;
  private readonly taskNews: TaskNews;
  private readonly roomTrouble = new RoomTrouble();
  private readonly notices = new Notices();
  private readonly registrations: vscode.Disposable[];
  /** Null until the server has told them. */
  private defaults: Defaults | null = null;
  /** Runs while something is shown that changes with time alone. */
  private ticking: NodeJS.Timeout | null = null;
  private turnRuns = false;

  constructor(context: vscode.ExtensionContext) {
    this.server = new AgentServer({
      sessionEvent: (envelope) => this.receiveEvent(envelope),
      sessionDelta: (delta) => this.session.receiveDelta(delta),
      sessionDidReset: (reset) => this.session.receiveReset(reset),
      stateDidChange: (changed) => this.session.receiveSlices(changed),
      appDidChange: (changed) => {
        const model = changed.defaultModel;
        if (model !== undefined) this.defaults = { model };
        this.notices.show(changed.notices ?? []);
        this.showStatus();
      },
    });
    this.session = new WindowSession(this.server, {
      get: () => context.workspaceState.get<string>(SESSION_KEY),
      set: (sessionId) => context.workspaceState.update(SESSION_KEY, sessionId),
    });
    this.approvals = new Approvals(this.session);
    this.questions = new UserQuestions(this.session);
    this.taskOutput = new TaskOutput(this.server);
    this.taskNews = new TaskNews(this.session, this.taskOutput);
    this.session.onDidChange(() => this.showSession());
    this.registrations = [
      this.server.onDidChangePhase((phase) => void this.phaseChanged(phase)),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("agentls")) void this.offerRestart();
      }),
      ...registerCommands({
        server: this.server,
        session: this.session,
        conversation: this.conversation,
        approvals: this.approvals,
        questions: this.questions,
        taskOutput: this.taskOutput,
      }),
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
    if (this.ticking !== null) clearInterval(this.ticking);
    for (const registration of this.registrations) registration.dispose();
    this.taskOutput.dispose();
    this.questions.dispose();
    this.approvals.dispose();
    this.conversation.dispose();
    this.tasks.dispose();
    this.queue.dispose();
    this.todos.dispose();
    this.waiting.dispose();
    this.statusBar.dispose();
    this.server.dispose();
  }

  private receiveEvent(envelope: Envelope): void {
    this.session.receiveEvent(envelope);
    const line = logLine(envelope);
    if (line !== null) this.server.log(line);
  }

  private async phaseChanged(phase: ServerPhase): Promise<void> {
    this.showStatus();
    if (phase.kind !== "running") return;
    try {
      const { state } = await this.server.request(appGet, {});
      this.defaults = { model: state.defaultModel };
      this.showStatus();
      await this.session.resume();
    } catch (error) {
      void vscode.window.showWarningMessage(
        `The window's last session was not opened; the next prompt begins a new one. ${messageOf(error)}`,
      );
    }
  }

  private showSession(): void {
    const view = this.session.view;
    this.showStatus();
    this.waiting.show(view);
    this.todos.show(view);
    this.queue.show(view?.queue ?? NOTHING);
    this.tasks.show(view?.tasks ?? NOTHING);
    this.conversation.show(view);
    this.approvals.show(view);
    this.questions.show(view);
    this.taskNews.show(view);
    this.roomTrouble.show(view);
    this.setTurnRuns(view !== null && view.activity.turnId !== null);
    this.keepTime(view !== null && showsTime(view));
  }

  /** Tell the when-clauses of the menus. */
  private setTurnRuns(runs: boolean): void {
    if (runs === this.turnRuns) return;
    this.turnRuns = runs;
    void vscode.commands.executeCommand("setContext", "agentls.turnRuns", runs);
  }

  private keepTime(needed: boolean): void {
    if (needed === (this.ticking !== null)) return;
    if (this.ticking !== null) clearInterval(this.ticking);
    this.ticking = needed ? setInterval(() => this.tick(), TICK_MILLISECONDS) : null;
  }

  private tick(): void {
    this.showStatus();
    this.tasks.redraw();
  }

  private showStatus(): void {
    this.statusBar.show(statusText(this.server.phase, this.session.view, this.defaults));
  }

  private async offerRestart(): Promise<void> {
    const text = "The agent's settings have changed. They hold from the server's next start.";
    const choice = await vscode.window.showInformationMessage(text, "Restart");
    if (choice === "Restart") await this.server.restart();
  }
}

const NOTHING: readonly never[] = [];

function showsTime({ activity, tasks }: SessionView): boolean {
  return activity.retry !== null || tasks.some(isOpen);
}
