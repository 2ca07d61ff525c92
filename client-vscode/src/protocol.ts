// GENERATED from server/agentls/protocol by `agentls generate`. Do not edit.

export const PROTOCOL_VERSION = 1;

/** Whether this server writes the session or follows another process that does. */
export interface Access {
  mode: "owner" | "follower";
  /** Who writes it, where it is another process: "lsp, process 1234 on host". */
  owner: string | null;
}

/** The session can be written from here now, or no more. */
export interface AccessChanged {
  type: "accessChanged";
  access: Access;
}

/** What the session is doing, for a status line. */
export interface Activity {
  /** `waiting`: for a person. `error`: idle, and the last turn failed. */
  status: "idle" | "running" | "waiting" | "error";
  /** In words: "Thinking", "Running pytest -q", "Waiting for approval". */
  label: string;
  turnId: string | null;
  /** The calls that run or wait. */
  callIds: readonly string[];
  error: ErrorInfo | null;
  /** The wait before the model is asked again, while there is one. */
  retry: RetryWait | null;
}

/** One answer of the model, whole. */
export interface Answer {
  type: "answer";
  id: string;
  at: Timestamp;
  turnId: string | null;
  model: string;
  parts: readonly AnswerPart[];
  stopReason: StopReason;
  usage: Usage;
}

/** The model's answer is complete and replaces what was streamed under the same ids. */
export interface AnswerFinished {
  type: "answerFinished";
  id: string;
  /** The message before it; `null` at the start of the conversation. */
  parent: string | null;
  model: string;
  parts: readonly AnswerPart[];
  stopReason: StopReason;
  responseId: string | null;
  usage: Usage;
}

export type AnswerPart = TextPart | ThinkingPart | RedactedThinkingPart | ToolCallPart;

/**
 * The answer that streams, kept at most once a second, so that a crash leaves what was seen.
 *
 * Carries what came since the last one; `AnswerFinished` replaces them all.
 */
export interface AnswerProgressed {
  type: "answerProgressed";
  /** The message it belongs to. */
  parent: string;
  messageId: string;
  model: string;
  parts: readonly PartProgress[];
}

/** The model has said nothing for a while; it is waited for all the same, up to a limit. */
export interface AnswerStalled {
  type: "answerStalled";
  messageId: string;
  silentSince: Timestamp;
}

/** The model began to answer. What was streamed before and not finished is void. */
export interface AnswerStarted {
  type: "answerStarted";
  messageId: string;
  model: string;
}

/** Whole values of the server-wide slices that changed; nothing else is in the message. */
export interface AppDidChangeParams {
  seq: number;
  clients?: readonly Client[] | null;
  sessions?: readonly string[] | null;
  defaultModel?: string | null;
  notices?: readonly Notice[] | null;
}

/** Ask for the server-wide state. */
export type AppGetParams = Record<string, never>;

/** The server-wide state. */
export interface AppGetResult {
  seq: number;
  state: AppState;
}

/** Everything that belongs to no single session. */
export interface AppState {
  clients: readonly Client[];
  /** The ids of the sessions in memory. */
  sessions: readonly string[];
  /** What new sessions start with. */
  defaultModel: string | null;
  /** The latest twenty, oldest first. */
  notices: readonly Notice[];
}

/** A question that a person must answer before a call runs. */
export interface Approval {
  callId: string;
  toolName: string;
  /** What the agent wants, in one line: "Run rm -r build/". */
  title: string;
  /** What there is to see before answering: the command, a unified diff, the path. */
  detail: string;
  /** Why it asks: the mode, or the rule and its source. */
  reason: string;
  options: readonly ApprovalOption[];
  requestedAt: Timestamp;
}

/** Answer an approval with one of its options. The first answer wins. */
export interface ApprovalAnswerParams {
  sessionId: string;
  callId: string;
  optionId: string;
  /** For the model to read, with a no. */
  reason?: string | null;
  /** Run this instead of what the model wrote. */
  editedInput?: JsonObject | null;
}

/** What was decided. */
export interface ApprovalAnswerResult {
  decision: Decision;
}

/** The first answer came; it settles the matter for every editor. */
export interface ApprovalAnswered {
  type: "approvalAnswered";
  /** The message it belongs to. */
  parent: string;
  callId: string;
  optionId: string;
  decision: Decision;
  editedInput: JsonObject | null;
}

/** One way to answer an approval. */
export interface ApprovalOption {
  id: string;
  kind: OptionKind;
  label: string;
  /** The rule that this answer adds for the rest of the session, where it adds one. */
  rule: string | null;
  /** The mode that holds after this answer, where it changes it. */
  mode: Mode | null;
}

/** A call waits for a person. */
export interface ApprovalRequested {
  type: "approvalRequested";
  /** The message it belongs to. */
  parent: string;
  approval: Approval;
}

/** A picture or a PDF that goes with a prompt: by its path, or with its bytes. */
export interface Attachment {
  /** Of a file the server can read; relative to the working folder, or absolute. */
  path?: string | null;
  /** The file's bytes, base64, in place of a path: a picture from the clipboard. */
  data?: string | null;
  /** How a person knows it; else the path's last name. */
  name?: string | null;
}

/** Who says what stands on the user's side of a conversation. `agentls`: a notice for the model. */
export type Author = "user" | "agentls";

/** The server had to read anew what its prompt cache should have held. */
export interface CacheMissed {
  type: "cacheMissed";
  responseId: string;
  /** What changed since the request before; `expired`: nothing, but it was too long ago. */
  cause: "model" | "tools" | "system" | "thinking" | "history" | "expired" | "unknown";
  /** What the request before had left in the cache. */
  expectedTokens: number;
  readTokens: number;
}

export type CallOutcome = "ok" | "error" | "denied" | "cancelled";

/** A tool call that has finished, as the model is told of it. */
export interface CallResult {
  type: "callResult";
  call: ToolCall;
}

export type CallStatus = "ready" | "waiting" | "running" | "finished";

/** What is carried past a compaction word for word, whatever its summary says or leaves out. */
export interface Carried {
  /** The prompt that the conversation began with. */
  goal: string | null;
  /** Sentences of the user that say what must, or must not, be done; oldest first. */
  constraints: readonly string[];
  /** What the user has said, oldest first, as far as there is room. */
  prompts: readonly string[];
  /** The latest last. */
  files: readonly SeenFile[];
  /** Oldest first. */
  failures: readonly FailedAttempt[];
}

