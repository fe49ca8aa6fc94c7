//! Where another client's requests say something else than ours, on purpose or by its mistake.

use serde_json::Value;

use super::asked::{Asked, Said};

/// One way in which they differ.
#[derive(Debug)]
pub(super) enum Difference {
    /// Whether thinking goes back, or as text.
    Thinking,
    /// What proves thinking: fields, ids.
    Proof,
    /// Signatures and ids of texts and calls, or which piece they stand on.
    Signatures,
    /// The ids of calls.
    Ids,
    /// What the model said as text.
    Text,
    /// Vendor-specific fields.
    Opaque,
    /// The text of results that hold images.
    BesideImages,
    /// `max_tokens`.
    MaxTokens,
    /// `temperature`.
    Temperature,
    /// `tool_choice`.
    ToolChoice,
    /// Theirs has a call that was refused, and its result.
    RefusedCall,
    /// Theirs has not what the user said first.
    FirstQuestion,
}

use Difference::{
    BesideImages, FirstQuestion, Ids, MaxTokens, Opaque, Proof, RefusedCall, Signatures, Temperature, Text, Thinking, ToolChoice,
};

/// The loops whose requests differ: how, and why.
#[rustfmt::skip]
pub(super) const KNOWN: &[(&str, Difference, &str)] = &[
    ("anthropic-claude-opus-4-6-computer-use-streaming", BesideImages,
     "we put a word beside an image, as the API's documentation does"),
    ("anthropic-claude-sonnet-4-thinking-streaming", MaxTokens, "we leave the answer 1,024 tokens beside the thinking"),
    ("anthropic-fixed-version-tool-chain-with-thinking-display-regression", Temperature,
     "beside thinking only 1 is taken, which is what is taken without it"),
    ("chat-avian-avian-kimi-multi-tool-streaming", Proof,
     "the server sent details, which go back as they came; the client knows only the plain field"),
    ("chat-avian-avian-kimi-multi-tool-streaming", Text, "the client lost the text but for its first blank"),
    ("chat-groq-tool-use-failed-error-streaming", RefusedCall,
     "the server refused the model's call; we ask again, the client makes a call and a result of the refusal"),
    ("chat-groq-tool-use-failed-error-streaming", Thinking, "the client sends thinking as text between tags"),
    ("chat-mistral-agent-tool-sessions-sequential-complex-tool-calls-streaming", Ids,
     "the recording's ids are replaced, by such as Mistral does not take"),
    ("chat-mistral-multimodal-content-streaming-image-with-a-tool", Ids,
     "the recording's ids are replaced, by such as Mistral does not take"),
    ("chat-ollama-multi-turn", Proof, "the client sends the same thinking under two names"),
    ("chat-ollama-multi-turn-cloud", Proof, "the client sends the same thinking under two names"),
    ("chat-openai-complex-agent-run", ToolChoice, "we demand the first call of a run, the client each"),
    ("chat-openrouter-streaming-tools-stream-encrypted-reasoning-survives", FirstQuestion,
     "the client begins another conversation with the model's call"),
    ("chat-openrouter-streaming-tools-stream-encrypted-reasoning-survives", Proof, "the client loses the format of the details"),
    ("gemini-chat-history-five-turn-chat-history-stress", Signatures,
     "the client moves a text's signature to the thinking before it"),
    ("responses-openai-openai-gpt-5-thinking-streaming", Thinking, "the client loses the reasoning items"),
    ("responses-openai-openai-gpt-5-thinking-streaming", Signatures,
     "and with them, as it must, the ids of the items behind them"),
    ("responses-openai-openai-native-tool-search-streaming", Opaque,
     "the client writes the server's search anew, and leaves out what was found"),
    ("responses-openai-openai-responses-phase-streamed-on-part-start", Text,
     "the recording has plain quotes for the typographic ones of the answer"),
    ("responses-xai-agent-tool-sessions-sequential-complex-tool-calls-streaming", Thinking,
     "the client refers to reasoning that the server stored; we ask it to store none"),
    ("responses-xai-multi-turn", Proof, "the client leaves out the ids of reasoning items"),
    ("responses-xai-multi-turn", Signatures, "and those of calls and texts"),
];

impl Difference {
    /// Takes out of both what differs.
    pub(super) fn forgive(&self, ours: &mut Asked, theirs: &mut Asked) {
        match self {
            RefusedCall => {
                for refused in
                    [|said: &Said| matches!(said, Said::Call { .. }), |said: &Said| matches!(said, Said::Result { .. })]
                {
                    let first = theirs.said.iter().position(refused).filter(|_| theirs.said.len() > ours.said.len());
                    first.map(|at| theirs.said.remove(at));
                }
            }
            FirstQuestion => {
                if ours.said.len() > theirs.said.len() {
                    ours.said.remove(0);
                }
            }
            _ => [ours, theirs].into_iter().for_each(|asked| self.forgive_one(asked)),
        }
    }

    fn forgive_one(&self, asked: &mut Asked) {
        match self {
            Thinking => asked.said.retain(|said| match said {
                Said::Thinking { .. } => false,
                Said::Text(text) => !text.starts_with("<think>"),
                _ => true,
            }),
            Signatures => asked.said.retain(|said| !matches!(said, Said::Seal(_))),
            Text => asked.said.retain(|said| !matches!(said, Said::Text(_))),
            Opaque => asked.said.retain(|said| !matches!(said, Said::Opaque(_))),
            Ids => asked.number_ids(),
            MaxTokens => _ = asked.options.remove("max_tokens"),
            Temperature => _ = asked.options.remove("temperature"),
            ToolChoice => _ = asked.options.remove("tool_choice"),
            Proof => asked.said.iter_mut().for_each(|said| {
                if let Said::Thinking { proof, .. } = said {
                    *proof = Value::Null;
                }
            }),
            BesideImages => asked.said.iter_mut().for_each(|said| match said {
                Said::Result { text, images, .. } if !images.is_empty() => text.clear(),
                _ => {}
            }),
            RefusedCall | FirstQuestion => {}
        }
    }
}
