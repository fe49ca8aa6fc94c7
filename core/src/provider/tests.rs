use super::address::endpoint;

#[test]
fn a_base_url_may_or_may_not_have_the_version_or_the_whole_path() {
    let messages = "/v1/messages";
    let chat = "/v1/chat/completions";
    for (base, path, whole) in [
        ("https://api.anthropic.com", messages, "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", messages, "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", messages, "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:8080/v1/", chat, "http://127.0.0.1:8080/v1/chat/completions"),
        ("http://127.0.0.1:8080/v1/chat/completions", chat, "http://127.0.0.1:8080/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", chat, "https://openrouter.ai/api/v1/chat/completions"),
        ("https://api.z.ai/api/paas/v4", chat, "https://api.z.ai/api/paas/v4/chat/completions"),
        ("https://host/v1beta/openai", chat, "https://host/v1beta/openai/chat/completions"),
        ("https://host/gateway?tenant=7", chat, "https://host/gateway/v1/chat/completions?tenant=7"),
        (" http://host ", chat, "http://host/v1/chat/completions"),
        ("https://g", "/v1beta/models/m:stream?alt=sse", "https://g/v1beta/models/m:stream?alt=sse"),
        ("https://g/v1beta?key=k", "/v1beta/models/m:stream?alt=sse", "https://g/v1beta/models/m:stream?key=k&alt=sse"),
    ] {
        assert_eq!(endpoint(base, path).unwrap().as_str(), whole, "{base}");
    }
}

#[test]
fn an_unusable_address_says_why() {
    let error = |base: &str| endpoint(base, "/v1/messages").unwrap_err().message().to_owned();
    let advice = "; give an address such as \"http://127.0.0.1:8080/v1\"";
    assert_eq!(error("nonsense"), format!("base_url \"nonsense\": relative URL without a base{advice}"));
    assert_eq!(error("ftp://h"), format!("base_url \"ftp://h\": ftp is not http or https{advice}"));
}
