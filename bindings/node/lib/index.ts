/**
 * agent-loop: the LLM agent loop as a native library.
 *
 * ```ts
 * const agent = new Agent({ model: 'anthropic/claude-sonnet-4-5', tools: [weather] })
 * for await (const event of agent.stream('Rain in Oslo?')) {
 *   if (event.type === 'text_delta') process.stdout.write(event.delta)
 * }
 * const { text, usage } = await agent.prompt('And in Bergen?')
 * ```
 *
 * @packageDocumentation
 */

export { Agent } from './agent.js'
export type { Listener } from './callbacks.js'
export { fromCanonical } from './canonical.js'
export type { CanonicalEvent, CanonicalMessage, CanonicalOf, CanonicalResult } from './canonical.js'
export {
  AgentError,
  // <generated: error classes>
  AuthenticationError,
  PermissionError,
  NotFoundError,
  InvalidRequestError,
  ContextOverflowError,
  RateLimitedError,
  QuotaError,
  OverloadedError,
  ServerError,
  TimeoutError,
  ConnectionError,
  TlsError,
  StreamTruncatedError,
  ProtocolError,
  ProviderError,
  CallbackError,
  LimitError,
  InvalidArgumentError,
  InvalidStateError,
  BusyError,
  AbortedError,
  IoError,
  DamagedError,
  NewerVersionError,
  ReplayError,
  PanicError,
  // </generated>
} from './errors.js'
export type { ErrorInfo, ErrorKind } from './errors.js'
export { audioBlock, documentBlock, imageBlock } from './file.js'
export type { DocumentOptions, FileInput, FileOptions } from './file.js'
export type * from './event.js'
export type {
  ApiKey,
  HookAnswer,
  HookName,
  Hooks,
  // <generated: types of hooks>
  AfterToolCall,
  ApprovalRequest,
  BeforeToolCall,
  Failure,
  InterruptedCall,
  InterruptedDecision,
  McpElicitation,
  McpElicited,
  McpSampled,
  McpSampling,
  McpSignIn,
  NextRequest,
  Payload,
  ResponseHead,
  ToolDecision,
  ToolOverride,
  TurnChange,
  TurnSummary,
  // </generated>
} from './hook.js'
export { setLog } from './log.js'
export type { LogCode, LogLevel, LogRecord } from './log.js'
export { complete, streamComplete } from './complete.js'
export type { CompleteOptions, StreamCompleteOptions, ToolDescription } from './complete.js'
export { replay } from './recording.js'
export type { ReplayRunOptions } from './recording.js'
export { resume, run } from './stateless.js'
export type { Context, LoopOptions, LoopResumeOptions } from './stateless.js'
export { Suspension } from './suspension.js'
export type { Decision, Decisions, Remembered, ResumeOptions, StreamResumeOptions, SuspendedCall } from './suspension.js'
export type * from './message.js'
export { Loop } from './loop.js'
export type { LoopChanges, LoopHook, LoopStart, LoopTool } from './loop.js'
export { main } from './program.js'
export type { AgentSpec } from './program.js'
export { models } from './models.js'
export type { KnownModel } from './models.js'
export type { FullToolResult, Middleware, MiddlewareCall } from './middleware.js'
export type {
  AgentOptions,
  CallHooks,
  CallLimits,
  CallSettings,
  ContextPolicy,
  Gate,
  HookOptions,
  Limiter,
  McpOAuth,
  BuiltinTools,
  McpServer,
  McpServing,
  McpToolInfo,
  ModelSpec,
  Network,
  OptionChanges,
  PriceTier,
  PromptOptions,
  QueueMode,
  RecordOptions,
  RefusedUndo,
  ReplayOptions,
  Settings,
  SteeringPolicy,
  ThinkingBudgets,
  ThinkingLevel,
  ToolChoice,
  UndoneWrite,
  UndoneWrites,
} from './options.js'
export type { ModelChunk, ModelContext, ModelEnd, ModelRequest, ModelUsage, Provider } from './provider.js'
export type { SystemPrompt } from './requests.js'
export type { OutputOf, OutputSchema, OutputSpec, OutputType } from './output.js'
export type { Delivery, Run, RunResult } from './run.js'
export type {
  ArgumentsOf,
  FromSchema,
  InputOf,
  JsonSchema,
  ObjectSchema,
  ParametersSchema,
  ResultOf,
  SubSchema,
} from './schema.js'
export { OpenSession, Session } from './session.js'
export type {
  Follow,
  Followed,
  FollowOptions,
  ForkOptions,
  InterruptedRun,
  JournalEntry,
  JournalRecord,
  LiveEvent,
  OpenCall,
  RecordsOptions,
  SalvagedSession,
  SessionChanges,
  SessionDiagnostic,
} from './session.js'
export { Store } from './store.js'
export type {
  CustomStoreOptions,
  ImportOptions,
  ListOptions,
  SessionInfo,
  SessionPage,
  StoreOptions,
} from './store.js'
export type {
  HeldLease,
  LeaseRequest,
  StoreBackend,
  StoreLease,
  StoreQuery,
  StoredInfo,
  StoredLine,
  StoredPage,
} from './store-backend.js'
export type { StandardIssue, StandardJsonSchema, StandardResult, StandardSchema } from './standard.js'
export type { RunOptions, StreamOptions } from './signal.js'
export { Tool, tool } from './tool.js'
export type { ExecutionMode, NeedsApproval, OnInterrupted, ToolOptions, ToolResult, ToolSubject } from './tool.js'
export type { ToolRunOptions } from './tool-run.js'
export type { HandoffOptions, SubagentOptions } from './subagent.js'
export type * from './steps.js'
export type { TracerProvider } from './traces.js'
export * as transcript from './transcript.js'
export { UiRequest, UiStream } from './ui.js'
export type { UiMessagesOptions, UiOptions, UiProtocol, UiRequestOptions, UiSink, UiStreamOptions } from './ui.js'
export type { HookContext, ToolContext } from './context.js'

import { native } from './native.js'

/** The version of this package. */
export const version: string = native.version()
