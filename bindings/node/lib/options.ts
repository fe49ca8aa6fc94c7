/** The options of agents and of stateless runs. */

import type { ToolContext } from './context.js'
import type { HookName, HookOfCalls, Hooks } from './hook.js'
import type { MessageInput } from './message.js'
import type { Middleware } from './middleware.js'
import type { ModelSpec } from './model-spec.js'
import type { OutputType } from './output.js'
import type { Provider } from './provider.js'
import type { SystemPrompt } from './requests.js'
import type { OpenSession, Session } from './session.js'
import type { RunOptions } from './signal.js'
import type { ExecutionMode, Tool } from './tool.js'
import type { TracerProvider } from './traces.js'

export type { ModelSpec, PriceTier } from './model-spec.js'

// <generated: words>

/** The values of the option `thinkingLevel`. */
export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh'

/** The values of the options `steeringMode` and `followUpMode`. */
export type QueueMode = 'one_at_a_time' | 'all'

/** The values of the option `steeringPolicy`. */
export type SteeringPolicy = 'skip_remaining' | 'after_batch'

// </generated>

/** The thinking budget of each level in tokens, for providers that take a number of tokens. */
export type ThinkingBudgets = { [level in Exclude<ThinkingLevel, 'off'>]?: number | undefined }

/** Whether the model may, must not or must call tools, or the one tool that it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string }

/** How requests reach the server; see `docs/network.md`. */
export interface Network {
  /** `http://user:password@host:port`; also https, socks5 and socks5h. False for none. */
  proxy?: string | false | undefined
  /** Hosts that are reached without the proxy. */
  noProxy?: string | string[] | undefined
  /** A PEM file with certificate authorities to trust in addition to `roots`. */
  caFile?: string | undefined
  /** A PEM file with the client certificate, for servers that require one. */
  clientCertificate?: string | undefined
  /** A PEM file with the key of `clientCertificate`, if it is not in the same file. */
  clientKey?: string | undefined
  /** The certificate authorities to trust: the operating system's (default), Mozilla's bundled list, or both. */
  roots?: 'system' | 'bundled' | 'both' | undefined
  /** IP addresses by host name, used instead of DNS. */
  resolve?: Record<string, string> | undefined
}

/** What a model reads of a long conversation; see `docs/context.md`. */
export interface ContextPolicy {
  /** The most tokens of a request, as they are estimated; what the model's window leaves beside the answer by default. */
  maxTokens?: number | undefined
  /** How many exchanges before the current one are kept; 2 by default. */
  keepLast?: number | undefined
  /** The most tokens of a tool's result that a request has at once; 12,000 by default, 0 for no limit. */
  maxResultTokens?: number | undefined
  /** The tools whose last call is kept; `scratch_pad` by default. */
  keepTools?: readonly string[] | undefined
  /** Whether a model writes a summary of what is left out, which takes its place. */
  compact?: boolean | undefined
  /** Whether a model writes a summary of a tool's result that is too long, in place of its beginning and its end. */
  summarizeResults?: boolean | undefined
  /** The model that writes summaries, `provider/id`; the run's own by default. */
  summaryModel?: string | undefined
}

/**
 * Which tool calls run, which wait for a decision, and which are refused: rules, `tool` or `tool(pattern)`; see `docs/gate.md`.
 */
export interface Gate {
  /** These calls run, whatever their tool's `needsApproval` says. */
  allow?: readonly string[] | undefined
  /** These calls wait for a decision. */
  ask?: readonly string[] | undefined
  /** These calls do not run. */
  deny?: readonly string[] | undefined
}

/** The limits of one key of a provider; see `docs/limiter.md`. */
export interface CallLimits {
  /** How many requests may begin in a minute. */
  requestsPerMinute?: number | undefined
  /** How many tokens requests and answers may have in a minute. */
  tokensPerMinute?: number | undefined
  /** How many calls may be under way. */
  maxConcurrent?: number | undefined
}

