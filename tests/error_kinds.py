"""The kinds of texts whose code does not name them: what a file's function returns is put into an error elsewhere.

A row is a path, a kind, and a pattern if it is not for all other texts of the file. The rows of a file stand together, and the
first that fits counts. After `!`, it also counts for a text beside which the code names a kind, which is another one's.
Beside the kinds of errors and Python's and JavaScript's own exceptions there are

- `result`: the error result of a tool's call, which the model reads,
- `diagnostic` and `repair`: events, and repairs and conversions of a transcript,
- `log`: log records,
- `part`: a part of other texts, with their kind,
- `none`: no user meets it.
"""

ROWS = r"""
core/proto/src/answer_reader.rs protocol
core/proto/src/api_key.rs callback
core/proto/src/budget.rs part
core/proto/src/chunk.rs part ^text, thinking, tool_call
!core/proto/src/chunk.rs provider ^(error|usage|diagnostic):
core/proto/src/chunk.rs provider
core/proto/src/context_policy.rs part
core/proto/src/conversation.rs invalid_argument ^(messages|prompt|\{call\}):
core/proto/src/conversation.rs part
core/proto/src/conversation/export.rs part
core/proto/src/conversation/remembered.rs part
core/proto/src/conversation/queued.rs invalid_argument ^\{call\}:
core/proto/src/conversion/ai_sdk.rs result ^the call was denied
core/proto/src/conversion/ai_sdk.rs part
core/proto/src/conversion/mod.rs invalid_argument
core/proto/src/conversion/pi.rs part
core/proto/src/conversion/reading.rs repair left out|moved
core/proto/src/conversion/reading.rs part
core/proto/src/conversion/writing.rs repair
core/proto/src/conversion part
core/proto/src/delta limit
core/proto/src/depth.rs part
core/proto/src/did_you_mean.rs part
core/proto/src/error.rs aborted shut down
core/proto/src/error.rs panic a panic
core/proto/src/error.rs part
core/proto/src/event.rs part
core/proto/src/gate.rs part
core/proto/src/gate/rule.rs part ^expected
core/proto/src/gate/rule.rs invalid_argument
core/proto/src/gate/subject.rs part
core/proto/src/hook_answers.rs result the call was blocked
core/proto/src/hook_answers.rs part ^(true or false|an object|an array of names)$
core/proto/src/hook_answers.rs callback
core/proto/src/json_error.rs none ^(unknown (field|variant)|missing field|EOF while|floating point|Option|, expected| at line)
core/proto/src/json_error.rs part
core/proto/src/json_reader part
core/proto/src/event_stream.rs part
core/proto/src/machine/approval.rs part ^(the tool|the rule \{rule\} asks|\{reason\}|the hook)
core/proto/src/machine/approval.rs result
core/proto/src/machine/attempt.rs part
core/proto/src/machine/batch/suspended.rs part ^it comes after
core/proto/src/machine/batch/suspended.rs result
core/proto/src/machine/context.rs diagnostic (is|are)$
core/proto/src/machine/context.rs part
core/proto/src/machine/decided.rs part ^there is no tool|^the arguments
core/proto/src/machine/decided.rs invalid_argument
core/proto/src/machine/final_answer.rs part
core/proto/src/machine/model_calls.rs part ^not retried
core/proto/src/machine/fallback.rs part
core/proto/src/machine/read_result.rs none ^(Reads on|The )
core/proto/src/machine/read_result.rs result
core/proto/src/machine/requested_call.rs result
core/proto/src/machine/request.rs callback
core/proto/src/machine/resume.rs invalid_argument ^(there is nothing to answer|the last one is)
core/proto/src/machine/resume.rs invalid_state
core/proto/src/machine/run_loop.rs part
core/proto/src/machine/run_state.rs callback
core/proto/src/machine/setup.rs callback
core/proto/src/machine/summaries.rs none ^You write
core/proto/src/machine/summaries.rs part
core/proto/src/machine/subagents.rs invalid_state
core/proto/src/machine/tool_check.rs result
core/proto/src/machine/tool_demand.rs diagnostic decides itself
core/proto/src/machine/tool_demand.rs part
core/proto/src/machine/tool_timeout.rs part ^its
core/proto/src/machine/tool_timeout.rs result
core/proto/src/mcp_answers.rs part ^("accept", "decline" or "cancel"|an object)$
core/proto/src/mcp_answers.rs callback
core/proto/src/message.rs result ^no output
core/proto/src/media.rs none ^\[document
core/proto/src/media.rs part
core/proto/src/message.rs part
core/proto/src/message_ids.rs part
core/proto/src/message_reader/fields.rs none asked for
core/proto/src/message_reader/fields.rs none (message|block)$
core/proto/src/message_reader/fields.rs part
core/proto/src/message_reader.rs part
core/proto/src/model_spec.rs part
core/proto/src/output.rs part
core/proto/src/prompt.rs invalid_argument
core/proto/src/protocol/turns.rs none
core/proto/src/protocol/format.rs diagnostic sources
core/proto/src/protocol/gemini/decode.rs part ^(: |a |the arguments of its)
core/proto/src/protocol/gemini/decode.rs protocol
core/proto/src/protocol/ignored.rs part
core/proto/src/protocol/openai_chat/decode.rs part ^a
core/proto/src/protocol/openai_chat/decode.rs server
core/proto/src/protocol/ none ^Bearer
core/proto/src/protocol/ part
core/proto/src/provider/served.rs part
core/proto/src/provider_error.rs part ^(it has|an empty|a page|\{said\})
core/proto/src/provider_error.rs server
core/proto/src/quirks.rs part
core/proto/src/recording/answers.rs replay
core/proto/src/recording/difference.rs part
core/proto/src/recording/player.rs replay ^(the recording is over|line \{line\}: |\{line\}the run has)
core/proto/src/recording/player.rs part
core/proto/src/recording/reading.rs part ^it ends too early
core/proto/src/recording/reading.rs damaged
core/proto/src/result.rs result ^(its|nothing is left|it has reached|the subagent)
core/proto/src/retry.rs part
core/proto/src/run_options.rs part
core/proto/src/schema.rs invalid_argument ^(expected an object|at "|checking a value|it has|is not a JSON Schema)
core/proto/src/schema.rs result
core/proto/src/schema/ part
core/proto/src/script.rs part
core/proto/src/session part
core/proto/src/suspension.rs result ^the call was denied
core/proto/src/suspension.rs part
core/proto/src/table/logs.rs none
core/proto/src/table/option_types.rs part
core/proto/src/table/options.rs none (^the provider's|^the environment's|^1,024|readonly|\[str|Record<)
core/proto/src/table/options.rs part
core/proto/src/testing.rs part ^(message|block|\{what\}|usage)
!core/proto/src/testing.rs invalid_argument ^(agent_start may|a retry)
core/proto/src/testing.rs invalid_argument
core/proto/src/tool.rs result ^the arguments of
core/proto/src/tool.rs part
core/proto/src/tool/output.rs result {WHAT}: {why}
core/proto/src/tool/ part
core/proto/src/trace/record.rs none
core/proto/src/trace/spans.rs none
core/proto/src/transcript/summary.rs none
core/proto/src/transcript/blocks.rs none ^\(an image
!core/proto/src/transcript/blocks.rs repair
!core/proto/src/transcript/constraints.rs repair
!core/proto/src/transcript/repairer.rs repair
core/proto/src/transcript/results.rs result no result was
core/proto/src/transcript/results.rs none bytes left out
!core/proto/src/transcript/results.rs repair
core/proto/src/ui/frame.rs none
core/proto/src/ui/ai_sdk.rs part
core/proto/src/ui/mod.rs none ^: keep-alive
core/proto/src/ui/mod.rs invalid_argument
core/proto/src/ui part
core/proto/src/usage.rs part
core/proto/src/workflow/inbox.rs invalid_argument ^message:
core/proto/src/workflow/room.rs part ^( with|send)
core/proto/src/workflow/stored.rs part ^(it stays|\{left\})
core/src/agent/plugin.rs part ^the agent$
core/src/agent/plugin_parts.rs part ^another plugin$
core/src/agent/context.rs callback
core/src/agent/export.rs part
core/src/agent/models.rs invalid_argument
core/src/agent/options.rs none
core/src/agent/oracle.rs none
core/src/agent/setters.rs invalid_argument
core/src/agent/start.rs part
core/src/builtin/reading.rs invalid_argument
core/src/builtin/undo.rs part
core/src/builtin result
core/src/connection.rs part
core/src/data_folder.rs none ^Library
core/src/host/call.rs invalid_state already
core/src/host/call.rs result a middleware
core/src/host/call.rs callback
core/src/host/function.rs callback
core/src/log log
core/src/mcp/asked.rs callback ^its answer
core/src/mcp/asked.rs none
core/src/mcp/connection.rs part ^the MCP server \{\}: \{why\}
core/src/mcp/connection.rs result
core/src/mcp/content.rs none
core/src/mcp/failures.rs part
core/src/mcp/hook_call.rs log ^the hook
core/src/mcp/oauth/http.rs part
core/src/mcp/oauth/options.rs invalid_argument
core/src/mcp/oauth/tokens.rs io
core/src/mcp/offer.rs invalid_argument ^\{field\}: it has no tool
core/src/mcp/offer.rs none
core/src/mcp/options.rs part MCP field
core/src/mcp/options.rs invalid_argument
core/src/mcp/sign_in_hook.rs callback
core/src/mcp/serving.rs none ^Asks an agent
core/src/mcp/serving.rs part
core/src/mcp/stderr.rs part
core/src/mcp_server/message.rs none
core/src/mcp_server/run.rs result ^(the tool needs|it was not called)
core/src/mcp_server/run.rs none
core/src/mcp_server/server.rs result ^(prompt:|it was cancelled)
core/src/mcp_server/server.rs none
core/src/run/servers.rs log
core/src/model/answer.rs part
core/src/model/custom.rs provider
core/src/model/endpoint.rs none ^Bearer
core/src/model/endpoint.rs part
core/src/model/http.rs part
core/src/option_fields.rs part
core/src/provider/address.rs part
core/src/provider/aws.rs part
core/src/provider/aws/access_key.rs part
core/src/provider/credential.rs log ^the access token could not
core/src/provider/credential/google.rs part
core/src/provider/credential/exchange.rs part
core/src/recording/file.rs part
core/src/recording/record.rs part
core/src/recording/replay.rs part
core/src/recording/replayed.rs replay
core/src/run/driver.rs result removed
core/src/run/ending.rs log ^(the run |a panic )
core/src/run/ending.rs part
core/src/run/handle.rs part
core/src/run/emit.rs log
core/src/run/hook_call.rs log
core/src/run/listeners.rs log ^a listener (failed|has)
core/src/run/listeners.rs diagnostic
core/src/run/model_call.rs part
core/src/runtime/builder.rs part ^a whole
core/src/runtime/builder.rs invalid_argument
!core/src/session/sqlite/ none ^\s*(SELECT|INSERT|UPDATE|DELETE|BEGIN|CREATE|PRAGMA|id, title)
!core/src/session/sqlite/ part ^(the SQLite|opening|reading|writing|renewing|closing|deleting)
!core/src/session/sqlite/ io failed: \{error\}$
core/src/session/sqlite/ io
!core/src/session/jsonl part ^(the folder of sessions \{\}$|\w+ it$)
!core/src/session/jsonl io ^\{\}: \{doing\}
core/src/session/jsonl io
core/src/session/postgres/sql.rs none
core/src/session/postgres none ^(LISTEN|\{options\})
core/src/session/postgres/connect.rs part ^(the Postgres|\{text\})
core/src/session/postgres/connect.rs io
core/src/session/postgres part
core/src/session/alive.rs io
core/src/session/backend.rs none
core/src/session/handle.rs part
core/src/session/hosting/host_store.rs io
core/src/session/memory.rs part
core/src/session/open.rs diagnostic
core/src/session/reading.rs part
!core/src/session/store.rs invalid_argument ^line
core/src/session/store.rs invalid_argument
core/src/session/store_options.rs part
core/src/redirect.rs none
core/src/credentials/access.rs part
core/src/sign_in/flow.rs part
core/src/credentials/keyring.rs part
core/src/credentials/no_keyring.rs part
core/src/credentials/oauth.rs part
core/src/credentials/store.rs part
core/src/stepping/host_loop.rs invalid_argument : message$
core/src/stepping/host_loop.rs callback
core/src/stepping/models.rs part
core/src/stepping/open_call.rs invalid_argument ^(HTTP|expected)
core/src/stepping/open_call.rs invalid_state
core/src/stepping/options.rs invalid_argument
core/src/handoff.rs result
core/src/subagent.rs result ^(the call was cancelled|the subagent panicked)
core/src/subagent.rs none ^What to do
core/src/threads/workers.rs part
core/src/tool/typed.rs part ^\(the
core/src/tool/ result
core/src/trace/otlp/exporter.rs log ^(\{dropped\} spans|spans or)
core/src/trace/otlp/exporter.rs part
core/src/trace/otlp/target.rs part
!core/src/transport/client.rs protocol ^cannot connect to \{place\}: \{\}
core/src/transport/client.rs none ^(proxy auth|tunnel error)
core/src/transport/client.rs part
core/src/transport/network.rs part ^(network: proxy|the environment)
core/src/transport/network.rs invalid_argument
core/src/transport/tls.rs part ^(a -----|an -----|what stands|it cannot)
core/src/transport/tls.rs tls
ffi/src/plugin.rs part ^plugin \{\}
ffi/src/plugin.rs callback
ffi/src/plugin/library.rs newer_version ^it was built for ABI
ffi/src/plugin/object.rs part ^processor
ffi/src/plugin/object.rs invalid_argument
ffi/src/guard.rs part
ffi/src/handle.rs part ^ for
ffi/src/handle.rs callback
ffi/src/json part
ffi/src/stateless_run.rs part
ffi/src/text.rs part ^does its length
ffi/src/tool/call.rs part
ffi/src/tool/middleware.rs result
ffi/src/tool.rs part
ffi/src/ui.rs none
bindings/python/python/agent_loop/agent.py part
bindings/python/python/agent_loop/agent_runs.py busy
bindings/python/python/agent_loop/annotations.py part
bindings/python/python/agent_loop/bridge.py invalid_state
bindings/python/python/agent_loop/described.py part
bindings/python/python/agent_loop/docstrings.py none
bindings/python/python/agent_loop/errors.py part
bindings/python/python/agent_loop/hooks.py part
bindings/python/python/agent_loop/loop.py part
bindings/python/python/agent_loop/middleware.py TypeError
bindings/python/python/agent_loop/output.py part ^(hook|\{misfit)
bindings/python/python/agent_loop/output.py invalid_argument
bindings/python/python/agent_loop/pytest_plugin.py none ^record tests
bindings/python/python/agent_loop/pytest_plugin.py invalid_state
bindings/python/python/agent_loop/rendering.py none
bindings/python/python/agent_loop/requests.py part
bindings/python/python/agent_loop/restate/agent.py none ^The agent
bindings/python/python/agent_loop/restate/agent.py invalid_argument
bindings/python/python/agent_loop/restate/run.py none
bindings/python/python/agent_loop/restate/tool_step.py part
bindings/python/python/agent_loop/schema.py part
bindings/python/python/agent_loop/model_call.py none ^option
bindings/python/python/agent_loop/stateless.py none
bindings/python/python/agent_loop/store_backend.py part
bindings/python/python/agent_loop/subagent.py none ^What to do
bindings/python/python/agent_loop/subagent.py part
bindings/python/python/agent_loop/sync.py invalid_state
bindings/python/python/agent_loop/texts.py part
bindings/python/python/agent_loop/tool_run.py part
bindings/python/python/agent_loop/tools.py invalid_argument cancel_mode
bindings/python/python/agent_loop/tools.py part
bindings/python/python/agent_loop/ui.py none ^: keep-alive
bindings/python/python/agent_loop/unions.py part
bindings/python/src/argument.rs part
bindings/python/src/agent.rs part
bindings/python/src/call.rs part ^the (answer|tool's result)
bindings/python/src/call.rs callback
bindings/python/src/construct.rs part ^(\{class\}: \{name\}|did you|known are|ImageBlock|bytes)
bindings/python/src/construct.rs invalid_argument
bindings/python/src/error.rs part
bindings/python/src/job_queue.rs callback
bindings/python/src/json.rs part
bindings/python/src/model.rs provider
bindings/python/src/path.rs part
bindings/python/src/run.rs part
bindings/python/src/session.rs part
bindings/python/src/stepping.rs part
bindings/python/src/store.rs io
bindings/python/src/tool.rs part
bindings/python/src/usage.rs part
bindings/node/lib/bridge.ts panic native module
bindings/node/lib/bridge.ts callback
bindings/node/lib/canonical.ts none
bindings/node/lib/native.ts Error
bindings/node/lib/thrown.ts part
bindings/node/lib/ part
bindings/node/src/bridge.rs callback
bindings/node/src/camel_case.rs none
!bindings/node/src/hook.rs none
bindings/node/src/ part
bindings/python/python/agent_loop/traces.py invalid_argument
"""

