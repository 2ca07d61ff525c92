/** The one session of a window: it sends what the user asks for and keeps the view; knows no editor. */

import { randomUUID } from "node:crypto";
import type { Connection } from "./connection";
import * as methods from "./methods";
import type {
  Attachment,
  Delivery,
  Envelope,
  Mode,
  ModelInfo,
  QuestionAnswerInput,
  SessionClearResult,
  SessionDeltaParams,
  SessionDidResetParams,
  SessionRedoResult,
  SessionSnapshot,
  SessionSummary,
  StateDidChangeParams,
  Task,
} from "./protocol";
import * as views from "./sessionView";
import type { SessionView } from "./sessionView";

/** Where the window keeps the id of its session between runs. */
export interface SessionMemory {
  get(): string | undefined;
  set(sessionId: string | undefined): PromiseLike<void>;
}

export type Listener = (view: SessionView | null) => void;

export class WindowSession {
  view: SessionView | null = null;
  private readonly listeners = new Set<Listener>();
  private opening: Promise<SessionView> | null = null;
  private refreshing = false;

  constructor(
    private readonly connection: Connection,
    private readonly memory: SessionMemory,
  ) {}

  /** Call `listener` at every change, until the function returned is called. */
  onDidChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Continue the session that the window had last, where it still exists. */
  async resume(): Promise<void> {
    const sessionId = this.view?.sessionId ?? this.memory.get();
    if (sessionId === undefined) return;
    try {
      await this.open(sessionId);
    } catch (error) {
      this.show(null);
      await this.memory.set(undefined);
      throw error;
    }
  }

  /** Send a prompt, in a new session where none is open. Tells whether it waits in the queue. */
  async prompt(
    text: string,
    delivery: Delivery = "queue",
    attachments: readonly Attachment[] = [],
  ): Promise<{ queued: boolean }> {
    const { sessionId } = await this.opened();
    const turnId = randomUUID();
    const params = { sessionId, text, turnId, delivery, attachments };
    return this.connection.request(methods.sessionPrompt, params);
  }

  /** Have the conversation summed up; tells whether another turn runs first. */
  async compact(instructions: string | null): Promise<{ queued: boolean }> {
    const { sessionId } = this.shown();
    const turnId = randomUUID();
    return this.connection.request(methods.sessionCompact, { sessionId, instructions, turnId });
  }

  /** Begin the conversation anew in the same session. */
  async clear(): Promise<SessionClearResult> {
    const { sessionId } = this.shown();
    return this.connection.request(methods.sessionClear, { sessionId });
  }

  /** Bring back what the last clear or rewind left behind. */
  async redo(): Promise<SessionRedoResult> {
    const { sessionId } = this.shown();
    return this.connection.request(methods.sessionRedo, { sessionId });
  }

  async removeQueued(itemId: string): Promise<void> {
    const { sessionId } = this.shown();
    await this.connection.request(methods.queueRemove, { sessionId, itemId });
  }

  async stopTask(taskId: string): Promise<Task> {
    const { sessionId } = this.shown();
    return (await this.connection.request(methods.taskStop, { sessionId, taskId })).task;
  }

  /** Turn fast mode on or off; tells which model answers in it, null where it is off. */
  async setFastMode(enabled: boolean): Promise<string | null> {
    const { sessionId } = await this.opened();
    const { model } = await this.connection.request(methods.fastModeSet, { sessionId, enabled });
    return model.fast;
  }

  /** Stop the turn that runs; false where none does. */
  async cancel(): Promise<boolean> {
    const turnId = this.view?.activity.turnId;
    if (!this.view || !turnId) return false;
    const { sessionId } = this.view;
    return (await this.connection.request(methods.turnCancel, { sessionId, turnId })).cancelled;
  }

  /** Answer an approval; `reason` is for the model to read, with a no. */
  async answer(
    sessionId: string,
    callId: string,
    optionId: string,
    reason: string | null = null,
  ): Promise<void> {
    await this.connection.request(methods.approvalAnswer, { sessionId, callId, optionId, reason });
  }