/** An editor or script that is connected. */
export interface Client {
  id: string;
  name: string;
  canApprove: boolean;
}

/**
 * What a client says of itself in `initializationOptions.agentls`.
 *
 * A client that says nothing is a plain LSP client: it is sent standard messages alone.
 */
export interface ClientOptions {
  /** Default: `1`. */
  version?: number;
  /** How the user knows this client; else the `clientInfo` of `initialize`. */
  clientName?: string | null;
  /** Send `agent/session/event`, for a client that draws the conversation. Default: `true`. */
  events?: boolean;
  /** Send `agent/session/delta`, the streamed text. Default: `true`. */
  deltas?: boolean;
  /** Send `agent/state/didChange` and `agent/app/didChange`. Default: `true`. */
  state?: boolean;
  /** A person sits there who can answer approvals. Default: `true`. */
  canApprove?: boolean;
}

/** No summary took the place of anything; the conversation is as it was. */
export interface CompactionFailed {
  type: "compactionFailed";
  error: ErrorInfo;
  /** It brings the circuit breaker closer; a cancel does not. */
  counts: boolean;
}

/**
 * `automatic`: the window was nearly full. `tooLong`: the model's side refused the conversation.
 */
export type CompactionReason = "automatic" | "requested" | "tooLong";

/** A summary of the conversation is being written. */
export interface CompactionStarted {
  type: "compactionStarted";
  reason: CompactionReason;
}

/** How it stands with making room in the model's window. */
export interface CompactionState {
  /** A summary is being written. */
  running: CompactionReason | null;
  /** How many compactions have failed in a row; at three none is begun by itself any more. */
  failures: number;
  /** Tool output before this message is sent as placeholders. */
  clearedBefore: string | null;
  /** Since when: what was thought before was thought with all of it in sight. */
  clearedAt: Timestamp | null;
  /** What the last compaction carried on. */
  carried: Carried;
}

export type ContentBlock = TextBlock | ImageBlock | DocumentBlock | FileBlock;

/** How full the model's window is. */
export interface ContextUse {
  /**
   * What the next request would hold, counted by the server as far as it has answered and estimated
   * from there on; null: not known.
   */
  usedTokens: number | null;
  /** Null: not known. */
  window: number | null;
  compacting: CompactionReason | null;
  compactionFailures: number;
}

/**
 * A summary takes the place of what came before it, and a new chain begins (`parent` is null).
 *
 * The log keeps all of it: `logical_parent` is the message before, and the messages from
 * `kept_from` to that one stay in the conversation word for word. `state` is the session as it was,
 * without its history and what the reducer makes anew: a reader of the log can begin here.
 */
export interface ConversationCompacted {
  type: "conversationCompacted";
  id: string;
  /** The message before it; `null` at the start of the conversation. */
  parent: string | null;
  logicalParent: string | null;
  /** The first message that stays; null: none does. */
  keptFrom: string | null;
  /** The number of that message's event: how far back a reader must go. */
  keptFromSeq: number | null;
  summary: string;
  /** Entries of the conversation that the summary stands for. */
  messageCount: number;
  state: JsonObject;
  reason: CompactionReason;
  carried: Carried;
  /** Of the turns so far: a prompt that is sent again is known without what came before. */
  turnIds: readonly string[];
  /** What the model is told behind the summary: what was carried, the plan, the mode, files. */
  putBack: string;
  /** About how many the conversation took. */
  tokensBefore: number;
  tokensAfter: number;
}

/** Why a call was let through or not. */
export interface Decision {
  behaviour: "allow" | "deny";
  /** `host`: nobody could be asked, so the answer is no. */
  decidedBy: "user" | "rule" | "mode" | "host";
  reason: string;
  rule: string | null;
  clientId: string | null;
}

/**
 * `steer`: a running turn takes the prompt in before it asks the model next; where none runs, or it
 * ends before that, the prompt is a turn of its own like any other.
 */
export type Delivery = "queue" | "steer";

/** A document in a prompt: a PDF, which the model reads page by page. */
export interface DocumentBlock {
  type: "document";
  /** `application/pdf`. */
  mediaType: string;
  /** The file's bytes, base64. */
  data: string;
  /** How a person knows it. */
  name: string | null;
  /** How many pages it has, where that is known. */
  pages: number | null;
}

/** An event with its place: one line of the log, one notification to editors. */
export interface Envelope {
  /** Counts what is kept, from 1. A passing event bears the number of the last kept one. */
  seq: number;
  sessionId: string;
  /** `main`, or the chat of a subagent. */
  chatId: string;
  turnId: string | null;
  origin: Origin | null;
  at: Timestamp;
  event: SessionEvent;
}

/** A failure as a person reads it. */
export interface ErrorInfo {
  /** The error's class in agentls/errors.py, or `Bug`. */
  kind: string;
  message: string;
  retryable: boolean;
}

/** A tool call that did not succeed, so that it is not tried again blindly. */
export interface FailedAttempt {
  /** In one line: "Running pytest -q". */
  call: string;
  /** What came of it, with the lines of its output that say why. */
  outcome: string;
}

/** A lighter model answers until fast mode is left; null: it is left. */
export interface FastModeChanged {
  type: "fastModeChanged";
  model: string | null;
}

/** Have a lighter model answer, or the chosen one again. */
export interface FastModeSetParams {
  sessionId: string;
  enabled: boolean;
}

/** What holds now. */
export interface FastModeSetResult {
  model: ModelChoice;
}

export type FileAction = "restore" | "create" | "delete" | "mode" | "nothing";

/** What an @-mention in a prompt stands for, as it was when the turn began. */
export interface FileBlock {
  type: "file";
  what: "file" | "range" | "symbol" | "folder";
  /** Relative to the working folder for a file inside of it, else absolute. */
  path: string;
  /** The lines, the symbol's definition, or the names in the folder. */
  text: string;
  symbol: string | null;
  /** From 1; null for a folder. */
  firstLine: number | null;
  lastLine: number | null;
  /** What of it is not in `text`, and why, for the model. */
  leftOut: string | null;
}

