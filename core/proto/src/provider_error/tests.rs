mod wordings;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::*;

/// Kind, whether it may be retried, and the demanded pause in milliseconds.
type Verdict = (ErrorKind, bool, Option<u64>);

fn verdict(error: &Error) -> Verdict {
    (error.kind(), error.is_retryable(), error.retry_after_ms())
}

#[test]
fn recorded_errors_of_real_servers() {
    use ErrorKind::{Authentication, ContextOverflow, InvalidRequest, NotFound, Permission, RateLimited, Server};
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/wire");
    if !wire.is_dir() {
        println!("skipped: no recordings at hand");
        return;
    }
    let mut wanted: BTreeMap<&str, (Verdict, &str)> = BTreeMap::new();
    let mut want = |name, kind, message| wanted.insert(name, ((kind, kind == Server || kind == RateLimited, None), message));
    want(
        "http-400-anthropic-invalid-request-error-context-length",
        ContextOverflow,
        "prompt is too long: 3333404 tokens > 200000 maximum",
    );
    want("http-401-anthropic-authentication-error", Authentication, "API key is invalid.");
    want("http-404-anthropic-not-found-error", NotFound, "model: claude-nonexistent-rig-test");
    let count = "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).";
    want("http-400-vertex-invalid-argument-context-length", ContextOverflow, count);
    want("http-404-gemini-not-found", NotFound, "models/gemini-nonexistent-rig-test is not found for API version v1beta");
    want("http-404-vertex-not-found", NotFound, "Publisher Model");
    want("http-429-gemini-resource-exhausted-context-length", RateLimited, "You exceeded your current quota");
    want("http-400-groq-invalid-request-error", InvalidRequest, "Tool call validation failed");
    want("http-400-llamacpp-exceed-context-size-error-context-length", ContextOverflow, "request (2009 tokens) exceeds");
    want("http-400-llamacpp-invalid-request-error", InvalidRequest, "Field 'temperature'");
    want("http-400-mistral-nonetype", InvalidRequest, "Logprobs are not enabled for this model");
    want("http-400-ollama-invalid-request-error-context-length", ContextOverflow, "prompt too long; exceeded max context length");
    want("http-400-openrouter-400-context-length", ContextOverflow, "This endpoint's maximum context length is 200000");
    want("http-400-openrouter-400", NotFound, "openai/gpt-nonexistent-routed-model is not a valid model ID");
    want("http-401-azure-401", Authentication, "Access denied due to invalid subscription key");
    want("http-401-deepseek-authentication-error", Authentication, "Authentication Fails");
    want("http-401-groq-invalid-request-error", Authentication, "Invalid API Key");
    want("http-401-ollama-api-error", Authentication, "Unauthorized");
    want("http-401-perplexity-invalid-api-key", Authentication, "Invalid API key provided.");
    want("http-403-doubleword-invalid-request-error", Permission, "Forbidden");
    want("http-404-doubleword-invalid-request-error", NotFound, "The model `rig/definitely-not-a-doubleword-model`");
    want("http-404-openai-invalid-request-error", NotFound, "The model `gpt-5.2-proo` does not exist");
    want("http-429-azure-ratelimitreached-context-length", RateLimited, "have exceeded rate limit.");
    want("http-500-llamacpp-server-error", Server, "tools param requires --jinja flag");
    want("http-400-deepseek-invalid-request-error", InvalidRequest, "No tool output found for tool call call-a.");
    want("http-400-openai-invalid-request-error", InvalidRequest, "");
    want("http-400-xai-str", Authentication, "Incorrect API key provided.");
    want("http-401-chatgpt-nonetype", Authentication, "Could not parse your authentication token.");
    let mut played = 0;
    for api in ["anthropic-messages", "openai-chat", "openai-responses", "google-generative"] {
        for entry in std::fs::read_dir(wire.join(api)).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_name().unwrap().to_str().unwrap();
            let Some(name) = file.strip_suffix(".meta.json") else {
                continue;
            };
            let meta: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let status = u16::try_from(meta["http_status"].as_u64().unwrap()).unwrap();
            let body = std::fs::read_to_string(path.with_file_name(format!("{name}.response.json"))).unwrap();
            let error = from_http("p", "p", status, &body);
            played += 1;
            assert_eq!(error.http_status(), Some(status), "{name}");
            assert!(error.message().starts_with(&format!("p answered {status}: ")), "{name}: {error}");
            let oracle: Value =
                serde_json::from_slice(&std::fs::read(path.with_file_name(format!("{name}.expected.json"))).unwrap()).unwrap();
            if let Some(said) = oracle["error"]["message"].as_str() {
                assert!(error.message().contains(said), "{name}: the provider's message is kept whole, not {error}");
            }
            let ((kind, retryable, _), message) =
                wanted.get(name).unwrap_or_else(|| panic!("{name}: not listed, gives {error:?}"));
            let pause = if name.contains("gemini-resource-exhausted") { Some(48_000) } else { None };
            // Two recordings of one name: the other is a model that is not there.
            let kind =
                if api == "openai-responses" && name == "http-400-openai-invalid-request-error" { &NotFound } else { kind };
            assert_eq!(verdict(&error), (*kind, *retryable, pause), "{name}: {error}");
            assert!(error.message().contains(message), "{name}: {error}");
        }
    }
    println!("played {played} recorded errors");
    assert!(played >= 29, "only {played} were found");
}

