use serde_json::json;

use super::*;

#[test]
fn models_are_listed() {
    let place = Place::new();
    let called = place.call(&["models", "claude-sonnet-4-5"]);
    assert_eq!(called.code, 0);
    assert!(called.out.lines().any(|line| line.starts_with("anthropic/claude-sonnet-4-5 ") && line.contains('$')), "{called:?}");
    let models = lines(&place.call(&["models", "--json"]).out);
    assert!(models.len() > 100 && models.iter().all(|model| model["provider"].is_string() && model["id"].is_string()));
    assert_eq!(place.call(&["models", "no such model"]).code, 1);
}

#[test]
fn a_transcript_is_checked() {
    let place = Place::new();
    let good = json!([{ "role": "user", "content": "Hi" }]);
    place.write("good.json", &good.to_string());
    let called = place.call(&["transcript", "check", "good.json"]);
    assert_eq!((called.code, called.out.as_str()), (0, "1 messages, which anthropic/claude-sonnet-4-5 can read\n"));

    let call = json!({ "type": "tool_call", "id": "a b", "name": "t" });
    let bad = json!([{ "role": "user", "content": "Hi" }, { "role": "assistant", "content": [call] }]);
    place.write("bad.json", &bad.to_string());
    let called = place.call(&["transcript", "check", "bad.json"]);
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.out.contains("the call id \"a b\" became \"a_b\""), "{called:?}");
    let called = place.call(&["transcript", "check", "bad.json", "--model", "google/gemini-2.5-pro"]);
    assert!(called.out.ends_with(" for google/gemini-2.5-pro\n"), "{called:?}");
    assert_eq!(place.call(&["transcript", "check", "bad.json", "--model", "no-slash"]).code, 2);
    let report = &lines(&place.call(&["transcript", "check", "bad.json", "--json"]).out)[0];
    assert_eq!(report["messages"], 2);
    assert!(report["repairs"].as_array().is_some_and(|repairs| !repairs.is_empty()));

    assert_eq!(place.call(&["transcript", "check", "none.json"]).code, 2);
    assert_eq!(place.call(&["transcript"]).code, 2);
}

#[test]
fn a_recording_is_played() {
    let place = Place::new();
    place.spec(&says(&["First.", "Second."]), "");
    let recorded = place.call(&["agent.toml", "--json", "--record", "runs.jsonl", "Hi"]);
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let played = place.call(&["replay", "runs.jsonl", "--json"]);
    // The same but for the times at which the events came.
    let mut events = lines(&recorded.out);
    for event in &mut events {
        assert!(event.as_object_mut().unwrap().shift_remove("time").is_some());
    }
    let texts: String = events.iter().map(|event| format!("{event}\n")).collect();
    assert_eq!((played.code, played.out), (0, texts));
    assert_eq!(place.call(&["replay", "runs.jsonl"]).out, "First.\n");
    assert_eq!(place.call(&["replay", "runs.jsonl", "--run", "7"]).code, 2);
    assert_eq!(place.call(&["replay", "none.jsonl"]).code, 2);
}

#[test]
fn tools_of_mcp_servers_are_listed() {
    let place = Place::new();
    let called = place.call(&["mcp", "list"]);
    assert_eq!(called.code, 2);
    assert!(called.err.contains("there is no MCP server"), "{called:?}");
    let called = place.call(&["mcp", "list", "--mcp", "/no/such/program"]);
    assert_eq!(called.code, 1, "{called:?}");
    assert!(called.err.contains("/no/such/program"), "{called:?}");
}

/// Those that a command does not have would do nothing.
#[test]
fn a_command_has_the_flags_that_it_uses() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let wrong: [(&[&str], &str); 10] = [
        (&["auth", "status", "--tools", "all"], "Usage: agent auth status [OPTIONS]"),
        (&["--spec", "agent.toml", "chat", "--json"], "chat has no flag --json"),
        (&["--spec", "agent.toml", "models", "--bogus"], "unexpected argument '--bogus'"),
        (&["auth", "status", "--tools", "all"], "auth status has no flag --tools; agent auth status --help lists"),
        (&["--max-turns", "3", "models"], "models has no flag --max-turns"),
        (&["sessions", "delete", "s", "--json"], "sessions delete has no flag --json"),
        (&["mcp", "list", "--model", "a/b"], "mcp list has no flag --model"),
        (&["agent.toml", "view", "--output", "run.html"], "view has no flag --output"),
        (&["--demo", "chat"], "chat has no flag --demo"),
        (&["new", "ideas", "-y"], "new has no flag --yes"),
    ];
    for (arguments, why) in wrong {
        let called = place.call(arguments);
        assert!(called.code == 2 && called.err.contains(why) && called.out.is_empty(), "{arguments:?}: {called:?}");
    }
    let has = |arguments: &[&str], flag: &str| {
        let called = place.call(arguments);
        assert_eq!(called.code, 0, "{called:?}");
        called.out.contains(flag)
    };
    assert!(has(&["chat", "--help"], "--tools") && has(&["auth", "login", "--help"], "--base-url"));
    assert!(has(&["sessions", "--help"], "--json") && has(&["help", "replay"], "--output") && has(&["man", "chat"], "yes"));
    assert!(!has(&["chat", "--help"], "--json") && !has(&["auth", "--help"], "--base-url"));
    assert!(!has(&["auth", "status", "--help"], "--tools") && !has(&["man", "models"], "max\\-turns"));
}

#[test]
fn completions_and_the_manual_are_printed() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let called = place.call(&["completions", shell]);
        assert_eq!(called.code, 0);
        assert!(called.out.contains("max-turns"), "{shell}");
    }
    let completions = place.call(&["completions", "fish"]).out;
    let of = |command: &str, flag: &str| {
        let line = |line: &str| line.contains(&format!("subcommand {command}\"")) && line.contains(&format!(" -l {flag} "));
        completions.lines().any(line)
    };
    assert!(of("chat", "tools") && of("acp", "yes") && !of("models", "tools") && !of("chat", "output"), "{completions}");
    assert_eq!(place.call(&["completions", "dos"]).code, 2);
    let called = place.call(&["man"]);
    assert!(called.code == 0 && called.out.contains(".TH agent 1") && called.out.contains("max\\-turns"), "{called:?}");
    let called = place.call(&["man", "auth", "login"]);
    assert!(
        called.code == 0 && called.out.contains(".TH agent-auth-login 1") && called.out.contains("key\\-stdin"),
        "{called:?}"
    );
    let called = place.call(&["man", "nope"]);
    assert!(called.code == 2 && called.err.contains("there is no command \"nope\" in agent;"), "{called:?}");
    let called = place.call(&["man", "auth", "nope"]);
    assert!(called.code == 2 && called.err.contains("there is no command \"nope\" in agent auth; agent man lists"), "{called:?}");
}