/** A file that a tool call changed. */
export interface FileChange {
  /** Relative to the working folder for a file inside of it, else absolute. */
  path: string;
  kind: "created" | "modified" | "deleted";
  beforeSha256: string | null;
  afterSha256: string | null;
  addedLines: number;
  removedLines: number;
  /** `st_mode`, type bits included: of a link the content is where it leads. */
  beforeMode: number | null;
  afterMode: number | null;
  /** The content before it is kept, so that a rewind can bring it back. */
  restorable: boolean;
  /** How many folders, counted from the file up, were made with it; null: not known. */
  madeFolders: number | null;
  /** The bytes of a path that is not Unicode, percent-encoded. */
  rawPath: string | null;
}

/** Where a forked session comes from. */
export interface ForkOrigin {
  sessionId: string;
  /** The last message they share; null: none. */
  messageId: string | null;
}

/** A place where messages are missing, because the log was damaged. */
export interface Gap {
  type: "gap";
  id: string;
  at: Timestamp;
  /** The message that should come before the next one, and is not there. */
  missing: string;
}

/** What the model and the settings together allow at the moment. */
export interface Gates {
  /** How many calls that only read may run at once. */
  parallelReads: number;
  /** The model thinks before it answers. */
  thinking: boolean;
  /** The model that fast mode would choose; null: there is no fast mode here. */
  fastModel: string | null;
}

/** The model or the settings changed, and with them what is allowed. */
export interface GatesChanged {
  type: "gatesChanged";
  gates: Gates;
}

/** A rewind, its undoing, or a new beginning: the conversation goes on from elsewhere. */
export interface HeadMoved {
  type: "headMoved";
  /** The message it goes on from; null: from its start. */
  head: string | null;
  /** The head before. */
  previous: string | null;
  reason: "rewind" | "redo" | "clear";
  /** What it did to files. */
  changes: readonly FileChange[];
  /** What can be undone after it, the latest last. */
  redo: readonly RedoPoint[];
}

export type HistoryEntry = UserMessage | Answer | CallResult | Summary | Gap;

/** A picture in a prompt or in a tool's result. */
export interface ImageBlock {
  type: "image";
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mediaType: string;
  /** The file's bytes, base64. */
  data: string;
  /** How a person knows it. */
  name: string | null;
}

export type JsonObject = Record<string, JsonValue>;

/** Any JSON value. */
export type JsonValue =
  string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** What an import could not carry. */
export interface LeftOut {
  what: string;
  count: number;
  firstLine: number;
}

/** The answer that is being streamed. */
export interface LiveAnswer {
  messageId: string;
  model: string;
  parts: readonly LivePart[];
  /** How much of it is on disk, in Unicode code points. */
  kept: number;
  /** When the model's last word came, where that is a while ago. */
  stalledSince: Timestamp | null;
}

/** A part of an answer that is still being streamed. */
export interface LivePart {
  type: "text" | "thinking" | "redactedThinking" | "toolCall";
  id: string;
  /** The tool's name, for a tool call. */
  name: string | null;
  /** What has come so far; for a tool call, its input as unfinished JSON. */
  text: string;
}

/** One place in a log that could not be read as it was written. */
export interface LogDamage {
  /** From 1. */
  line: number;
  /** What was found and what was made of it, for a person. */
  what: string;
}

/**
 * A log was found damaged when it was opened; what could be read of it is loaded.
 *
 * The damaged bytes stay where they are: a log is mended by appending.
 */
export interface LogDamaged {
  type: "logDamaged";
  damage: readonly LogDamage[];
  /** Messages found less those that the last finished turn had counted; null: they agree. */
  messageCountDifference: number | null;
}

export type Mode = "default" | "acceptEdits" | "plan" | "dontAsk" | "bypassPermissions";

/** The permission mode is another one. */
export interface ModeChanged {
  type: "modeChanged";
  mode: Mode;
}

/** Choose a session's permission mode. */
export interface ModeSetParams {
  sessionId: string;
  mode: Mode;
}

/** What holds now. */
export interface ModeSetResult {
  mode: Mode;
}

/** Another model answers from the next model call on; null: the default again. */
export interface ModelChanged {
  type: "modelChanged";
  model: string | null;
  /** `user`: new sessions start with it too. */
  scope: "session" | "user";
}

/** Which model answers: the session's own choice, else the user's default. */
export interface ModelChoice {
  session: string | null;
  default: string | null;
  /** The lighter model that answers in place of both while fast mode is on. */
  fast: string | null;
}

/** A model that can be chosen. */
export interface ModelInfo {
  id: string;
  displayName: string;
  provider: string;
  /** `false` where a key is missing; choosing it says what to do. */
  available: boolean;
  /** Tokens; null: not known. */
  contextWindow: number | null;
  /** List price of a million input tokens, in US dollars; null: not known. */
  inputUsdPerMtok: number | null;
  outputUsdPerMtok: number | null;
}

/** List the models that can be chosen. */
export type ModelListParams = Record<string, never>;

/** The models known here. */
export interface ModelListResult {
  models: readonly ModelInfo[];
}

/** Choose a model, for one session or as the user's default; null takes a choice back. */
export interface ModelSetParams {
  sessionId: string;
  model: string | null;
  /** Default: `"session"`. */
  scope?: "session" | "user";
}

/** What holds now. */
export interface ModelSetResult {
  model: ModelChoice;
}

/** Something a person should know that belongs to no session. */
export interface Notice {
  id: string;
  level: "info" | "warning" | "error";
  message: string;
  at: Timestamp;
}

export type OptionKind = "allowOnce" | "allowSession" | "deny";

/** The client whose request caused an event, and that client's own number for it. */
export interface Origin {
  clientId: string;
  clientSeq: number | string | null;
}

/**
 * Text to be added to a part at `offset`, counted in Unicode code points.
 *
 * For a tool call the text is its input, as JSON, piece by piece.
 */
export interface PartDelta {
  type: "partDelta";
  partId: string;
  offset: number;
  text: string;
}

/** What a part of an answer has gained since it was last kept. */
export interface PartProgress {
  partId: string;
  type: "text" | "thinking" | "redactedThinking" | "toolCall";
  /** The tool's name, for a tool call. */
  name: string | null;
  /** Where `text` continues the part, in Unicode code points. */
  offset: number;
  text: string;
}

/** A part of the answer began; its text comes in deltas. */
export interface PartStarted {
  type: "partStarted";
  messageId: string;
  part: LivePart;
}

/** The mode, and the rules added in this session. */
export interface Permissions {
  mode: Mode;
  rules: readonly Rule[];
}

