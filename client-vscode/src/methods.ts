// GENERATED from server/agentls/protocol by `agentls generate`. Do not edit.

import { NotificationType, RequestType } from "vscode-languageclient/node";

import type {
  AppDidChangeParams,
  AppGetParams,
  AppGetResult,
  ApprovalAnswerParams,
  ApprovalAnswerResult,
  Envelope,
  ModeSetParams,
  ModeSetResult,
  ModelListParams,
  ModelListResult,
  ModelSetParams,
  ModelSetResult,
  QueueRemoveParams,
  QueueRemoveResult,
  SessionCloseParams,
  SessionCloseResult,
  SessionDeltaParams,
  SessionDidResetParams,
  SessionListParams,
  SessionListResult,
  SessionLoadParams,
  SessionLoadResult,
  SessionNewParams,
  SessionNewResult,
  SessionPromptParams,
  SessionPromptResult,
  SessionRenameParams,
  SessionRenameResult,
  StateDidChangeParams,
  StateGetParams,
  StateGetResult,
  TurnCancelParams,
  TurnCancelResult,
  ViewSetParams,
  ViewSetResult,
} from "./protocol";

/** Begin a session. An id the client made is honoured; asked again, the same session answers. */
export const sessionNew = new RequestType<SessionNewParams, SessionNewResult, void>(
  "agent/session/new",
);

/** Open a saved session, or join one that is open. */
export const sessionLoad = new RequestType<SessionLoadParams, SessionLoadResult, void>(
  "agent/session/load",
);

/** List the sessions of the workspace, newest first. */
export const sessionList = new RequestType<SessionListParams, SessionListResult, void>(
  "agent/session/list",
);

/** Take a session out of memory; a turn that runs is cancelled. It stays on disk. */
export const sessionClose = new RequestType<SessionCloseParams, SessionCloseResult, void>(
  "agent/session/close",
);

/** Give a session a title. */
export const sessionRename = new RequestType<SessionRenameParams, SessionRenameResult, void>(
  "agent/session/rename",
);

/** Send a prompt. While a turn runs it waits in the queue. */
export const sessionPrompt = new RequestType<SessionPromptParams, SessionPromptResult, void>(
  "agent/session/prompt",
);

/** Stop a turn. One that still waits leaves the queue; one that has ended is not touched. */
export const turnCancel = new RequestType<TurnCancelParams, TurnCancelResult, void>(
  "agent/turn/cancel",
);

/** Take a prompt out of the queue. */
export const queueRemove = new RequestType<QueueRemoveParams, QueueRemoveResult, void>(
  "agent/queue/remove",
);

/** Answer an approval with one of its options. The first answer wins. */
export const approvalAnswer = new RequestType<ApprovalAnswerParams, ApprovalAnswerResult, void>(
  "agent/approval/answer",
);

/** List the models that can be chosen. */
export const modelList = new RequestType<ModelListParams, ModelListResult, void>(
  "agent/model/list",
);

/** Choose a model, for one session or as the user's default; null takes a choice back. */
export const modelSet = new RequestType<ModelSetParams, ModelSetResult, void>("agent/model/set");

/** Choose a session's permission mode. */
export const modeSet = new RequestType<ModeSetParams, ModeSetResult, void>("agent/mode/set");

/** Ask for a session's whole state. */
export const stateGet = new RequestType<StateGetParams, StateGetResult, void>("agent/state/get");

/** Ask for the server-wide state. */
export const appGet = new RequestType<AppGetParams, AppGetResult, void>("agent/app/get");

/** Change how this client looks at the agent; what is left out stays. */
export const viewSet = new RequestType<ViewSetParams, ViewSetResult, void>("agent/view/set");

/** An event with its place: one line of the log, one notification to editors. */
export const sessionEvent = new NotificationType<Envelope>("agent/session/event");

/** Text that was streamed, to be added to a part at `offset` (Unicode code points). */
export const sessionDelta = new NotificationType<SessionDeltaParams>("agent/session/delta");

/** A client fell too far behind: what it was not sent is all in this snapshot. */
export const sessionDidReset = new NotificationType<SessionDidResetParams>(
  "agent/session/didReset",
);

/** Whole values of the slices of a session that changed; nothing else is in the message. */
export const stateDidChange = new NotificationType<StateDidChangeParams>("agent/state/didChange");

/** Whole values of the server-wide slices that changed; nothing else is in the message. */
export const appDidChange = new NotificationType<AppDidChangeParams>("agent/app/didChange");