/** Limits that the model calls of several agents have in common; see `docs/limiter.md`. */
export interface Limiter extends CallLimits {
  /** Sets it apart from another one with the same limits. */
  name?: string | undefined
  /** What holds for a provider in its place, by its name. */
  providers?: Readonly<Record<string, CallLimits>> | undefined
}

/** Where runs are recorded; see `docs/recording.md`. */
export interface RecordOptions {
  path: string
  /** Whether the frames of the models' answers are recorded as the providers sent them. */
  frames?: boolean | undefined
}

/** Which recording is played; see `docs/recording.md`. */
export interface ReplayOptions {
  path: string
  /** The first run of the file to be played: 1, 2, 3 … */
  run?: number | undefined
}

/** How access to a server of the Model Context Protocol is had that wants a sign-in: see `docs/mcp-sign-in.md`. */
export interface McpOAuth {
  /** Whether a user signs in, which is the default, or the program has an account of its own. */
  grant?: 'authorization_code' | 'client_credentials' | undefined
  /** The client id at the authorization server. Default: dynamic registration. */
  clientId?: string | undefined
  clientSecret?: string | undefined
  /** The scopes to ask for. Default: those that the server says it needs. */
  scopes?: readonly string[] | undefined
  /** Where the authorization server sends the user's browser. Default: a free port of 127.0.0.1, where the engine listens. */
  redirectUri?: string | undefined
  /** The name that the user reads when they sign in. Default: `agent-loop`. */
  clientName?: string | undefined
  /** The address of a client ID metadata document, used as the client id where the authorization server supports that. */
  clientMetadataUrl?: string | undefined
  /** The file that keeps the tokens, one per server. */
  tokensFile?: string | undefined
}

/** Built-in tools for files, commands and notes, and the folder they stay in. See `docs/builtin-tools.md`. */
export interface BuiltinTools {
  /** The names of the tools. */
  tools?: readonly string[] | undefined
  /** The folder they stay in. Default: the current one. */
  root?: string | undefined
  /** The time limit of a command, in milliseconds, unless its call asks for another one. Default: 120,000. */
  commandTimeoutMs?: number | undefined
  /** Environment variables of commands. They have few of this process, and none that may be a key. */
  env?: Readonly<Record<string, string>> | undefined
  /** Whether commands run in a sandbox: `'auto'`, where the system has one. Default: `'auto'`. */
  sandbox?: 'auto' | 'required' | 'off' | undefined
  /** Whether commands in the sandbox have a network. Default: true. */
  network?: boolean | undefined
  /** Files and folders outside of the root that commands in the sandbox may read, and run programs of. */
  readable?: readonly string[] | undefined
  /** Those that they may also change. */
  writable?: readonly string[] | undefined
  /** Whether `fetch_url` may ask servers in private networks, those of this machine included. Default: false. */
  privateAddresses?: boolean | undefined
  /** The model that `oracle` asks: `provider/id`, or a model in JSON. Default: that of the agent. */
  oracle?: string | undefined
}

/** A write of a built-in tool that was taken back. */
export interface UndoneWrite {
  /** The file, relative to the root; of a commit its id. */
  path: string
  /** `removed` if the write had created it; `uncommitted` of a commit, whose changes are staged again. */
  action: 'removed' | 'restored' | 'uncommitted'
  /** The call that had written it. */
  toolCallId: string
}

/** A write of a built-in tool that cannot be taken back. */
export interface RefusedUndo {
  /** The file, relative to the root; of a commit its id. */
  path: string
  reason: string
}

/** What `Agent.undoWrites` has done. */
export interface UndoneWrites {
  /** The writes that were taken back, the newest first. */
  undone: UndoneWrite[]
  /** The write at which it has stopped, as that one cannot be taken back. */
  refused: RefusedUndo | null
}