  /** Answer the questions of a call; null: the user would not. */
  async answerQuestions(
    sessionId: string,
    callId: string,
    answers: readonly QuestionAnswerInput[] | null,
  ): Promise<void> {
    await this.connection.request(methods.questionAnswer, { sessionId, callId, answers });
  }

  /** Let the turn go on although the session cannot be saved just now. */
  async continueUnsaved(): Promise<void> {
    if (this.view === null) return;
    const { sessionId } = this.view;
    await this.connection.request(methods.sessionContinueUnsaved, { sessionId });
  }

  async models(): Promise<readonly ModelInfo[]> {
    return (await this.connection.request(methods.modelList, {})).models;
  }

  /** Choose the session's model; where none is open, begin one with it. */
  async setModel(model: string): Promise<void> {
    if (this.view === null) {
      await this.startNew(model);
      return;
    }
    const { sessionId } = this.view;
    await this.connection.request(methods.modelSet, { sessionId, model });
  }

  async setMode(mode: Mode): Promise<void> {
    const { sessionId } = await this.opened();
    await this.connection.request(methods.modeSet, { sessionId, mode });
  }

  async sessions(): Promise<readonly SessionSummary[]> {
    return (await this.connection.request(methods.sessionList, {})).sessions;
  }

  /** Open a saved session, read-only where another process writes it; the window shows it now. */
  async open(sessionId: string): Promise<SessionView> {
    const params = { sessionId, ifInUse: "follow" } as const;
    const { snapshot } = await this.connection.request(methods.sessionLoad, params);
    return this.enter(sessionId, snapshot);
  }

  /** Begin a session; the window shows it from now on. */
  async startNew(model?: string): Promise<SessionView> {
    const params = model === undefined ? {} : { model };
    const { sessionId, snapshot } = await this.connection.request(methods.sessionNew, params);
    return this.enter(sessionId, snapshot);
  }

  receiveEvent(envelope: Envelope): void {
    if (this.view === null) return;
    this.show(views.withEvent(this.view, envelope));
    if (this.view.stale) void this.refresh();
  }

  receiveDelta(delta: SessionDeltaParams): void {
    if (this.view !== null) this.show(views.withDelta(this.view, delta));
  }

  /** Begin anew from a snapshot: the window did not keep up with the events. */
  receiveReset({ sessionId, snapshot }: SessionDidResetParams): void {
    if (this.view?.sessionId === sessionId) this.show(views.fromSnapshot(sessionId, snapshot));
  }

  receiveSlices(changed: StateDidChangeParams): void {
    if (this.view === null) return;
    this.show(views.withSlices(this.view, changed));
    if (changed.access !== undefined && views.isLeft(this.view)) void this.takeOver();
  }

  private shown(): SessionView {
    if (this.view === null) throw new Error("No session is open. Send a prompt to begin one.");
    return this.view;
  }

  private async opened(): Promise<SessionView> {
    if (this.view !== null) return this.view;
    this.opening ??= this.startNew().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  private async enter(sessionId: string, snapshot: SessionSnapshot): Promise<SessionView> {
    const view = views.fromSnapshot(sessionId, snapshot);
    this.show(view);
    await this.memory.set(sessionId);
    return view;
  }

  /** Take a fresh snapshot where the events that came do not add up. */
  private async refresh(): Promise<void> {
    if (this.refreshing || this.view === null) return;
    this.refreshing = true;
    const { sessionId } = this.view;
    try {
      const { snapshot } = await this.connection.request(methods.stateGet, { sessionId });
      if (this.view.sessionId === sessionId) this.show(views.fromSnapshot(sessionId, snapshot));
    } catch {
      // The server is going, or the session was closed: the view stays as it is until it is opened.
    } finally {
      this.refreshing = false;
    }
  }

  /** Go on with a session that was followed, now that nobody writes it any more. */
  private async takeOver(): Promise<void> {
    if (this.view === null) return;
    try {
      await this.open(this.view.sessionId);
    } catch {
      // Another process was faster, or the server is going: the view stays as it is.
    }
  }

  private show(view: SessionView | null): void {
    if (view === this.view) return;
    this.view = view;
    for (const listener of this.listeners) listener(view);
  }
}
