/**
 * What `import` loads: the same code as `require`, so that classes and agents are the same. `index.mts` has its types.
 *
 * Required and exported by name: if it were imported, Node would scan its text for exports, a quarter of the time of the import.
 * `bundle.mjs` writes `modules.js`.
 */

import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const {
  Agent,
  AgentError,
  Loop,
  OpenSession,
  Session,
  Store,
  Suspension,
  Tool,
  UiRequest,
  UiStream,
  audioBlock,
  complete,
  documentBlock,
  fromCanonical,
  imageBlock,
  main,
  models,
  replay,
  resume,
  run,
  setLog,
  streamComplete,
  tool,
  transcript,
  version,
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
} = require('./modules.js')('./index.js') as typeof import('./index.js')
