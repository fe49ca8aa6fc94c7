//! Gemini, on the Developer API and on Vertex.

use agent_mock::{Format, Strict};
use serde_json::{Value, json};

use crate::table::{PNG, Table, pop, push, remove};

fn table() -> Table {
    Table::new(Format::Gemini, "/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse")
}

fn older() -> Table {
    Table::new(Format::Gemini, "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse")
}

fn vertex() -> Table {
    Table::new(Format::Gemini, "/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamGenerateContent?alt=sse")
}

fn good() -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "weather", "description": "", "parametersJsonSchema": {"type": "object"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"temperature": 0, "maxOutputTokens": 100, "thinkingConfig": {"includeThoughts": true}},
        "contents": [
            {"role": "user", "parts": [{"text": "Rain?"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
            {"role": "model", "parts": [
                {"text": "Hm.", "thought": true},
                {"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "c2lnbmVk"},
                {"functionCall": {"name": "weather", "args": {"city": "Oslo"}, "id": "2"}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "weather", "response": {"output": "yes"}}},
                {"functionResponse": {"name": "weather", "response": {"output": "no"}, "id": "2"}},
            ]},
        ],
    })
}

#[test]
fn fields_of_the_request() {
    table().refuses(
        &good(),
        &[
            ("Invalid JSON payload received. Unknown name \"messages\": Cannot find field.", |b| b["messages"] = json!([])),
            ("Unknown name \"max_tokens\" at 'generation_config': Cannot find field.", |b| {
                b["generationConfig"]["max_tokens"] = json!(1);
            }),
            ("generation_config.temperature", |b| b["generationConfig"]["temperature"] = json!(3)),
            ("generation_config.max_output_tokens", |b| b["generationConfig"]["maxOutputTokens"] = json!(0)),
            ("at most 5 stop sequences", |b| b["generationConfig"]["stopSequences"] = json!(["1", "2", "3", "4", "5", "6"])),
            ("generation_config.stop_sequences[0]", |b| b["generationConfig"]["stopSequences"] = json!([""])),
            ("only set only one of thinking budget and thinking level", |b| {
                b["generationConfig"]["thinkingConfig"] = json!({"thinkingBudget": 100, "thinkingLevel": "low"});
            }),
            ("Invalid value at 'generation_config.thinking_config.thinking_level' (TYPE_ENUM), \"xhigh\"", |b| {
                b["generationConfig"]["thinkingConfig"] = json!({"thinkingLevel": "xhigh"});
            }),
            ("contents is not specified", |b| remove(b, "contents")),
            ("contents is not specified", |b| b["contents"] = json!([])),
            ("system_instruction.parts: contents.parts must not be empty", |b| b["systemInstruction"]["parts"] = json!([])),
        ],
    );
    // Both spellings of every name.
    table().takes(
        &good(),
        &[|b| {
            let config = b["generationConfig"].take();
            remove(b, "generationConfig");
            b["generation_config"] = json!({"max_output_tokens": config["maxOutputTokens"], "stop_sequences": ["."]});
        }],
    );
    older().refuses(
        &good(),
        &[
            ("Thinking level is not supported for this model.", |b| {
                b["generationConfig"]["thinkingConfig"] = json!({"thinkingLevel": "low"});
            }),
            ("Budget 0 is invalid. This model only works in thinking mode.", |b| {
                b["generationConfig"]["thinkingConfig"] = json!({"thinkingBudget": 0});
            }),
        ],
    );
}

