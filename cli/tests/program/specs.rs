use serde_json::json;

use super::*;

#[test]
fn ten_lines_of_toml_are_an_agent() {
    let place = Place::new();
    let spec = r#"#!/usr/bin/env agent
name = "planner"
description = "Plans work."
system_prompt_file = "prompt.md"
tools = ["todo"]
max_turns = 5

[model]
provider = "scripted"
id = "demo"
script = [[{ delta = "First, look." }, { end = "stop" }]]
"#;
    place.write("prompt.md", "Plan first.");
    let path = place.write("planner.toml", spec);
    let called = place.call(&[shown(&path), "Tidy up."]);
    assert_eq!((called.code, called.out.as_str()), (0, "First, look.\n"), "{called:?}");
    let called = place.call(&["--spec", "planner.toml", "Tidy up."]);
    assert_eq!((called.code, called.out.as_str()), (0, "First, look.\n"), "{called:?}");
}

#[test]
fn agents_of_a_spec_are_tools() {
    let place = Place::new();
    let inner = toml(&says(&["Paris."]));
    let script =
        json!([calls("geographer", json!({ "prompt": "The capital?" })), [{ "delta": "It is Paris." }, { "end": "stop" }]]);
    let agents = format!(
        "[[agents]]\nname = \"geographer\"\ndescription = \"Knows places.\"\n\
         model = {{ provider = \"scripted\", id = \"g\", script = {inner} }}"
    );
    place.spec(&script, &agents);
    let called = place.call(&["agent.toml", "--json", "France?"]);
    assert_eq!(called.code, 0, "{called:?}");
    let results: Vec<Value> = lines(&called.out).into_iter().filter(|event| event["type"] == "tool_execution_end").collect();
    assert_eq!(results[0]["result"]["content"][0]["text"], "Paris.");
}

#[test]
fn wrong_specs_are_explained() {
    let place = Place::new();
    for (text, why) in [
        ("description = \"x\"", "agent.toml: name is missing"),
        ("name = \"x\"\nmodel = ", "agent.toml: line 2, column 9: "),
        ("name = \"../up\"\nmodel = \"openai/gpt-5.1\"", "use letters, digits"),
        ("name = 7", "agent.toml: name: expected a text"),
        ("name = \"x\"\nmodel = \"openai/gpt-5.1\"\nmax_turn = 3", "did you mean \"max_turns\""),
        ("name = \"x\"\nsystem_prompt_file = \"none.md\"", "system_prompt_file: "),
        ("name = \"x\"\nagents = 3", "agents: expected a list"),
        ("name = \"x\"\nmodel = \"openai/gpt-5.1\"\ntools = [\"reed_file\"]", "built-in tool"),
        ("name = \"x\"\nmodel = \"openai/gpt-5.1\"\nroot = \"none\"\ntools = [\"todo\"]", "root: "),
    ] {
        place.write("agent.toml", text);
        let called = place.call(&["agent.toml", "Hi"]);
        assert!(called.code == 2 || text.contains("none.md"), "{text}: {called:?}");
        assert!(called.err.contains(why), "{text}: {called:?}");
    }
}

#[test]
fn flags_come_before_the_spec() {
    let place = Place::new();
    place.spec(&json!([calls("todo", json!({ "items": [] })), [{ "delta": "Done." }, { "end": "stop" }]]), "max_turns = 1");
    let called = place.call(&["agent.toml", "--tools", "todo", "--max-turns", "3", "Hi"]);
    assert_eq!((called.code, called.out.as_str()), (0, "Done.\n"), "{called:?}");
}

#[test]
fn help_and_version_are_those_of_the_spec() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "description = \"Tests things.\"\nversion = \"7.1\"");
    for arguments in
        [&["agent.toml", "--help"][..], &["--spec", "agent.toml", "--help"], &["chat", "--spec=agent.toml", "--help"]]
    {
        let called = place.call(arguments);
        assert!(called.code == 0 && called.out.contains("Usage: agent"), "{arguments:?}: {called:?}");
    }
    assert!(place.call(&["agent.toml", "--help"]).out.starts_with("Tests things.\n"));
    assert_eq!(place.call(&["agent.toml", "--version"]).out, "tester 7.1\n");
}

#[test]
fn a_line_of_a_file_that_is_no_toml_is_not_shown() {
    let place = Place::new();
    place.write("agent.toml", "name = \"x\"\napi_key = \"secret\" \"more\"\n");
    let called = place.call(&["agent.toml", "Hi"]);
    assert!(called.err.starts_with("agent: agent.toml: line 2, column 20: ") && !called.err.contains("secret"), "{called:?}");
}

#[test]
fn a_wrong_option_of_a_spec_is_said_with_its_file() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "max_turns = \"many\"");
    let called = place.call(&["agent.toml", "Hi"]);
    assert!(called.code == 2 && called.err.starts_with("agent: agent.toml: option \"max_turns\""), "{called:?}");
    let called = place.call(&["agent.toml", "--max-turns", "2", "--model", "no-slash", "Hi"]);
    assert!(called.code == 2 && !called.err.contains("agent.toml"), "it is the flag that is wrong: {called:?}");
}

#[test]
fn programs_of_mcp_servers_are_looked_for_from_the_file() {
    let place = Place::new();
    std::fs::create_dir(place.path("inner")).unwrap();
    place.write("inner/agent.toml", "name = \"x\"\n[[mcp]]\ncommand = \"./none\"\nargs = []\n");
    let called = place.call(&["mcp", "list", "--spec", "inner/agent.toml"]);
    assert!(called.code == 1 && called.err.contains("inner/./none"), "{called:?}");
}