/** A server of the Model Context Protocol: `command` or `url` is required. See `docs/mcp.md`. */
export interface McpServer {
  /** The program that is started, and whose standard input and output are the connection. */
  command?: string | undefined
  args?: readonly string[] | undefined
  /** Environment variables, beside the few that it gets in any case. */
  env?: Readonly<Record<string, string>> | undefined
  cwd?: string | undefined
  /** The address of a server that is reached over HTTP. */
  url?: string | undefined
  headers?: Readonly<Record<string, string>> | undefined
  /** How access is had, if the server wants a sign-in: the hook `onMcpSignIn` shows the user where. */
  oauth?: boolean | McpOAuth | undefined
  name?: string | undefined
  /** What the names of all its tools begin with. */
  prefix?: string | undefined
  include?: readonly string[] | undefined
  exclude?: readonly string[] | undefined
  offer?: readonly ('tools' | 'resources' | 'prompts')[] | undefined
  /** Which calls wait for a decision: those of these tools. Default: `never`. */
  approval?: 'never' | 'destructive' | 'always' | readonly string[] | undefined
  timeoutMs?: number | undefined
  connectTimeoutMs?: number | undefined
  /** Whether runs go on without its tools when it cannot be reached. */
  optional?: boolean | undefined
  /** Whether agents whose servers are described alike have one together. */
  shared?: boolean | undefined
}

/** How an agent is served as a server of the Model Context Protocol: see `Agent.serveMcp`. */
export interface McpServing {
  /** The name of the tool that the agent is. Default: `ask`. */
  name?: string | undefined
  /** What it is described by, for the models of clients. */
  description?: string | undefined
  /** What the server calls itself. Default: `agent-loop`. */
  serverName?: string | undefined
  /** Whether the agent's own tools are there, too, one by one. Default: false. */
  tools?: boolean | undefined
  /** Whether calls go on with the agent's own conversation; they take turns then. Default: false. */
  keepConversation?: boolean | undefined
}

/** A tool that a server of the Model Context Protocol gives an agent: see `Agent.mcpTools`. */
export interface McpToolInfo {
  /** The name by which the model calls it. */
  name: string
  /** The server, by the name that messages have for it. */
  server: string
  /** The name that the server has for it; null for a tool that stands for the server's resources or prompts. */
  serverTool: string | null
  description: string
  inputSchema: Record<string, any>
  /** What the server says about it, as MCP has it (`readOnlyHint`, `destructiveHint` and others). */
  annotations: Record<string, any> | null
  /** Whether its calls wait for a decision. */
  needsApproval: boolean
}

/** The hooks, as options. */
export type HookOptions = { [Name in HookName]?: Hooks[Name] | null | undefined }

/** Those of a single model call. */
export type CallHooks = Pick<HookOptions, HookOfCalls>

/** The options of runs and of single model calls. */
export interface CallSettings extends CallHooks {
  /** A custom provider: answers requests in place of the model's server. `model` may then have any name. */
  provider?: Provider | undefined
  /** Custom providers by name, `{ mine: f }` for all models `mine/…`, also of `fallbacks`. */
  providers?: Readonly<Record<string, Provider>> | undefined

