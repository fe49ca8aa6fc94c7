//! The Chat Completions format, as api.openai.com writes it with `include_usage`: whole chunk objects, a first one with
//! the role, a last one with the usage, `[DONE]`.

use super::{Part, quoted};

pub(super) fn events(model: &str, parts: &[Part]) -> Vec<String> {
    let head = format!(
        concat!(
            r#"{{"id":"chatcmpl-ASv9l0RKJrq2fTx2dK5jhJoIr4rMI","object":"chat.completion.chunk","#,
            r#""created":1731456257,"model":{},"system_fingerprint":"fp_0ba0d124f1""#,
        ),
        quoted(model)
    );
    let choice = |delta: &str, finish: &str| {
        format!(
            "data: {head},\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}],\
             \"usage\":null}}\n\n"
        )
    };
    let mut out = vec![choice(r#"{"role":"assistant","content":""}"#, "null")];
    let mut pieces_sent = 0;
    let mut calls = 0;
    for part in parts {
        match part {
            Part::Text(pieces) => {
                pieces_sent += pieces.len();
                out.extend(pieces.iter().map(|piece| choice(&format!(r#"{{"content":{}}}"#, quoted(piece)), "null")));
            }
            Part::Call { name, number, arguments } => {
                pieces_sent += arguments.len();
                out.push(choice(
                    &format!(
                        concat!(
                            r#"{{"tool_calls":[{{"index":{},"id":"call_hqkL24CLEwnniv4GDrjk14{}","type":"function","#,
                            r#""function":{{"name":{},"arguments":""}}}}]}}"#,
                        ),
                        calls,
                        number,
                        quoted(name)
                    ),
                    "null",
                ));
                out.extend(arguments.iter().map(|piece| {
                    let delta = format!(r#"{{"tool_calls":[{{"index":{calls},"function":{{"arguments":{}}}}}]}}"#, quoted(piece));
                    choice(&delta, "null")
                }));
                calls += 1;
            }
        }
    }
    out.push(choice("{}", if calls > 0 { r#""tool_calls""# } else { r#""stop""# }));
    out.push(format!(
        "data: {head},\"choices\":[],\"usage\":{{\"prompt_tokens\":599,\"completion_tokens\":{pieces_sent},\"total_tokens\":{},\
         \"prompt_tokens_details\":{{\"cached_tokens\":0,\"audio_tokens\":0}},\
         \"completion_tokens_details\":{{\"reasoning_tokens\":0,\"audio_tokens\":0,\
         \"accepted_prediction_tokens\":0,\"rejected_prediction_tokens\":0}}}}}}\n\n",
        599 + pieces_sent
    ));
    out.push("data: [DONE]\n\n".to_owned());
    out
}