#[test]
fn tools() {
    table().refuses(
        &good(),
        &[
            ("tools[0].tool_type: required one_of 'tool_type' must have one initialized field", |b| b["tools"][0] = json!({})),
            ("Invalid function name. Must start with a letter or an underscore.", |b| {
                b["tools"][0]["functionDeclarations"][0]["name"] = json!("1st");
            }),
            ("Invalid function name.", |b| b["tools"][0]["functionDeclarations"][0]["name"] = json!("a".repeat(65))),
            ("Duplicate function declaration found: weather", |b| {
                let function = b["tools"][0]["functionDeclarations"][0].clone();
                push(&mut b["tools"][0]["functionDeclarations"], function);
            }),
            ("only one of parameters and parameters_json_schema", |b| {
                b["tools"][0]["functionDeclarations"][0]["parameters"] = json!({"type": "object"});
            }),
            ("Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters.properties[a]'", |b| {
                b["tools"][0]["functionDeclarations"][0] = json!({"name": "weather", "parameters": {
                    "type": "object", "properties": {"a": {"type": "object", "additionalProperties": false}},
                }});
            }),
            ("Function calling config is set without function_declarations.", |b| remove(b, "tools")),
            ("Allowed function names should only be set when mode is ANY.", |b| {
                b["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] = json!(["weather"]);
            }),
            ("(TYPE_ENUM), \"auto\"", |b| b["toolConfig"]["functionCallingConfig"]["mode"] = json!("auto")),
        ],
    );
    table().takes(&good(), &[|b| b["tools"][0]["functionDeclarations"][0]["name"] = json!("a.b:c-d_e")]);
}

#[test]
fn contents_and_parts() {
    table().refuses(
        &good(),
        &[
            ("Please use a valid role: user, model.", |b| b["contents"][1]["role"] = json!("assistant")),
            ("begin with a user turn", |b| {
                b["contents"].as_array_mut().unwrap().insert(0, json!({"role": "model", "parts": [{"text": "Hello."}]}));
            }),
            ("contents[0].parts: contents.parts must not be empty.", |b| b["contents"][0]["parts"] = json!([])),
            ("contents[0].parts[0].data: required oneof field 'data' must have one initialized field", |b| {
                b["contents"][0]["parts"][0] = json!({"thought": true});
            }),
            ("oneof field 'data' is already set. Cannot set 'functionCall'", |b| {
                b["contents"][1]["parts"][1]["text"] = json!("both");
            }),
            ("Unknown name \"type\" at 'contents[0].parts[0]'", |b| b["contents"][0]["parts"][0]["type"] = json!("text")),
            ("Unsupported MIME type: image/gif", |b| b["contents"][0]["parts"][1]["inlineData"]["mimeType"] = json!("image/gif")),
            ("Invalid value at 'contents[0].parts[1].inline_data.data' (TYPE_BYTES), Base64 decoding failed", |b| {
                b["contents"][0]["parts"][1]["inlineData"]["data"] = json!("no base64");
            }),
            ("Invalid value at 'contents[1].parts[1].thought_signature' (TYPE_BYTES)", |b| {
                b["contents"][1]["parts"][1]["thoughtSignature"] = json!("not signed!");
            }),
            ("contents[1].parts[1].function_call.name: Name cannot be empty.", |b| {
                b["contents"][1]["parts"][1]["functionCall"]["name"] = json!("");
            }),
            ("Invalid value at 'contents[1].parts[1].function_call.args' (object), string", |b| {
                b["contents"][1]["parts"][1]["functionCall"]["args"] = json!("{}");
            }),
            ("Invalid value at 'contents[2].parts[0].function_response.response' (object), string", |b| {
                b["contents"][2]["parts"][0]["functionResponse"]["response"] = json!("yes");
            }),
            ("functionResponse is not allowed in a model turn", |b| {
                let result = b["contents"][2]["parts"][0].clone();
                push(&mut b["contents"][1]["parts"], result);
            }),
        ],
    );
    table().strict(Strict::new().no_call_ids()).refuses(
        &{
            let mut bare = good();
            remove(&mut bare["contents"][1]["parts"][2]["functionCall"], "id");
            remove(&mut bare["contents"][2]["parts"][1]["functionResponse"], "id");
            bare
        },
        &[
            ("Unknown name \"id\" at 'contents[1].parts[1].function_call': Cannot find field.", |b| {
                b["contents"][1]["parts"][1]["functionCall"]["id"] = json!("1");
            }),
            ("Unknown name \"id\" at 'contents[2].parts[0].function_response': Cannot find field.", |b| {
                b["contents"][2]["parts"][0]["functionResponse"]["id"] = json!("1");
            }),
        ],
    );
}

#[test]
fn calls_and_results() {
    let equal = "the number of function response parts is equal to the number of function call parts of the function call turn";
    table().refuses(
        &good(),
        &[
            (equal, |b| pop(&mut b["contents"])),
            (equal, |b| pop(&mut b["contents"][2]["parts"])),
            (equal, |b| {
                b["contents"].as_array_mut().unwrap().insert(2, json!({"role": "user", "parts": [{"text": "Stop."}]}));
            }),
            ("function response turn comes immediately after a function call turn", |b| {
                let results = b["contents"][2].clone();
                push(&mut b["contents"], results);
            }),
            ("function call turn comes immediately after a user turn or after a function response turn", |b| {
                b["contents"].as_array_mut().unwrap().insert(1, json!({"role": "model", "parts": [{"text": "Hm."}]}));
            }),
            ("have the names of the function call parts, in their order", |b| {
                b["contents"][2]["parts"][0]["functionResponse"]["name"] = json!("other");
            }),
        ],
    );
}

#[test]
fn gemini_3_wants_the_first_call_of_each_step_signed() {
    let unsigned: fn(&mut Value) = |b| remove(&mut b["contents"][1]["parts"][1], "thoughtSignature");
    let marked: fn(&mut Value) = |b| b["contents"][1]["parts"][1]["thoughtSignature"] = json!("skip_thought_signature_validator");
    table().refuses(
        &good(),
        &[
            ("missing a thought_signature in functionCall parts. This is required", unsigned),
            ("`default_api:weather` , position 2", unsigned),
        ],
    );
    table().takes(
        &good(),
        &[marked, |b| {
            // An earlier turn is not looked at.
            remove(&mut b["contents"][1]["parts"][1], "thoughtSignature");
            push(&mut b["contents"], json!({"role": "model", "parts": [{"text": "Yes."}]}));
            push(&mut b["contents"], json!({"role": "user", "parts": [{"text": "Thanks."}]}));
        }],
    );
    older().takes(&good(), &[unsigned]);
    vertex().takes(&good(), &[unsigned]);
    vertex().refuses(&good(), &[("Thought signature is not valid.", marked)]);
}

#[test]
fn the_form_of_the_answer() {
    let formed = |body: &mut Value| {
        let form = json!({ "responseMimeType": "application/json", "responseJsonSchema": { "type": "object" } });
        body["generationConfig"].as_object_mut().unwrap().extend(form.as_object().unwrap().clone());
    };
    table().takes(&good(), &[formed]);
    table()
        .refuses(&good(), &[("only allowed with application/json", |b| b["generationConfig"]["responseJsonSchema"] = json!({}))]);
    let mut alone = good();
    remove(&mut alone, "tools");
    remove(&mut alone, "toolConfig");
    alone["contents"] = json!([{ "role": "user", "parts": [{ "text": "Rain?" }] }]);
    older().takes(&alone, &[formed]);
    let text = "Function calling with a response mime type: 'application/json' is unsupported";
    older().refuses(&good(), &[(text, |b| b["generationConfig"] = json!({ "responseMimeType": "application/json" }))]);
}

#[test]
fn files() {
    table().takes(
        &good(),
        &[
            |b| b["contents"][0]["parts"][1] = json!({"inlineData": {"mimeType": "application/pdf", "data": "QQ=="}}),
            |b| b["contents"][0]["parts"][1] = json!({"inlineData": {"mimeType": "audio/wav", "data": "QQ=="}}),
            |b| b["contents"][0]["parts"][1] = json!({"fileData": {"fileUri": "https://example.com/a.pdf"}}),
        ],
    );
    table().refuses(
        &good(),
        &[
            ("Unsupported MIME type: application/json", |b| {
                b["contents"][0]["parts"][1] = json!({"inlineData": {"mimeType": "application/json", "data": "QQ=="}});
            }),
            ("Unsupported MIME type: audio/wav", |b| {
                let audio = json!([{"inlineData": {"mimeType": "audio/wav", "data": "QQ=="}}]);
                b["contents"][2]["parts"][0]["functionResponse"]["parts"] = audio;
            }),
            ("Invalid value at 'contents[0].parts[1].file_data.mime_type' (TYPE_STRING), integer", |b| {
                b["contents"][0]["parts"][1] = json!({"fileData": {"fileUri": "https://example.com/a.pdf", "mimeType": 5}});
            }),
        ],
    );
}
