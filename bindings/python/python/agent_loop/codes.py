"""The codes of diagnostics, of transcript repairs and conversions, and of log records."""

from typing import Final

__all__ = ["DIAGNOSTIC_CODES", "LOG_CODES", "LOSS_CODES", "REPAIR_CODES"]

DIAGNOSTIC_CODES: Final = (
    # <generated: diagnostics>
    "transcript_repaired",  # The transcript was repaired for the model.
    "option_ignored",  # The model does not take an option, or not this value.
    "context_trimmed",  # Messages are left out of requests, for the option `context`.
    "context_exceeded",  # A request is over the limit of `context`, and nothing more can be left out.
    "summary_failed",  # A summary that the option `context` asks for was not written.
    "limiter_wait",  # A model call waits for its turn, for the option `limiter`.
    "fallback",  # A fallback model is called after a failure.
    "late_update",  # An update came after the result and was dropped.
    "updates_replaced",  # Updates that waited were replaced by newer ones.
    "tool_call_id",  # A call without an id, or with a repeated id, got a new one.
    "tool_name_corrected",  # A call with a misspelt name of a tool got the right one.
    "handoff",  # Another agent goes on with the conversation.
    "budget",  # The run ends, as this limit is used up.
    "repeated_call",  # The model has made the same call 3, 6, 12 … times in a row.
    "hook_error",  # An observer hook failed.
    "listener_error",  # A listener failed.
    "listener_left",  # A listener did not return in time; it gets none until it does.
    "listener_back",  # A listener that was left has returned.
    "event_left_out",  # Stands for an event that no JavaScript string can hold (Node).
    "broken_end",  # The connection broke after the complete answer.
    "invalid_utf8",  # Bytes that are not UTF-8 became U+FFFD.
    "unstreamed",  # The provider did not stream: its answer came whole.
    "unknown_stop_reason",  # The answer ended with an unknown reason, or without one.
    "opaque_block",  # A block of an unknown type is kept and sent back unchanged.
    "citations",  # The answer names sources.
    "journal_torn",  # Half a record was removed from the end of a session's journal.
    "refusal",  # The provider explains why it refused.
    # </generated>
)
"""The codes of `Diagnostic` events. A custom provider may emit other ones."""

REPAIR_CODES: Final = (
    # <generated: repairs>
    "failed_message",  # An assistant message that failed or was aborted was left out.
    "empty_message",  # An empty message was left out.
    "empty_block",  # An empty block was left out.
    "missing_result",  # A call without a result got an error result.
    "stray_result",  # A result without a call was left out.
    "call_id",  # A call's id was replaced, in the call and in its result.
    "call_name",  # A tool's name was replaced, in the call and in its result.
    "thinking_to_text",  # Thinking of another model became text.
    "thinking_dropped",  # Thinking that the model cannot be given was left out.
    "opaque_dropped",  # A block that only another vendor understands was left out.
    "image_replaced",  # An image became a line of text, for a model that reads none.
    "file_replaced",  # Another file, or an image at an address, became a line of text, for a model that does not take it.
    "image_dropped",  # An image was left out.
    "misplaced_block",  # A block that is not allowed in a message of that role was left out.
    "foreign_role",  # A message with a role of another format (`system`, `developer`, `tool`, `function`, `model`) was left out.
    "similar_role",  # A message was left out whose custom role is nearly one of the three that models read.
    "unknown_field",  # A stored message has fields that are not known; they are in its `metadata.unknown`.
    # </generated>
)
"""The codes of transcript repairs, in `transcript.Repair`."""

LOSS_CODES: Final = (
    # <generated: losses>
    "image_url",  # An image at an address was left out: it is none, or only data can stand there.
    "file",  # A file, a document, audio or a video was left out.
    "part",  # A part or block that has no place there was left out, or became another one.
    "field",  # A field of a message, part or block was left out.
    "citations",  # The sources that a text names were left out.
    "system_moved",  # Instructions from the middle of the conversation moved into the system prompt.
    "system_prompt",  # The system prompt was left out: a list of that format has no place for it.
    "unfinished_call",  # A call or an output that was not complete was left out.
    "approval",  # That a call waits for an approval, or has it, was left out.
    "branch",  # An entry of another branch of the session was left out.
    "entry",  # An entry of the session that is no message was left out.
    "thinking",  # Thinking was left out.
    "opaque",  # A block that only another vendor understands was left out.
    "raw_arguments",  # The arguments of a call that are no JSON object were left out.
    "image_moved",  # Images and other files of a result moved into a user message behind the results.
    "is_error",  # That a result is an error was left out.
    "details",  # The details of a result were left out.
    "metadata",  # The metadata of a message were left out.
    "id",  # The id of a message was left out: another one has it.
    "custom_message",  # A custom message was left out; of one that is read, no model reads it by itself.
    "error",  # That a message failed or was aborted was left out; what it says stands there.
    "stop_reason",  # Why a message ended was left out.
    "empty",  # An empty text or message was left out.
    "stray_result",  # A result without a call was left out.
    # </generated>
)
"""The codes of what a conversion does not carry over, in `transcript.Loss`."""

LOG_CODES: Final = (
    # <generated: log records>
    "run_error",  # A run ended with the outcome `error`.
    "run_end",  # A run ended otherwise.
    "model_call",  # A model call ended.
    "tool_call",  # A tool call has its result.
    "retry",  # A model call failed and is retried.
    "tool_error",  # A tool or its middleware failed, and did not return an error result.
    "hook_error",  # A hook or a tool's `prepare_arguments` failed.
    "hook_left",  # `after_run` did not return in time; the run ended without it.
    "listener_error",  # A listener failed. Without `event`, it had been left.
    "listener_left",  # A listener did not return in time; it gets no event until it does.
    "listener_back",  # A listener that was left has returned.
    "record_error",  # A run could not be recorded. The next run of the agent fails at its start.
    "token_kept",  # An access token could not be replaced; the old one is used while it is valid.
    "bundled_roots",  # The system has no certificate authorities; the bundled ones are used.
    "mcp_unreachable",  # An optional MCP server cannot be reached; the run goes on without its tools.
    "mcp_tool_left_out",  # A tool of an MCP server is left out: it cannot be offered to models.
    "traces_lost",  # Spans or measurements did not reach the collector that the option `traces` names.
    "records_dropped",  # The function for records was too slow, and so many were dropped.
    # </generated>
)
"""The codes of log records, in the field `code` of their `agent_loop`."""
