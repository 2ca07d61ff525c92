// GENERATED from server/agentls/protocol by `agentls generate`. Do not edit.

import { NotificationType, RequestType } from "vscode-languageclient/node";

import type {
  AppDidChangeParams,
  AppGetParams,
  AppGetResult,
  ApprovalAnswerParams,
  ApprovalAnswerResult,
  Envelope,
  FastModeSetParams,
  FastModeSetResult,
  ModeSetParams,
  ModeSetResult,
  ModelListParams,
  ModelListResult,
  ModelSetParams,
  ModelSetResult,
  QuestionAnswerParams,
  QuestionAnswerResult,
  QueueRemoveParams,
  QueueRemoveResult,
  SessionClearParams,
  SessionClearResult,
  SessionCloseParams,
  SessionCloseResult,
  SessionCompactParams,
  SessionCompactResult,
  SessionContinueParams,
  SessionContinueResult,
  SessionContinueUnsavedParams,
  SessionContinueUnsavedResult,
  SessionDeleteParams,
  SessionDeleteResult,
  SessionDeltaParams,
  SessionDidResetParams,
  SessionExportParams,
  SessionExportResult,
  SessionForkParams,
  SessionForkResult,
  SessionImportParams,
  SessionImportResult,
  SessionListParams,
  SessionListResult,
  SessionLoadParams,
  SessionLoadResult,
  SessionNewParams,
  SessionNewResult,
  SessionPromptParams,
  SessionPromptResult,
  SessionPurgeParams,
  SessionPurgeResult,
  SessionRedoParams,
  SessionRedoResult,
  SessionRenameParams,
  SessionRenameResult,
  SessionRestoreParams,
  SessionRestoreResult,
  SessionRewindParams,
  SessionRewindResult,
  SessionSearchParams,
  SessionSearchResult,
  SessionTagParams,
  SessionTagResult,
  StateDidChangeParams,
  StateGetParams,
  StateGetResult,
  TaskListParams,
  TaskListResult,
  TaskOutputParams,
  TaskOutputResult,
  TaskStopParams,
  TaskStopResult,
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

/** Open the session that was used last. */
export const sessionContinue = new RequestType<SessionContinueParams, SessionContinueResult, void>(
  "agent/session/continue",
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

/** Begin a session with a copy of another one up to a message. */
export const sessionFork = new RequestType<SessionForkParams, SessionForkResult, void>(
  "agent/session/fork",
);

/** Go back to before a prompt. What has been since is kept, and a redo brings it back. */
export const sessionRewind = new RequestType<SessionRewindParams, SessionRewindResult, void>(
  "agent/session/rewind",
);

/** Undo the last rewind, as long as nothing was prompted since. */
export const sessionRedo = new RequestType<SessionRedoParams, SessionRedoResult, void>(
  "agent/session/redo",
);

/** Give a session a tag; null takes it away. */
export const sessionTag = new RequestType<SessionTagParams, SessionTagResult, void>(
  "agent/session/tag",
);

/** Move a session to the trash. */
export const sessionDelete = new RequestType<SessionDeleteParams, SessionDeleteResult, void>(
  "agent/session/delete",
);

/** Take a session out of the trash. */
export const sessionRestore = new RequestType<SessionRestoreParams, SessionRestoreResult, void>(
  "agent/session/restore",
);

/** Delete a session in the trash for good. */
export const sessionPurge = new RequestType<SessionPurgeParams, SessionPurgeResult, void>(
  "agent/session/purge",
);

/** Write a session down: as Markdown for people, or as JSON that can be imported. */
export const sessionExport = new RequestType<SessionExportParams, SessionExportResult, void>(
  "agent/session/export",
);

/** Take in a session of Claude Code (a `.jsonl` file), or one that agentls exported as JSON. */
export const sessionImport = new RequestType<SessionImportParams, SessionImportResult, void>(
  "agent/session/import",
);

/** Search what was said and done in the workspace's sessions. */
export const sessionSearch = new RequestType<SessionSearchParams, SessionSearchResult, void>(
  "agent/session/search",
);

/** Go on although the session cannot be written just now; it is written when it can be. */
export const sessionContinueUnsaved = new RequestType<
  SessionContinueUnsavedParams,
  SessionContinueUnsavedResult,
  void
>("agent/session/continueUnsaved");

/**
 * Send a prompt. While a turn runs it waits in the queue, or steers that turn.
 *
 * `@src/main.py`, `@src/main.py:10-20`, `@src/main.py#Symbol` and `@src/` in its text bring that
 * file, those lines, that definition, that folder's names along, as they are when the turn begins.
 */
export const sessionPrompt = new RequestType<SessionPromptParams, SessionPromptResult, void>(
  "agent/session/prompt",
);

/** Put a summary in the place of the conversation so far; a running turn is waited for. */
export const sessionCompact = new RequestType<SessionCompactParams, SessionCompactResult, void>(
  "agent/session/compact",
);

/** Begin the conversation anew in the same session; a redo brings the old one back. */
export const sessionClear = new RequestType<SessionClearParams, SessionClearResult, void>(
  "agent/session/clear",
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

/** Answer the questions of a call, all of them. The first answer wins. */
export const questionAnswer = new RequestType<QuestionAnswerParams, QuestionAnswerResult, void>(
  "agent/question/answer",
);

/** List what runs in a session's background. */
export const taskList = new RequestType<TaskListParams, TaskListResult, void>("agent/task/list");

/** Read a task's output from an offset, also that of one that has ended. */
export const taskOutput = new RequestType<TaskOutputParams, TaskOutputResult, void>(
  "agent/task/output",
);

/** End a task: its whole process group is asked to, and then made to. */
export const taskStop = new RequestType<TaskStopParams, TaskStopResult, void>("agent/task/stop");

/** List the models that can be chosen. */
export const modelList = new RequestType<ModelListParams, ModelListResult, void>(
  "agent/model/list",
);

/** Choose a model, for one session or as the user's default; null takes a choice back. */
export const modelSet = new RequestType<ModelSetParams, ModelSetResult, void>("agent/model/set");

/** Have a lighter model answer, or the chosen one again. */
export const fastModeSet = new RequestType<FastModeSetParams, FastModeSetResult, void>(
  "agent/fastMode/set",
);

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