/** A queued prompt was taken up by a turn, its own or a running one, or the user removed it. */
export interface PromptDequeued {
  type: "promptDequeued";
  itemId: string;
  reason: "started" | "steered" | "removed";
}

/** A prompt waits for its turn. The item's id becomes the turn's. */
export interface PromptQueued {
  type: "promptQueued";
  itemId: string;
  content: readonly ContentBlock[];
  delivery: Delivery;
  /** `compact`: a compaction, and the content is what its summary should heed. */
  kind: QueuedKind;
}

/** Something that the model wants to know; another answer than those offered is possible. */
export interface Question {
  question: string;
  /** What it is about, in a word or two. */
  header: string;
  options: readonly QuestionOption[];
  multiSelect: boolean;
}

/** The user's answer to one question. */
export interface QuestionAnswer {
  /** Labels of the options chosen. */
  selected: readonly string[];
  /** In the user's own words. */
  other: string | null;
}

/** The user's answer to one question. */
export interface QuestionAnswerInput {
  /** Labels of the options chosen. Default: `[]`. */
  selected?: readonly string[];
  /** In the user's own words. */
  other?: string | null;
}

/** Answer the questions of a call, all of them. The first answer wins. */
export interface QuestionAnswerParams {
  sessionId: string;
  callId: string;
  /** One for each question, in their order; null: the user would not answer. */
  answers: readonly QuestionAnswerInput[] | null;
}

/** The answers are taken. */
export type QuestionAnswerResult = Record<string, never>;

/** An answer that the model offers. */
export interface QuestionOption {
  label: string;
  description: string;
}

/** Questions of one call, which are answered together. */
export interface Questions {
  callId: string;
  questions: readonly Question[];
  askedAt: Timestamp;
}

/** The first answer came; it settles the matter for every editor. */
export interface QuestionsAnswered {
  type: "questionsAnswered";
  /** The message it belongs to. */
  parent: string;
  callId: string;
  /** One for each question; null: the user would not answer. */
  answers: readonly QuestionAnswer[] | null;
  clientId: string | null;
}

/** A call waits for the user's answers. */
export interface QuestionsAsked {
  type: "questionsAsked";
  /** The message it belongs to. */
  parent: string;
  questions: Questions;
}

/** Take a prompt out of the queue. */
export interface QueueRemoveParams {
  sessionId: string;
  itemId: string;
}

/** The prompt is gone from the queue. */
export type QueueRemoveResult = Record<string, never>;

export type QueuedKind = "prompt" | "compact";

/** A prompt that waits for its turn. */
export interface QueuedPrompt {
  /** Becomes the turn's id. */
  id: string;
  content: readonly ContentBlock[];
  queuedAt: Timestamp;
  delivery: Delivery;
  kind: QueuedKind;
}

/** Reasoning that the API sent encrypted; it goes back as it came. */
export interface RedactedThinkingPart {
  type: "redactedThinking";
  id: string;
  data: string;
}

/** A rewind that can be undone. */
export interface RedoPoint {
  /** The head before it. */
  head: string | null;
  /** What it did to files. */
  changes: readonly FileChange[];
}

export type RetryCause =
  | "rateLimited"
  | "overloaded"
  | "serverFailed"
  | "connectionLost"
  | "unreachable"
  | "streamBroken";

/** The wait is over, and the model is asked again. */
export interface RetryEnded {
  type: "retryEnded";
  /** The message it belongs to. */
  parent: string;
}

/** The model will be asked again, after a wait. */
export interface RetryScheduled {
  type: "retryScheduled";
  /** The message it belongs to. */
  parent: string;
  retry: RetryWait;
}

/** A wait before the model is asked again. It can be cut short by a cancel. */
export interface RetryWait {
  cause: RetryCause;
  error: ErrorInfo;
  /** How many tries have failed for this cause. */
  attempt: number;
  /** How many tries there are, the first one included. */
  maxAttempts: number;
  delayMs: number;
  resumesAt: Timestamp;
  /**
   * The server asked for more time than a turn waits for in a row: the turn is put aside until
   * then, also over a restart, and goes on by itself.
   */
  parked: boolean;
}

export type RewindScope = "conversation" | "files" | "both";

/** What a rewind does to one file. */
export interface RewoundFile {
  /** Relative to the working folder for a file inside of it, else absolute. */
  path: string;
  action: FileAction;
  /** Why it is left alone unless it is forced; null: nothing stands against it. */
  conflict: string | null;
  /** It is open in an editor, which changes it there: its user can undo it, and saves it. */
  inEditor: boolean;
  /** Why it could not be done. */
  failed: string | null;
}

/** A permission rule and where it comes from. */
export interface Rule {
  behaviour: "allow" | "ask" | "deny";
  rule: string;
  source: string;
}

/** A permission rule holds from now on, for this session. */
export interface RuleAdded {
  type: "ruleAdded";
  behaviour: "allow" | "ask" | "deny";
  rule: string;
  /** Where it comes from, for a person: "approval in VS Code", "--allowed-tools". */
  source: string;
}

/** A place where the words were found. */
export interface SearchHit {
  sessionId: string;
  messageId: string | null;
  /** `prompt`, `answer`, `toolCall`, `toolResult`, `title`, `tag`, `summary`. */
  kind: string;
  at: Timestamp;
  /** The text around, the words found between « and ». */
  snippet: string;
}

/** A file that the agent has read or changed. */
export interface SeenFile {
  path: string;
  /** Of its content when it was read or changed last; null: it is gone. */
  sha256: string | null;
  /** By the agent. */
  changed: boolean;
}

/** What the server says of itself in `capabilities.experimental.agentls`. */
export interface ServerOptions {
  version: number;
  /** The name of this connection in origins and decisions. */
  clientId: string;
  view: ViewState;
}

/** Begin the conversation anew in the same session; a redo brings the old one back. */
export interface SessionClearParams {
  sessionId: string;
}

/** The conversation is empty. */
export interface SessionClearResult {
  /** Entries of the conversation that were left behind. */
  messages: number;
}

/** Take a session out of memory; a turn that runs is cancelled. It stays on disk. */
export interface SessionCloseParams {
  sessionId: string;
}

/** The session is closed and its log complete. */
export type SessionCloseResult = Record<string, never>;

/** Put a summary in the place of the conversation so far; a running turn is waited for. */
export interface SessionCompactParams {
  sessionId: string;
  /** What the summary should heed. */
  instructions?: string | null;
  /** As for a prompt. */
  turnId?: string | null;
}