#[test]
fn each_wording_of_an_overflow_is_one() {
    for said in [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "Prompt too long",
        "Input is too long for requested model.",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "Requested token count exceeds the model's maximum context length of 131072 tokens",
        "The prompt exceeds the maximum context length (131072)",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
        "input token count exceeds the maximum",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        "Please reduce the length of the messages or completion.",
        "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
        "prompt token count of 128009 exceeds the limit of 128000",
        "the request exceeds the available context size, try increasing it",
        "tokens to keep from the initial prompt is greater than the context length",
        "invalid params, context window exceeds limit",
        "Your request exceeded model token limit: 262144 (requested: 291351)",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "model context window exceeded",
        "The prompt does not fit into the configured context size",
        "The input exceeds the maximum allowed input length of 65536 tokens",
        "Request exceeds the maximum size",
    ] {
        for status in [400, 500] {
            let error = from_http("p", "p", status, &json!({ "error": { "message": said } }).to_string());
            assert_eq!(verdict(&error), (ErrorKind::ContextOverflow, false, None), "{said}");
        }
        let error = from_stream("p", &json!({ "error": { "type": "invalid_request_error", "message": said.to_uppercase() } }));
        assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{said}, in a stream and in capitals");
    }
    for status in [400, 413] {
        let error = from_http("p", "p", status, " ");
        assert_eq!(verdict(&error), (ErrorKind::ContextOverflow, false, None));
        assert_eq!(error.message(), format!("p answered {status}: an empty body"));
    }
    assert_eq!(from_http("p", "p", 422, "").kind(), ErrorKind::InvalidRequest);
}

#[test]
fn throttling_and_limits_of_other_things_are_no_overflow() {
    use ErrorKind::{InvalidRequest, Overloaded, RateLimited};
    for (status, said, kind) in [
        (400, "ThrottlingException: Too many tokens, please wait before trying again.", RateLimited),
        (429, "Too many tokens, please wait before trying again.", RateLimited),
        (429, "Rate limit reached for gpt: the maximum context length is not the matter", RateLimited),
        (400, "Too many requests: input is too long for requested model", RateLimited),
        (503, "Service Unavailable: prompt is too long", Overloaded),
        (400, "max_tokens: 100000 exceeds the limit of 8192", InvalidRequest),
        (400, "the number of images exceeds the limit of 8", InvalidRequest),
        (400, "this exceeds the limit of reason", InvalidRequest),
    ] {
        let error = from_http("p", "p", status, &json!({ "message": said }).to_string());
        assert_eq!(error.kind(), kind, "{said}");
    }
}

#[test]
fn too_many_or_too_large_images_are_no_overflow() {
    for said in [
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
        "Too many images in request. Max is 8.",
        "Too many images and documents: 101 + 0 > 100",
    ] {
        let body = json!({ "error": { "type": "invalid_request_error", "message": said } });
        assert_eq!(verdict(&from_http("p", "p", 400, &body.to_string())), (ErrorKind::InvalidRequest, false, None), "{said}");
    }
}

#[test]
fn statuses_without_a_better_word() {
    use ErrorKind::*;
    for (status, kind, retryable) in [
        (400, InvalidRequest, false),
        (401, Authentication, false),
        (402, Quota, false),
        (403, Permission, false),
        (404, NotFound, false),
        (408, Timeout, true),
        (409, InvalidRequest, true),
        (422, InvalidRequest, false),
        (423, InvalidRequest, false),
        (429, RateLimited, true),
        (500, Server, true),
        (502, Server, true),
        (503, Overloaded, true),
        (504, Timeout, true),
        (524, Timeout, true),
        (529, Overloaded, true),
    ] {
        assert_eq!(verdict(&from_http("p", "p", status, "nothing to read")), (kind, retryable, None), "{status}");
    }
}

