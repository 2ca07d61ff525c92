/** The server of this window: starts and ends it, and speaks to it over stdio. */

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  TransportKind,
} from "vscode-languageclient/node";
import type { Executable, LanguageClientOptions, RequestType } from "vscode-languageclient/node";
import type { Connection } from "./connection";
import * as methods from "./methods";
import type {
  AppDidChangeParams,
  ClientOptions,
  Envelope,
  SessionDeltaParams,
  SessionDidResetParams,
  StateDidChangeParams,
} from "./protocol";
import type { ServerPhase } from "./statusText";

const STOP_MILLISECONDS = 5000;
const ENDED = "The agent server ended unexpectedly.";
const ENDED_EARLY = "The agent server ended while it started. Its output says why.";

/** Where the server's notifications go. */
export interface Handlers {
  sessionEvent(envelope: Envelope): void;
  sessionDelta(delta: SessionDeltaParams): void;
  sessionDidReset(reset: SessionDidResetParams): void;
  stateDidChange(changed: StateDidChangeParams): void;
  appDidChange(changed: AppDidChangeParams): void;
}

export class AgentServer implements Connection, vscode.Disposable {
  phase: ServerPhase = { kind: "stopped", reason: "The agent server has not been started." };
  private readonly phaseChanged = new vscode.EventEmitter<ServerPhase>();
  readonly onDidChangePhase = this.phaseChanged.event;
  private readonly output = vscode.window.createOutputChannel("Agent", { log: true });
  private client: LanguageClient | null = null;

  constructor(private readonly handlers: Handlers) {}

  /** Start the server; where it cannot be, tell the user and offer what helps. */
  async start(): Promise<void> {
    this.setPhase({ kind: "starting" });
    const client = this.createClient();
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.ended(client, startFailure(messageOf(error)));
      return;
    }
    if (this.client === client && this.phase.kind === "starting") this.setPhase({ kind: "running" });
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = null;
    this.setPhase({ kind: "stopped", reason: "The agent server was stopped." });
    await disposed(client);
  }

  async request<P, R>(type: RequestType<P, R, void>, params: P): Promise<R> {
    if (this.client === null) {
      throw new Error('The agent server is not running. Restart it with "Agent: Restart the Server".');
    }
    return this.client.sendRequest<R>(type.method, params);
  }

  /** Write a line into the output. */
  log(line: string): void {
    this.output.info(line);
  }

  dispose(): void {
    this.phaseChanged.dispose();
    this.output.dispose();
  }

  private createClient(): LanguageClient {
    const client = new QuietClient("agentls", "Agent", serverOptions(), {
      ...clientOptions(),
      outputChannel: this.output,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.ended(client, this.phase.kind === "starting" ? ENDED_EARLY : ENDED);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.onNotification(methods.sessionEvent, this.handlers.sessionEvent);
    client.onNotification(methods.sessionDelta, this.handlers.sessionDelta);
    client.onNotification(methods.sessionDidReset, this.handlers.sessionDidReset);
    client.onNotification(methods.stateDidChange, this.handlers.stateDidChange);
    client.onNotification(methods.appDidChange, this.handlers.appDidChange);
    return client;
  }

  private ended(client: LanguageClient, reason: string): void {
    if (this.client !== client) return; // it was stopped on purpose, or this is known already
    this.client = null;
    this.setPhase({ kind: "stopped", reason });
    void disposed(client);
    void this.offerRestart(reason);
  }

  private async offerRestart(reason: string): Promise<void> {
    const choice = await vscode.window.showErrorMessage(
      reason,
      "Restart",
      "Show Output",
      "Open Settings",
    );
    switch (choice) {
      case "Restart":
        return this.restart();
      case "Show Output":
        return this.output.show();
      case "Open Settings":
        await vscode.commands.executeCommand("workbench.action.openSettings", "agentls");
        return;
      case undefined:
        return;
    }
  }

  private setPhase(phase: ServerPhase): void {
    this.phase = phase;
    this.phaseChanged.fire(phase);
  }
}

/** Leaves it to the window to say what went wrong: once, and with what can be done about it. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** Return the text of an error as the user should read it. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function startFailure(message: string): string {
  if (!message.includes("ENOENT")) return `The agent server did not start: ${message}`;
  const [program] = serverCommand();
  return `The program "${program}" was not found. Install it, or name it in the setting agentls.command.`;
}

function serverCommand(): readonly [string, ...string[]] {
  const configured = vscode.workspace.getConfiguration("agentls").get<string[]>("command", []);
  const [program = "agentls", ...rest] = configured;
  return [program, ...rest];
}

function serverOptions(): Executable {
  const [command, ...rest] = serverCommand();
  const model = vscode.workspace.getConfiguration("agentls").get<string>("model", "");
  const cwd = vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === "file");
  return {
    command,
    args: [...rest, "lsp", ...(model === "" ? [] : ["--model", model])],
    transport: TransportKind.stdio,
    ...(cwd === undefined ? {} : { options: { cwd: cwd.uri.fsPath } }),
  };
}

function clientOptions(): LanguageClientOptions {
  const agentls: ClientOptions = {
    version: 1,
    clientName: "VS Code",
    events: true,
    deltas: true,
    state: true,
    canApprove: true,
  };
  return {
    documentSelector: [{ scheme: "file" }],
    initializationOptions: { agentls },
    revealOutputChannelOn: RevealOutputChannelOn.Never,
  };
}

async function disposed(client: LanguageClient | null): Promise<void> {
  try {
    await client?.dispose(STOP_MILLISECONDS);
  } catch {
    // A server that is gone cannot be asked to shut down.
  }
}