/** The compaction is in the queue; it can be cancelled like a turn. */
export interface SessionCompactResult {
  turnId: string;
  /** Another turn runs first. */
  queued: boolean;
}

/** Open the session that was used last. */
export type SessionContinueParams = Record<string, never>;

/** The session as it stands. */
export interface SessionContinueResult {
  sessionId: string;
  snapshot: SessionSnapshot;
}

/** Go on although the session cannot be written just now; it is written when it can be. */
export interface SessionContinueUnsavedParams {
  sessionId: string;
}

/** The turn that waited goes on. */
export type SessionContinueUnsavedResult = Record<string, never>;

/** The session began. The first event of every log. */
export interface SessionCreated {
  type: "sessionCreated";
  session: SessionMeta;
  model: string | null;
}

/** Move a session to the trash. */
export interface SessionDeleteParams {
  sessionId: string;
}

/** The session is in the trash, from where it can be restored. */
export type SessionDeleteResult = Record<string, never>;

/** Text that was streamed, to be added to a part at `offset` (Unicode code points). */
export interface SessionDeltaParams {
  sessionId: string;
  chatId: string;
  seq: number;
  partId: string;
  offset: number;
  text: string;
}

/** A client fell too far behind: what it was not sent is all in this snapshot. */
export interface SessionDidResetParams {
  sessionId: string;
  snapshot: SessionSnapshot;
}

export type SessionEvent =
  | SessionCreated
  | PromptQueued
  | PromptDequeued
  | UserMessageReceived
  | TurnStarted
  | TurnFinished
  | RetryScheduled
  | RetryEnded
  | AnswerStarted
  | AnswerStalled
  | PartStarted
  | PartDelta
  | AnswerProgressed
  | AnswerFinished
  | UsageRecorded
  | CacheMissed
  | ApprovalRequested
  | ApprovalAnswered
  | QuestionsAsked
  | QuestionsAnswered
  | ToolCallStarted
  | ToolCallProgressed
  | ToolCallFinished
  | ToolResultIgnored
  | TodosChanged
  | TaskAdded
  | TaskStarted
  | TaskProgressed
  | TaskFinished
  | TasksEvicted
  | ToolOutputsCleared
  | CompactionStarted
  | ConversationCompacted
  | CompactionFailed
  | HeadMoved
  | TitleChanged
  | TagChanged
  | SidechainStarted
  | ModelChanged
  | FastModeChanged
  | GatesChanged
  | ModeChanged
  | RuleAdded
  | SessionResumed
  | LogDamaged
  | StorageFailed
  | StorageRecovered
  | AccessChanged;

/** Write a session down: as Markdown for people, or as JSON that can be imported. */
export interface SessionExportParams {
  sessionId: string;
  /** Default: `"markdown"`. */
  format?: "markdown" | "json";
}

/** The session in that format. */
export interface SessionExportResult {
  text: string;
}

/** Begin a session with a copy of another one up to a message. */
export interface SessionForkParams {
  sessionId: string;
  /** The last message of the copy, with its tool results; null: all of the conversation. */
  messageId?: string | null;
  newSessionId?: string | null;
}

/** The new session. */
export interface SessionForkResult {
  sessionId: string;
  snapshot: SessionSnapshot;
}

/** Take in a session of Claude Code (a `.jsonl` file), or one that agentls exported as JSON. */
export interface SessionImportParams {
  /** Absolute. */
  path: string;
}

/** The session that was made. */
export interface SessionImportResult {
  sessionId: string;
  messages: number;
  leftOut: readonly LeftOut[];
}

/** List the sessions of the workspace, newest first. */
export interface SessionListParams {
  /** Default: `50`. */
  limit?: number;
  /** From the `nextCursor` of the page before. */
  cursor?: string | null;
  /** Only those with this tag. */
  tag?: string | null;
  /** Those in the trash instead. Default: `false`. */
  trashed?: boolean;
}

/** One page of sessions. */
export interface SessionListResult {
  sessions: readonly SessionSummary[];
  nextCursor: string | null;
}

/** Open a saved session, or join one that is open. */
export interface SessionLoadParams {
  sessionId: string;
  /**
   * What to do where another process writes the session: an error, or follow it read-only. Default:
   * `"refuse"`.
   */
  ifInUse?: "refuse" | "follow";
}

/** The session as it stands; events after `snapshot.seq` follow as notifications. */
export interface SessionLoadResult {
  snapshot: SessionSnapshot;
}

/** What a session is from birth. */
export interface SessionMeta {
  id: string;
  createdAt: Timestamp;
  /** The working folder, relative to the workspace, `.` for the workspace itself. */
  cwd: string;
  agentlsVersion: string;
  gitBranch: string | null;
  platform: string;
  shell: string;
  forkedFrom: ForkOrigin | null;
  /** What it was imported from, for a person: "Claude Code, 2f1c….jsonl". */
  importedFrom: string | null;
}

/** Begin a session. An id the client made is honoured; asked again, the same session answers. */
export interface SessionNewParams {
  sessionId?: string | null;
  model?: string | null;
  mode?: Mode | null;
}

/** The new session. */
export interface SessionNewResult {
  sessionId: string;
  snapshot: SessionSnapshot;
}

/**
 * Send a prompt. While a turn runs it waits in the queue, or steers that turn.
 *
 * `@src/main.py`, `@src/main.py:10-20`, `@src/main.py#Symbol` and `@src/` in its text bring that
 * file, those lines, that definition, that folder's names along, as they are when the turn begins.
 */
export interface SessionPromptParams {
  sessionId: string;
  text: string;
  /** An id the client made; the same prompt sent again with it is not run twice. */
  turnId?: string | null;
  /** Default: `"queue"`. */
  delivery?: Delivery;
  /** Default: `[]`. */
  attachments?: readonly Attachment[];
}

/** The prompt is taken; everything after is an event. */
export interface SessionPromptResult {
  turnId: string;
  /** Another turn runs first. */
  queued: boolean;
}

/** Delete a session in the trash for good. */
export interface SessionPurgeParams {
  sessionId: string;
}

/** Nothing is left of the session. */
export type SessionPurgeResult = Record<string, never>;

/** Undo the last rewind, as long as nothing was prompted since. */
export interface SessionRedoParams {
  sessionId: string;
  /** Default: `false`. */
  dryRun?: boolean;
  /** Default: `[]`. */
  force?: readonly string[];
}

