// Tests of the types of canonical JSON: compiled as a browser's program, never run. Lines that must not compile are marked.

import { fromCanonical } from 'agent-loop/canonical'
import type { AgentEvent, CanonicalEvent, CanonicalMessage, CanonicalOf, CanonicalResult, Usage } from 'agent-loop/canonical'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<T extends true>(): T | void {}

declare const text: string
const received = JSON.parse(text) as CanonicalEvent
if (received.type === 'tool_execution_end') {
  check<Equal<typeof received.tool_call_id, string>>()
  check<Equal<typeof received.is_error, boolean>>()
  check<Equal<typeof received.duration_ms, number>>()
  check<Equal<typeof received.result.details, unknown>>()
  // @ts-expect-error canonical names are in snake case
  received.toolCallId
}
if (received.type === 'agent_end') {
  check<Equal<typeof received.usage.cache_read, number>>()
  check<Equal<typeof received.outcome, Extract<AgentEvent, { type: 'agent_end' }>['outcome']>>()
  const [first] = received.messages
  if (first?.role === 'tool_result') check<Equal<typeof first.tool_name, string>>()
  // @ts-expect-error JSON has no methods
  received.toJSON()
}
if (received.type === 'tool_execution_start') check<Equal<typeof received.arguments, Record<string, unknown>>>()
check<Equal<CanonicalOf<Usage>['cache_write'], number>>()

const event = fromCanonical(received)
check<Equal<typeof event, AgentEvent>>()
if (event.type === 'tool_execution_start') check<Equal<typeof event.toolName, string>>()

declare const message: CanonicalMessage
const read = fromCanonical(message)
if (read.role === 'assistant') read.stopReason
if (message.role === 'assistant') message.stop_reason
declare const result: CanonicalResult
const turns: number = fromCanonical(result).turns
void turns
const list = fromCanonical([received])
check<Equal<typeof list, AgentEvent[]>>()
// @ts-expect-error not what a run emits
fromCanonical({ type: 'text_delta', delta: 5 })
