//! The words with which servers say why an answer ended. Gateways pass those of other vendors on, also in another case, so each
//! format reads them all: a cut answer that counts as whole would be the worst of misreadings.

use crate::usage::StopReason;

/// Our word for the server's, where it is known.
pub(crate) fn known(raw: &str) -> Option<StopReason> {
    let word = raw.to_ascii_lowercase().replace('-', "_");
    Some(match word.as_str() {
        // `model_length` of Mistral.
        "length" | "max_tokens" | "max_output_tokens" | "model_length" | "model_context_window_exceeded" => StopReason::Length,
        // `tool_call` of Cohere.
        "tool_calls" | "function_call" | "tool_use" | "tool_call" => StopReason::ToolUse,
        // `sensitive` of Z.ai, `content_filtered` and `guardrail_intervened` of Bedrock
        // (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html), the others of OpenAI,
        // Anthropic and Gemini:
        // https://ai.google.dev/api/generate-content#FinishReason
        "content_filter"
        | "content_filtered"
        | "guardrail_intervened"
        | "refusal"
        | "sensitive"
        | "safety"
        | "recitation"
        | "language"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "model_armor"
        | "image_safety"
        | "image_prohibited_content"
        | "image_recitation" => StopReason::Refusal,
        // `eos` of Together, `eos_token` and `stop_sequence` of TGI, `complete` of Cohere. `pause_turn` means "send again"; the
        // raw word says so. A compaction that the request asked to stop after is an end, too:
        // https://platform.claude.com/docs/en/build-with-claude/compaction
        "stop" | "end" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "complete" | "pause_turn" | "compaction" => {
            StopReason::Stop
        }
        _ => return None,
    })
}