/** What was done, or would be. */
export interface SessionRedoResult {
  applied: boolean;
  /** The message that the conversation ends with. */
  head: string | null;
  /** The text of the prompt gone back to, to be edited and sent again. */
  prompt: string | null;
  /** Entries of the conversation that are left behind, or come back. */
  messages: number;
  files: readonly RewoundFile[];
}

/** Give a session a title. */
export interface SessionRenameParams {
  sessionId: string;
  title: string;
}

/** The session bears the title. */
export type SessionRenameResult = Record<string, never>;

/** Take a session out of the trash. */
export interface SessionRestoreParams {
  sessionId: string;
}

/** The session is in the list again. */
export type SessionRestoreResult = Record<string, never>;

/** A process opened the session and is its owner from here on; kept with its first change. */
export interface SessionResumed {
  type: "sessionResumed";
  agentlsVersion: string;
  /** How it was opened: `lsp`, `headless`. */
  face: string;
  gitBranch: string | null;
}

/** Go back to before a prompt. What has been since is kept, and a redo brings it back. */
export interface SessionRewindParams {
  sessionId: string;
  /** The prompt that is to be as if it had not been sent. */
  messageId: string;
  /** Default: `"both"`. */
  scope?: RewindScope;
  /** Change nothing; say what would be done. Default: `false`. */
  dryRun?: boolean;
  /**
   * Paths of files to be restored in spite of a conflict, as the preview names them. Default: `[]`.
   */
  force?: readonly string[];
}

/** What was done, or would be. */
export interface SessionRewindResult {
  applied: boolean;
  /** The message that the conversation ends with. */
  head: string | null;
  /** The text of the prompt gone back to, to be edited and sent again. */
  prompt: string | null;
  /** Entries of the conversation that are left behind, or come back. */
  messages: number;
  files: readonly RewoundFile[];
}

/** Search what was said and done in the workspace's sessions. */
export interface SessionSearchParams {
  /** Words, all of which must be there; "a phrase"; a beginn*. */
  query: string;
  /** Default: `20`. */
  limit?: number;
  /** Only in this session. */
  sessionId?: string | null;
}

/** The best matches first. */
export interface SessionSearchResult {
  hits: readonly SearchHit[];
}

/** The parts of a session that a view shows. */
export interface SessionSlices {
  model: ModelChoice;
  permissions: Permissions;
  todos: readonly Todo[];
  activity: Activity;
  usage: UsageTotals;
  approvals: readonly Approval[];
  questions: readonly Questions[];
  queue: readonly QueuedPrompt[];
  tasks: readonly Task[];
  context: ContextUse;
  gates: Gates;
  title: string | null;
  tag: string | null;
  access: Access;
  storage: StorageTrouble | null;
}

/** A session at one moment: all events up to `seq` are in it, none after. */
export interface SessionSnapshot {
  seq: number;
  state: SessionState;
  slices: SessionSlices;
}

/** Everything that is known of a conversation. */
export interface SessionState {
  meta: SessionMeta;
  title: string | null;
  tag: string | null;
  /** The message that the next one follows. */
  head: string | null;
  history: readonly HistoryEntry[];
  /** The calls of the latest answer, by id, in the order the model wrote them. */
  calls: Record<string, ToolCall>;
  live: LiveAnswer | null;
  queue: readonly QueuedPrompt[];
  turn: Turn | null;
  lastTurn: TurnResult | null;
  model: ModelChoice;
  permissions: Permissions;
  todos: readonly Todo[];
  variables: JsonObject;
  usage: UsageTotals;
  /** What runs in the background, and what has ended and the model has not been told of. */
  tasks: readonly Task[];
  compaction: CompactionState;
  gates: Gates;
  /** The rewinds that can be undone, the latest last. */
  redo: readonly RedoPoint[];
  access: Access;
  /** Why the session cannot be written just now; null: it is. */
  storage: StorageTrouble | null;
}

/** A saved session, as a list shows it. */
export interface SessionSummary {
  id: string;
  title: string | null;
  tag: string | null;
  /** Cut at 200 characters. */
  lastPrompt: string | null;
  createdAt: Timestamp;
  updatedAt: Timestamp;
  messageCount: number;
  model: string | null;
  gitBranch: string | null;
  /** All that it has used. */
  usage: Usage;
  /** The session it is a fork of. */
  forkedFrom: string | null;
  /** In memory of this server. */
  open: boolean;
}

/** Give a session a tag; null takes it away. */
export interface SessionTagParams {
  sessionId: string;
  tag: string | null;
}

/** The session bears the tag. */
export type SessionTagResult = Record<string, never>;

/** A subagent's conversation began; it has a log of its own, named by `chat_id`. */
export interface SidechainStarted {
  type: "sidechainStarted";
  /** The message it belongs to. */
  parent: string;
  chatId: string;
  /** The call that began it. */
  callId: string | null;
  title: string;
}

/** Whole values of the slices of a session that changed; nothing else is in the message. */
export interface StateDidChangeParams {
  sessionId: string;
  seq: number;
  model?: ModelChoice | null;
  permissions?: Permissions | null;
  todos?: readonly Todo[] | null;
  activity?: Activity | null;
  usage?: UsageTotals | null;
  approvals?: readonly Approval[] | null;
  questions?: readonly Questions[] | null;
  queue?: readonly QueuedPrompt[] | null;
  tasks?: readonly Task[] | null;
  context?: ContextUse | null;
  gates?: Gates | null;
  title?: string | null;
  tag?: string | null;
  access?: Access | null;
  storage?: StorageTrouble | null;
}

/** Ask for a session's whole state. */
export interface StateGetParams {
  sessionId: string;
}

/** The state of an open session. */
export interface StateGetResult {
  snapshot: SessionSnapshot;
}

/**
 * Why an answer ended: the Messages API's values of `stop_reason`, and three of ours.
 *
 * `cancelled`: the user stopped it. `interrupted`: the server ended in the middle of it; what had
 * come is kept. `cut`: the model's side broke off; its whole parts are kept, and the turn goes on.
 */
export type StopReason =
  | "endTurn"
  | "toolUse"
  | "maxTokens"
  | "stopSequence"
  | "refusal"
  | "contextWindow"
  | "cancelled"
  | "interrupted"
  | "cut"
  | "other";