  // <generated: options of calls>
  /** The model: `provider/id`, or an object where that is not enough. */
  model: string | ModelSpec
  /** The server's address, with or without `/v1`. With one, a key is optional. Default: the provider's. */
  baseUrl?: string | undefined
  /**
   * The API key; `"keyring"` for what `agent auth login` has stored for the provider. Default: the provider's environment
   * variable.
   */
  apiKey?: string | undefined
  /**
   * Models that are called in this order when the model fails before its first content and no retry is left. One of the same
   * provider uses the agent's address and key, another one its own. Default: none.
   */
  fallbacks?: readonly (string | ModelSpec)[] | undefined
  /** Headers of each request, beside those that are sent anyway, or in their place. Default: none. */
  headers?: Record<string, string> | undefined
  /** Proxy, certificates and name resolution. Default: the environment's proxy variables and the system's certificates. */
  network?: Network | undefined
  /**
   * Limits that the model calls of several agents have in common: those of one runtime share a limiter of the same value.
   * Default: none.
   */
  limiter?: true | Limiter | undefined
  /** The file to which each run is appended, for `replay`. Default: none. */
  record?: string | RecordOptions | undefined
  /** The recording from which models answer, instead of their servers: for tests. Default: none. */
  replay?: string | ReplayOptions | undefined
  /** Whether runs, model calls and tool calls are spans and measurements of OpenTelemetry. Default: none. */
  traces?: boolean | TracerProvider | undefined
  /**
   * Whether spans also have the texts of messages, arguments and results. Default: what
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, or else `false`.
   */
  traceContent?: boolean | undefined
  /**
   * The value of a `traceparent` header, as W3C has it: the caller's trace, which the spans of runs join. Default: the trace of
   * the code that starts the run.
   */
  traceparent?: string | undefined
  /** The agent's name, in its spans. Default: of a subagent, the name of its tool; else none. */
  agentName?: string | undefined
  /**
   * The token budget of each level, for models whose thinking has one. Levels that are left out keep their default. Default:
   * 1,024, 2,048, 8,192, 16,384 and 32,768 tokens from `minimal` to `xhigh`.
   */
  thinkingBudgets?: ThinkingBudgets | undefined
  /** The sampling temperature; 0 is sent as 0. Default: the provider's. */
  temperature?: number | undefined
  /**
   * Nucleus sampling: tokens are chosen from the most probable ones that together have this probability, from 0 to 1. Default:
   * the provider's.
   */
  topP?: number | undefined
  /** Tokens are chosen from so many of the most probable ones. Default: the provider's. */
  topK?: number | undefined
  /** The same request with the same seed gets the same answer, as far as the provider can. Default: none. */
  seed?: number | undefined
  /** How much less probable a token becomes each time it is written, from -2 to 2. Default: the provider's. */
  frequencyPenalty?: number | undefined
  /** How much less probable a token becomes once it has been written, from -2 to 2. Default: the provider's. */
  presencePenalty?: number | undefined
  /**
   * The most tokens of a message, of thinking and answer together. Raised where a thinking budget would leave none for the
   * answer. Default: the provider's.
   */
  maxTokens?: number | undefined
  /** Texts that end the answer when the model writes them. Default: none. */
  stopSequences?: readonly string[] | undefined
  /**
   * Whether the model may, must or must not call tools, or the one that it must call: `"auto"`, `"required"`, `"none"` or
   * `{"tool": name}`. What it must call is asked for until the first such call of a run. Default: the provider's.
   */
  toolChoice?: ToolChoice | undefined
  /** Identifies the conversation to providers that cache or route by it. Default: none. */
  sessionId?: string | undefined
  /** How long the provider is asked to cache the prompt. One of `short`, `long`, `none`. Default: `short`. */
  cacheRetention?: 'short' | 'long' | 'none' | undefined
  /**
   * Fields of the body of each request, for what no option is there: `{"service_tier": "flex"}`. An object is merged into the one
   * that is sent, null removes a field, and all else replaces it. Not the fields that the engine decides, such as `messages`,
   * `tools` and `stream`. Default: none.
   */
  extraBody?: Record<string, unknown> | undefined
  /**
   * Tools that the provider runs itself, each as the provider describes it: `{"type": "web_search"}`, `{"google_search": {}}`.
   * One in the words of another wire format is left out of a request. Default: none.
   */
  hostedTools?: readonly Record<string, unknown>[] | undefined
  /** How much thinking to ask for. One of `off`, `minimal`, `low`, `medium`, `high`, `xhigh`. Default: `off`. */
  thinkingLevel?: ThinkingLevel | undefined
  /** Whether each frame is also emitted as the provider sent it, as a `raw` event. Default: false. */
  rawEvents?: boolean | undefined
  /** The most bytes of a tool result's text that the model receives; a longer text is shortened. Default: 50,000. */
  maxResultBytes?: number | undefined
  /** The most bytes of a model's message; one that grows larger is cut off with an error. Default: 67,108,864. */
  maxMessageBytes?: number | undefined
  /** The most bytes of the transcript, as JSON, that a model is called with; 0 for no limit. Default: 0. */
  maxTranscriptBytes?: number | undefined
  /** How long an aborted run waits for its tools, and for each listener, in milliseconds. Default: 1,000. */
  abortGraceMs?: number | undefined
  /** The time limit for opening a connection, in milliseconds; 0 for none. Default: 10,000. */
  connectTimeoutMs?: number | undefined
  /** The time limit until the first byte of a model's response, in milliseconds; 0 for none. Default: 120,000. */
  firstByteTimeoutMs?: number | undefined
  /** The time limit between two bytes of a model's response, in milliseconds; 0 for none. Default: 120,000. */
  idleTimeoutMs?: number | undefined
  /** The time limit of one attempt of a model call, in milliseconds; 0 for none. Default: 600,000. */
  requestTimeoutMs?: number | undefined
  /** The time limit of a run, in milliseconds; 0 for none. Default: 0. */
  runTimeoutMs?: number | undefined
  /** How long a run waits for a listener, and for `afterRun`, in milliseconds; 0 for no limit. Default: 30,000. */
  listenerTimeoutMs?: number | undefined
  /** The most retries of a failed model call. Default: 2. */
  maxRetries?: number | undefined
  /** The upper bound of the first backoff, in milliseconds; it doubles with each retry. Default: 500. */
  retryBaseMs?: number | undefined
  /** The longest backoff, in milliseconds; a call whose provider demands a longer one fails. Default: 60,000. */
  maxRetryDelayMs?: number | undefined
  // </generated>
}