#[test]
fn a_body_says_better_than_its_status() {
    use ErrorKind::*;
    let anthropic = |kind: &str| json!({ "type": "error", "error": { "type": kind, "message": "m" } });
    let openai = |code: &str, said: &str| json!({ "error": { "code": code, "type": "invalid_request_error", "message": said } });
    let google =
        |status: &str, reason: &str| json!({ "error": { "status": status, "message": "m", "details": [{ "reason": reason }] } });
    for (status, body, kind, retryable) in [
        (
            400,
            json!({ "error": { "type": "invalid_request_error", "message": "Your credit balance is too low to access" } }),
            Quota,
            false,
        ),
        (429, openai("insufficient_quota", "You exceeded your current quota, please check your plan."), Quota, false),
        (429, json!({ "error": { "message": "You exceeded your current quota" } }), Quota, false),
        (429, json!({ "error": { "type": "exceeded_current_quota_error", "message": "suspended" } }), Quota, false),
        (
            402,
            json!({ "error": { "message": "This request requires more credits, or fewer max_tokens.", "code": 402 } }),
            Quota,
            false,
        ),
        (
            400,
            json!({ "error": {
                "code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key.",
            } }),
            Authentication,
            false,
        ),
        (400, google("INVALID_ARGUMENT", "API_KEY_INVALID"), Authentication, false),
        (403, google("PERMISSION_DENIED", "CONSUMER_INVALID"), Permission, false),
        (400, openai("model_not_found", "no such model"), NotFound, false),
        (
            404,
            json!({ "error": { "code": "DeploymentNotFound", "message": "The API deployment does not exist." } }),
            NotFound,
            false,
        ),
        (400, json!({ "error": "model 'llama9' not found" }), NotFound, false),
        (500, anthropic("overloaded_error"), Overloaded, true),
        (400, anthropic("overloaded_error"), Overloaded, false),
        (403, json!({ "message": "You have exceeded a secondary rate limit." }), RateLimited, false),
        (409, json!({ "message": "Too many requests at once." }), RateLimited, true),
        (500, google("RESOURCE_EXHAUSTED", ""), RateLimited, true),
        (504, google("DEADLINE_EXCEEDED", ""), Timeout, true),
        (500, json!({ "error": { "type": "invalid_request_error", "message": "odd" } }), Server, true),
        (400, json!({ "error": { "message": "Something went wrong, please try again." } }), InvalidRequest, false),
        (409, json!({ "error": { "message": "Something went wrong, please try again." } }), InvalidRequest, true),
        (422, json!({ "error": { "message": "Please retry your request." } }), InvalidRequest, false),
        (400, openai("bad_image", "The image is broken, fix it and try again."), InvalidRequest, false),
        (401, json!({ "detail": "Please try again with a key." }), Authentication, false),
        (403, json!({ "Message": "Authentication failed: Please make sure your API Key is valid." }), Authentication, false),
        (403, json!({ "message": "The security token included in the request is invalid." }), Authentication, false),
        (403, json!({ "type": "ExpiredTokenException", "message": "m" }), Authentication, false),
        (404, json!({ "detail": "please retry" }), NotFound, false),
    ] {
        assert_eq!(verdict(&from_http("p", "p", status, &body.to_string())), (kind, retryable, None), "{status} {body}");
    }
}

#[test]
fn a_limit_of_a_day_is_a_quota_and_one_of_a_minute_is_not() {
    let body = |quota: &str| {
        json!({ "error": { "code": 429, "status": "RESOURCE_EXHAUSTED",
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "details": [{ "violations": [{ "quotaId": quota }] }, { "retryDelay": "17s" }] } })
        .to_string()
    };
    let minute = from_http("google", "google", 429, &body("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"));
    assert_eq!(verdict(&minute), (ErrorKind::RateLimited, true, Some(17_000)));
    let day = from_http("google", "google", 429, &body("GenerateRequestsPerDayPerProjectPerModel-FreeTier"));
    assert_eq!(verdict(&day), (ErrorKind::Quota, false, None), "its pause is no help");
    let listed = from_http("google", "google", 429, &format!("[{}]", body("GenerateRequestsPerMinute")));
    assert_eq!(verdict(&listed), (ErrorKind::RateLimited, true, Some(17_000)), "in a list, as without alt=sse");
}