/** The log cannot be written; the turn waits for room, or for the user to say go on. */
export interface StorageFailed {
  type: "storageFailed";
  trouble: StorageTrouble;
}

/** The log is written again, and complete. */
export interface StorageRecovered {
  type: "storageRecovered";
}

/** Why a session cannot be written just now; all of it is in memory and tried again. */
export interface StorageTrouble {
  message: string;
  since: Timestamp;
  unsavedBytes: number;
  /** The user said to go on all the same. */
  accepted: boolean;
}

/** What stands for the conversation before it, where that was compacted. */
export interface Summary {
  type: "summary";
  id: string;
  at: Timestamp;
  text: string;
  /** Entries it stands for. */
  messageCount: number;
  /** What the model is told behind it: what was carried, the plan, the mode, files. */
  putBack: string;
}

/** The session got a tag, by which lists are filtered; null takes it away. */
export interface TagChanged {
  type: "tagChanged";
  tag: string | null;
}

/** A command or an agent that runs in the background. */
export interface Task {
  /** The kind's letter and eight characters of 0-9a-z: `b3k9x0q2m`. */
  id: string;
  kind: TaskKind;
  /** What it is for, in a few words. */
  description: string;
  /** The shell command; null for an agent. */
  command: string | null;
  /** The tool call that made it. */
  callId: string | null;
  /** The agent's conversation; null for a command. */
  chatId: string | null;
  status: TaskStatus;
  startedAt: Timestamp | null;
  endedAt: Timestamp | null;
  /** Of a command that ended by itself; minus the signal's number, where a signal ended it. */
  exitCode: number | null;
  /** Why it was killed or failed, for a person. */
  reason: string | null;
  /** The file that holds its output, absolute. */
  outputPath: string | null;
  /** How much it has written in all. */
  outputBytes: number;
  /** The end of its output while it runs. */
  lastLines: string;
}

/** A task is about to begin; written before it does, so that a crash in it is seen. */
export interface TaskAdded {
  type: "taskAdded";
  task: Task;
}

/** The task has ended, whatever became of it. */
export interface TaskFinished {
  type: "taskFinished";
  taskId: string;
  /** `completed`, `failed` or `killed`. */
  status: TaskStatus;
  exitCode: number | null;
  reason: string | null;
  outputBytes: number;
  /** What it did to files after the call that made it had its result. */
  changes: readonly FileChange[];
  /** What was not looked at for changes, where something was not. */
  leftOut: string | null;
}

export type TaskKind = "shell" | "localAgent";

/** List what runs in a session's background. */
export interface TaskListParams {
  sessionId: string;
}

/** The tasks the session knows of. */
export interface TaskListResult {
  tasks: readonly Task[];
}

/** Read a task's output from an offset, also that of one that has ended. */
export interface TaskOutputParams {
  sessionId: string;
  taskId: string;
  /** In bytes. Default: `0`. */
  offset?: number;
  /** Bytes, at most. Default: `65536`. */
  limit?: number;
}

/** A piece of a task's output, as UTF-8; no character is cut in two. */
export interface TaskOutputResult {
  text: string;
  /** Where the next piece begins. */
  nextOffset: number;
  /** How much there is to read by now. */
  size: number;
  /** The task has ended: nothing comes after `size`. */
  finished: boolean;
}

/** A running task has written more; told at most once a second. */
export interface TaskProgressed {
  type: "taskProgressed";
  taskId: string;
  outputBytes: number;
  lastLines: string;
}

/** The task runs. */
export interface TaskStarted {
  type: "taskStarted";
  taskId: string;
}

/**
 * `pending`: on record, about to begin. The last three are final. `failed`: it ended by itself, and
 * says that it did not succeed. `killed`: it was ended.
 */
export type TaskStatus = "pending" | "running" | "completed" | "failed" | "killed";

/** End a task: its whole process group is asked to, and then made to. */
export interface TaskStopParams {
  sessionId: string;
  taskId: string;
}

/** The task as it is now. */
export interface TaskStopResult {
  task: Task;
}

/** The model has been told how these tasks ended: they leave the state, their output stays. */
export interface TasksEvicted {
  type: "tasksEvicted";
  taskIds: readonly string[];
}

/** Plain text in a prompt or in a tool's result. */
export interface TextBlock {
  type: "text";
  text: string;
}

/** Text of the model, Markdown. */
export interface TextPart {
  type: "text";
  id: string;
  text: string;
}

/** The model's reasoning; it goes back to the model exactly as it came, or not at all. */
export interface ThinkingPart {
  type: "thinking";
  id: string;
  text: string;
  signature: string;
}

/** A moment in UTC, ISO 8601 with milliseconds: 2026-11-30T14:56:35.123Z. */
export type Timestamp = string;

/** The session got a name. */
export interface TitleChanged {
  type: "titleChanged";
  title: string;
}

/** One line of the agent's plan. */
export interface Todo {
  /** What is to be done, in the imperative. */
  content: string;
  /** The same while it is being done: "Running the tests". */
  activeForm: string;
  status: TodoStatus;
}

export type TodoStatus = "pending" | "inProgress" | "completed";

/** The agent's plan was written anew. */
export interface TodosChanged {
  type: "todosChanged";
  /** The message it belongs to. */
  parent: string;
  todos: readonly Todo[];
}

/** A tool call from the moment the model has written it. */
export interface ToolCall {
  id: string;
  /** The answer that holds it. */
  messageId: string;
  name: string;
  /** What it is doing, in one line: "Reading src/main.py". */
  invocation: string;
  input: JsonObject;
  /** What the model wrote, where that is not a JSON object. */
  malformedInput: string | null;
  status: CallStatus;
  approval: Approval | null;
  decision: Decision | null;
  /** What the user is asked, where the call is a question. */
  questions: Questions | null;
  /** One for each question; null: none yet, or the user would not answer. */
  answers: readonly QuestionAnswer[] | null;
  /** The last lines of its output while it runs. */
  progress: string | null;
  outcome: CallOutcome | null;
  /** What it did, in one line: "Read 120 lines of src/main.py". */
  summary: string | null;
  /** What the model is told. */
  content: readonly ContentBlock[];
  changes: readonly FileChange[];
  /** What was not looked at for changes, where something was not. */
  leftOut: string | null;
  startedAt: Timestamp | null;
  finishedAt: Timestamp | null;
}