/**
 * The options of runs. Times are in milliseconds; a limit of 0 means no limit. An option that a model does not support is not
 * sent; a `diagnostic` event with the code `option_ignored` reports it, once per run.
 */
export interface Settings extends CallSettings, HookOptions {
  /** Functions around the execution of tools, the outermost first. */
  middleware?: readonly Middleware[] | undefined
  /** Anything of yours that tools and hooks find as `context.deps`. */
  deps?: unknown

  // <generated: options of runs>
  /** Built-in tools for files, commands and notes, by their names. Default: none. */
  builtinTools?: readonly string[] | BuiltinTools | undefined
  /** Servers of the Model Context Protocol, whose tools are the agent's. Default: none. */
  mcp?: readonly McpServer[] | undefined
  /**
   * What the idempotency keys of the conversation's tool calls begin with. Give it to stateless runs that go on with one
   * conversation, and each conversation its own. Default: the id of the conversation's first run.
   */
  origin?: string | undefined
  /** The most turns of one run; 0 for no limit. Default: 10. */
  maxTurns?: number | undefined
  /**
   * How many identical tool calls in a row, of name and arguments, end the run with outcome `stopped`; 0 for no limit. The calls
   * run; polling a state is such a row, too. Default: 0.
   */
  maxRepeatedCalls?: number | undefined
  /** How many levels of subagents may be below a run; 0: its tools that run an agent give an error result. Default: 4. */
  maxSubagentDepth?: number | undefined
  /**
   * How many messages one poll takes from the steering queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
   * `one_at_a_time`.
   */
  steeringMode?: QueueMode | undefined
  /**
   * How many messages one poll takes from the follow-up queue: the oldest one, or all. One of `one_at_a_time`, `all`. Default:
   * `one_at_a_time`.
   */
  followUpMode?: QueueMode | undefined
  /**
   * Which tool calls run, which wait for a decision, and which are refused: rules such as `run_command(git push *)`. What no rule
   * is about is as the tool's `needs_approval` says. Default: none.
   */
  gate?: Gate | undefined
  /**
   * What steering does to tool calls that have not started: they are skipped, or run first. One of `skip_remaining`,
   * `after_batch`. Default: `skip_remaining`.
   */
  steeringPolicy?: SteeringPolicy | undefined
  /**
   * Whether the tool calls of a message run concurrently or sequentially. One of `parallel`, `sequential`. Default: `parallel`.
   */
  toolExecution?: ExecutionMode | undefined
  /** The most tool calls that run concurrently. Default: 8. */
  maxParallelTools?: number | undefined
  /**
   * How tool arguments are validated: `coerce` also converts texts to what the schema asks for ("5" to 5), `strict` does not,
   * `off` checks nothing. One of `coerce`, `strict`, `off`. Default: `coerce`.
   */
  validation?: 'coerce' | 'strict' | 'off' | undefined
  /**
   * The most bytes of a tool's result that are kept, its details included; a larger one becomes an error result. Default:
   * 16,777,216.
   */
  maxResultBytesKept?: number | undefined
  /**
   * Keeps each request within a number of tokens: of a long conversation the oldest exchanges are left out of it. The transcript
   * keeps them. Default: none: a request has all messages.
   */
  context?: true | ContextPolicy | undefined
  /**
   * The type of a run's final answer: a JSON Schema, or an object where that is not enough. The result has it as `output`.
   * Default: none: the answer is text.
   */
  output?: OutputType | undefined
  /** How often the model may correct a final answer that does not fit `output`. Default: 2. */
  outputRetries?: number | undefined
  /** The time limit of a tool call, in milliseconds; 0 for none. Default: 0. */
  toolTimeoutMs?: number | undefined
  /** How many US dollars a run may use before it makes no further model call. Its models need prices. Default: no limit. */
  maxCost?: number | undefined
  /** How many tokens a run may use, of prompts and answers, before it makes no further model call. Default: no limit. */
  maxTotalTokens?: number | undefined
  /** How many tokens a run may use for answers, thinking included, before it makes no further model call. Default: no limit. */
  maxOutputTokensTotal?: number | undefined
  /** The most tool calls of a run: those over it get an error result, and no further model call is made. Default: no limit. */
  maxToolCalls?: number | undefined
  /** After how many milliseconds a run makes no further model call. What is under way goes on. Default: no limit. */
  maxRunMs?: number | undefined
  // </generated>
}