#[test]
fn a_pause_that_the_sentence_asks_for_is_demanded() {
    let error = from_http("p", "p", 429, r#"{"error":{"message":"Rate limit reached. Please try again in 1m2.5s."}}"#);
    assert_eq!(verdict(&error), (ErrorKind::RateLimited, true, Some(62_500)));
    let error =
        from_stream("p", &json!({ "error": { "type": "rate_limit_error", "message": "Please retry after 26 seconds." } }));
    assert_eq!(verdict(&error), (ErrorKind::RateLimited, true, Some(26_000)));
    let error = from_http("p", "p", 401, r#"{"error":{"message":"no key; try again in 5s"}}"#);
    assert_eq!(verdict(&error), (ErrorKind::Authentication, false, None), "not where a retry does not help");
}

#[test]
fn errors_inside_a_stream() {
    use ErrorKind::*;
    for (error, kind, retryable) in [
        (json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }), Overloaded, true),
        (json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } }), RateLimited, true),
        (json!({ "type": "error", "error": { "type": "api_error", "message": "broke" } }), Server, true),
        (json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "wrong" } }), InvalidRequest, false),
        (json!({ "type": "error", "error": { "type": "authentication_error", "message": "key" } }), Authentication, false),
        (json!({ "error": { "code": 502, "message": "Upstream broke" } }), Server, true),
        (json!({ "error": { "code": "429", "message": "slow" } }), RateLimited, true),
        (json!({ "error": { "code": 400, "message": "wrong" } }), InvalidRequest, false),
        (json!({ "error": { "code": 400, "message": "wrong, please try again" } }), InvalidRequest, false),
        (json!({ "error": { "code": 403, "message": "rate limit of the free tier" } }), RateLimited, false),
        (json!({ "error": { "code": 409, "message": "conflict" } }), InvalidRequest, true),
        (json!({ "error": { "status": "RESOURCE_EXHAUSTED", "message": "gone" } }), RateLimited, true),
        (json!({ "error": { "status": "UNAVAILABLE", "code": 503, "message": "The model is overloaded." } }), Overloaded, true),
        (json!({ "object": "error", "message": "no words", "code": 40303 }), Server, true),
        (json!({ "error": "what" }), Server, true),
        (Value::Null, Server, true),
    ] {
        let found = from_stream("p", &error);
        assert_eq!(verdict(&found), (kind, retryable, None), "{error}");
        assert_eq!(found.http_status(), None, "the status was good");
    }
}

#[test]
fn the_message_is_found_wherever_it_is() {
    let said = |body: Value| from_http("p", "p", 400, &body.to_string()).message().replace("p answered 400: ", "");
    assert_eq!(said(json!({ "error": { "message": "m" } })), "m");
    assert_eq!(said(json!({ "error": "m" })), "m");
    assert_eq!(said(json!({ "message": "m" })), "m");
    assert_eq!(said(json!({ "detail": "m" })), "m");
    assert_eq!(said(json!({ "error": "invalid_grant", "error_description": "m" })), "invalid_grant: m");
    assert_eq!(said(json!({ "errors": [{ "code": 7, "message": "m" }, { "message": "n" }] })), "m; n");
    let fault = json!([{ "type": "missing", "loc": ["body", "messages", 0], "msg": "Field required" }]);
    assert_eq!(said(json!({ "detail": fault })), "body.messages.0: Field required");
    assert_eq!(said(json!({ "object": "error", "message": { "detail": fault } })), "body.messages.0: Field required");
    let hidden = json!({ "error": {
        "message": "Provider returned error", "metadata": { "raw": "{\"error\":{\"message\":\"prompt is too long\"}}" },
    } });
    assert_eq!(said(hidden.clone()), "Provider returned error (prompt is too long)");
    assert_eq!(from_http("p", "p", 400, &hidden.to_string()).kind(), ErrorKind::ContextOverflow, "and read");
    assert_eq!(said(json!({ "what": 1 })), "{\"what\":1}", "else the body");
    let page = from_http("p", "p", 502, "<html><head><TITLE> 502 Bad Gateway </TITLE></head><body>…</body></html>");
    assert_eq!(page.message(), "p answered 502: a page titled \"502 Bad Gateway\"");
    assert_eq!(from_http("p", "p", 500, "plain words").message(), "p answered 500: plain words");
    assert_eq!(from_http("p", "p", 400, r#"{"error":"half \ud83d"}"#).message(), "p answered 400: half \u{fffd}");
}

#[test]
fn found_a18_an_error_without_a_message_says_so() {
    for error in [Value::Null, json!({ "error": null }), json!({ "error": {} }), json!({ "error": "" }), json!({})] {
        assert_eq!(from_stream("p", &error).message(), "p sent an error in its stream: it has no message", "{error}");
    }
    assert_eq!(
        from_stream("p", &json!({ "error": { "x": 1 } })).message(),
        "p sent an error in its stream: {\"error\":{\"x\":1}}"
    );
}

#[test]
fn keys_are_taken_out() {
    assert_eq!(redacted("key sk-1234 and sk-1234", &["sk-1234", "abc"]), "key [key] and [key]");
    assert_eq!(redacted("abc", &["abc"]), "abc", "too short to be a key");
    assert_eq!(redacted("your key sk-very-sec…", &["sk-very-secret"]), "your key [key]…", "where a long text was cut");
    assert_eq!(redacted("a page (\"key sk-very-s…\")", &["sk-very-secret"]), "a page (\"key [key]…\")", "and words after it");
    assert_eq!(redacted("it was cut at sk-1", &["sk-1234"]), "it was cut at sk-1", "too short to be recognised as a key");
}