/** A call has its result, whatever became of it. */
export interface ToolCallFinished {
  type: "toolCallFinished";
  /** The message it belongs to. */
  parent: string;
  callId: string;
  outcome: CallOutcome;
  summary: string;
  content: readonly ContentBlock[];
  changes: readonly FileChange[];
  /** What was not looked at for changes, where something was not, for a person. */
  leftOut: string | null;
  /** Variables the call set, `tool:key`; null removes one. */
  variables: JsonObject;
  /** Why it did not run, where it did not. */
  decision: Decision | null;
}

/** A tool call as the model wrote it. */
export interface ToolCallPart {
  type: "toolCall";
  /** The call's id, by which approvals, progress and the result refer to it. */
  id: string;
  name: string;
  input: JsonObject;
  /** What the model wrote, where that is not a JSON object; `input` is then empty. */
  malformedInput: string | null;
}

/** A running call shows its latest output; it replaces what was shown before. */
export interface ToolCallProgressed {
  type: "toolCallProgressed";
  callId: string;
  text: string;
}

/** A call is about to run; written before it does, so that a crash in it is seen. */
export interface ToolCallStarted {
  type: "toolCallStarted";
  /** The message it belongs to. */
  parent: string;
  callId: string;
  invocation: string;
  decision: Decision;
}

/** The model is sent placeholders for old tool output and pictures; the session keeps them. */
export interface ToolOutputsCleared {
  type: "toolOutputsCleared";
  /** The message it belongs to. */
  parent: string;
  /** The first message whose results are sent in full. */
  before: string;
  /** About how many that saves. */
  tokens: number;
}

/** A result came for a call that was not running: it is remembered, and has no effect. */
export interface ToolResultIgnored {
  type: "toolResultIgnored";
  callId: string;
  /** `duplicate`: the call has one. `late`: it is an earlier answer's. `unknown`: no such call. */
  why: "duplicate" | "late" | "unknown";
  outcome: CallOutcome;
  summary: string;
  content: readonly ContentBlock[];
  changes: readonly FileChange[];
}

/** The turn that runs. */
export interface Turn {
  id: string;
  /** The user's message it works on. */
  messageId: string;
  startedAt: Timestamp;
  model: string;
  /** How often the model has answered in it. */
  rounds: number;
  kind: QueuedKind;
  /** What a compaction's summary should heed. */
  instructions: string | null;
  /** The wait before the model is asked again, while there is one. */
  retry: RetryWait | null;
  /** By cause, how often the model's side has failed since it last answered. */
  failedTries: Record<string, number>;
  /** By cause, how long was waited since then. */
  waitedMs: Record<string, number>;
  usage: Usage;
}

/** Stop a turn. One that still waits leaves the queue; one that has ended is not touched. */
export interface TurnCancelParams {
  sessionId: string;
  turnId: string;
}

/** Whether there was something to stop. */
export interface TurnCancelResult {
  cancelled: boolean;
}

/** The turn is over; the session takes the next prompt. */
export interface TurnFinished {
  type: "turnFinished";
  /** The message it belongs to. */
  parent: string;
  /** `interrupted`: the server ended while the turn ran, as found on the next load. */
  status: TurnStatus;
  error: ErrorInfo | null;
  /** Prompts, answers and tool results in the conversation at this point. */
  messageCount: number;
  durationMs: number;
  /** What its responses used, those of subagents and compactions included. */
  usage: Usage;
}

/** How the last turn ended. */
export interface TurnResult {
  id: string;
  status: TurnStatus;
  error: ErrorInfo | null;
  finishedAt: Timestamp;
  durationMs: number;
  usage: Usage;
}

/** The agent began to work on the message that is its parent; the envelope names the turn. */
export interface TurnStarted {
  type: "turnStarted";
  /** The message it belongs to. */
  parent: string;
  model: string;
  kind: QueuedKind;
  /** What a compaction's summary should heed. */
  instructions: string | null;
}

export type TurnStatus = "completed" | "cancelled" | "failed" | "maxTurns" | "interrupted";

/** Tokens and cost of one model response, or of several added up. */
export interface Usage {
  /** Those that no cache had. */
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /**
   * Billionths of a US dollar, an estimate by the list price at the time: whole numbers add up to
   * the same sum in any order.
   */
  costNanoUsd: number;
  /** Responses whose price is not known; the cost is that of the others. */
  unpricedResponses: number;
}

/** A model response was paid for; it counts on whatever branch it was given. */
export interface UsageRecorded {
  type: "usageRecorded";
  responseId: string;
  model: string;
  usage: Usage;
  /** Only an answer's usage says how full the window is. */
  purpose: "answer" | "compaction" | "subagent";
  /** The model's context window, in tokens, as far as it is known. */
  window: number | null;
}

/** What the session has used, in all and by model; every response counts once. */
export interface UsageTotals {
  total: Usage;
  byModel: Record<string, Usage>;
  responses: number;
  /** Of the latest response: what its request sent is the context in use. */
  last: Usage | null;
  lastResponseId: string | null;
  /** The context window of the model that answered last, in tokens, as far as it is known. */
  window: number | null;
}

/** The user's words, or a notice of agentls for the model. */
export interface UserMessage {
  type: "user";
  id: string;
  at: Timestamp;
  turnId: string | null;
  content: readonly ContentBlock[];
  author: Author;
}

/** The user's words entered the conversation, or a word of agentls about what has happened. */
export interface UserMessageReceived {
  type: "userMessageReceived";
  id: string;
  /** The message before it; `null` at the start of the conversation. */
  parent: string | null;
  content: readonly ContentBlock[];
  author: Author;
}

/** Change how this client looks at the agent; what is left out stays. */
export interface ViewSetParams {
  expandedView?: "none" | "todos" | "tasks" | null;
  verbose?: boolean | null;
  brief?: boolean | null;
  selectedCall?: string | null;
  footerFocus?: "prompt" | "todos" | "approvals" | null;
}

/** The client's whole view. */
export interface ViewSetResult {
  view: ViewState;
}

/** How one client looks at the agent; other clients never see it. */
export interface ViewState {
  /** Lasting: kept in the user's settings. */
  expandedView: "none" | "todos" | "tasks";
  /** Lasting: tool output in full. */
  verbose: boolean;
  /** Lasting: answers only, no tool calls. */
  brief: boolean;
  selectedCall: string | null;
  footerFocus: "prompt" | "todos" | "approvals";
}