/** The options of an agent. */
export interface AgentOptions extends Settings {
  /** The tools that the model may call. */
  tools?: readonly Tool[] | undefined
  /**
   * The session that keeps the conversation: the agent goes on from there, and each change is written before it has an effect.
   * One that is not open, `store.session(id)`, is opened by the constructor, which waits for it; sessions in Postgres and in
   * stores of your own must be open, `await store.session(id).open()`.
   */
  session?: Session | OpenSession | null | undefined

  /** Paths of plugins: shared libraries that add tools, hooks and providers; see `Agent.addPlugin`. */
  plugins?: readonly string[] | undefined

  // <generated: options of agents>
  /** The conversation so far. Not during a run. Default: none. */
  messages?: readonly MessageInput[] | undefined
  /** The text that precedes the messages: instructions for the model. Default: none. */
  systemPrompt?: string | SystemPrompt | undefined
  // </generated>
}

/** The options that `Agent.setOptions` does not change. */
type SetElsewhere = HookName | 'tools' | 'messages' | 'session' | 'middleware' | 'provider' | 'providers' | 'plugins' | 'deps'

/** The options that `Agent.setOptions` changes. Tools, hooks, middleware and the conversation have their own methods. */
export type OptionChanges = Partial<Omit<AgentOptions, SetElsewhere>>

/** What is the agent's, and the same for all of its runs. */
type OfAgents =
  | SetElsewhere
  | 'model'
  | 'baseUrl'
  | 'apiKey'
  | 'fallbacks'
  | 'network'
  | 'record'
  | 'replay'
  | 'origin'

/** The options of one run, in place of those of its agent. An undefined one is the default, whatever the agent has. */
export interface PromptOptions extends Partial<Omit<AgentOptions, OfAgents | 'systemPrompt'>>, RunOptions {
  /** The text that precedes the messages. */
  systemPrompt?: string | undefined
  /** Anything of yours that tools and hooks of this run find as `context.deps`. */
  deps?: unknown
  /** What the tool gets as its second argument that runs the agent, as the subagent of its call: see {@link Agent.asTool}. */
  within?: ToolContext | undefined
}