# Code that makes an error of a text that it was given, or of another error.
GIVEN = r"""
core/proto/src/error.rs Error::new(ErrorKind::InvalidArgument, message)
core/proto/src/error.rs Error::new(ErrorKind::Callback, failure.to_string())
core/proto/src/json_error.rs Error::invalid_argument(self.text)
core/proto/src/machine/forced_end.rs Error::new(ErrorKind::Aborted, SHUT_DOWN)
core/proto/src/message_ids.rs Error::invalid_argument(format!("{place}{why}"))
core/src/mcp/connection.rs Error::invalid_argument(unknown)
core/src/mcp/failures.rs Error::new(ErrorKind::Io, text.clone())
bindings/python/src/error.rs Error::new(ErrorKind::Provider, text)
bindings/python/src/error.rs Error::invalid_argument(in_python(error.message()))
bindings/python/src/json.rs PyValueError::new_err(e.to_string())
bindings/python/python/agent_loop/provider.py raise ProviderError(error.message)
bindings/python/python/agent_loop/annotations.py raise Unsupported(str(why))
bindings/python/python/agent_loop/annotations.py raise Misfit(str(error))
bindings/python/python/agent_loop/described.py raise Misfit(why,
bindings/python/python/agent_loop/texts.py raise ValueError(text)
bindings/python/python/agent_loop/tool_run.py raise InvalidArgumentError(wrong.message)
bindings/python/src/tool.rs Error::invalid_argument(text)
bindings/python/python/agent_loop/generators.py raise CallbackError("aborted")
bindings/python/python/agent_loop/restate/conversation.py raise cancelled()
bindings/python/python/agent_loop/restate/definition.py raise TerminalError(str(error),
ffi/src/plugin/table.rs Error::new(ErrorKind::Callback, text::required
bindings/node/src/error.rs Error::invalid_argument(message)
bindings/node/lib/provider.ts new TypeError(textOf(error))
"""
