use agent_mock::{Answer, Mock, Script, Speech};
use serde_json::json;

use super::*;

#[test]
fn the_prompt_comes_from_words_files_and_standard_input() {
    let place = Place::new();
    place.write("notes.txt", "the notes");
    let asked = |arguments: &[&str], input: &str| {
        let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
        let url = mock.url();
        let called = place.call_with(&[&["--base-url", url.as_str()], arguments].concat(), input);
        assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
        let body: Value = mock.requests()[0].body.clone();
        body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
    };
    assert_eq!(asked(&["what", "is", "it"], ""), "what is it");
    assert_eq!(asked(&["-"], "from a pipe"), "from a pipe");
    assert_eq!(asked(&[], "from a pipe"), "from a pipe");
    assert_eq!(asked(&["review", "-"], "a change"), "review\n\na change");
    assert_eq!(asked(&["--input", "notes.txt", "sum", "up"], ""), "sum up\n\nthe notes");
    assert_eq!(asked(&["--", "models", "of the world"], ""), "models of the world");
}

#[test]
fn a_file_that_is_an_image_is_one() {
    let place = Place::new();
    let pixel = [137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0, 144, 119];
    std::fs::write(place.path("pixel.png"), pixel).unwrap();
    place.spec(&says(&["A pixel."]), "");
    let called = place.call(&["agent.toml", "--json", "--input", "pixel.png", "What is it?"]);
    assert_eq!(called.code, 0, "{called:?}");
    let events = lines(&called.out);
    let message = events.iter().find(|event| event["type"] == "message_start").unwrap();
    assert_eq!(message["message"]["content"][0]["text"], "What is it?");
    assert_eq!(message["message"]["content"][1]["mime_type"], "image/png");

    // What it is, its first bytes say; what no text has is no text.
    std::fs::write(place.path("plain.pdf"), "%PDF-1.4\n").unwrap();
    let called = place.call(&["agent.toml", "--json", "--input", "plain.pdf", "What is it?"]);
    assert!(called.out.contains("\"mime_type\":\"application/pdf\""), "{called:?}");
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let called = place.call(&["--base-url", &mock.url(), "--input", "plain.pdf", "What is it?"]);
    assert!(called.err.contains("a line of text says that a file was here"), "the model does not get it: {called:?}");
    std::fs::write(place.path("zeros"), [0; 64]).unwrap();
    let called = place.call(&["agent.toml", "--input", "zeros", "What is it?"]);
    assert!(called.code == 2 && called.err.contains("zeros is no text, image or PDF document"), "{called:?}");
    let called = place.call(&["agent.toml", "-s", "@", "Hi"]);
    assert!(called.code == 2 && called.err.contains("--system: expected a text, or @ and the path of a file"), "{called:?}");

    // The provider would refuse it with each request that follows.
    std::fs::write(place.path("other.png"), [0xff, 0xd8, 0xff, 0xe0]).unwrap();
    std::fs::write(place.path("none.png"), [0xfe; 32]).unwrap();
    for (name, why) in [("other.png", ""), ("none.png", "none.png: its type is given as image/png, and does not begin as")] {
        let called = place.call(&["agent.toml", "--input", name, "What is it?"]);
        assert_eq!(called.code, if why.is_empty() { 0 } else { 2 }, "its bytes say what a file is: {called:?}");
        assert!(called.err.contains(why), "{called:?}");
    }
}

#[test]
fn what_the_request_is_made_of_comes_from_flags() {
    let place = Place::new();
    place.write("prompt.txt", "Be brief.\n");
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let url = mock.url();
    let arguments =
        ["-m", "anthropic/claude-sonnet-4-5", "--base-url", &url, "-s", "@prompt.txt", "-t", "todo", "--thinking", "low", "Hi"];
    let mut command = place.command(&arguments);
    command.env("ANTHROPIC_API_KEY", "sk-test-1234567890");
    let called = called(command, "");
    assert_eq!(called.code, 0, "{called:?}");
    let request = &mock.requests()[0];
    let body: Value = request.body.clone();
    assert_eq!(request.path, "/v1/messages");
    assert_eq!(body["model"], "claude-sonnet-4-5");
    assert!(body["system"].to_string().contains("Be brief."), "{body}");
    assert_eq!(body["tools"][0]["name"], "todo");
    assert!(body["thinking"].is_object(), "{body}");
}

#[test]
fn the_environment_names_model_and_server() {
    let place = Place::new();
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let mut command = place.command(&["Hi"]);
    command.env("AGENT_BASE_URL", mock.url()).env("AGENT_MODEL", "local/tiny");
    let called = called(command, "");
    assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
    let body: Value = mock.requests()[0].body.clone();
    assert_eq!(body["model"], "tiny");
}

#[test]
fn the_answer_goes_to_a_file() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let called = place.call(&["agent.toml", "--output", "out.txt", "Hi"]);
    assert_eq!((called.code, called.out.as_str(), place.read("out.txt").as_str()), (0, "", "Hello.\n"));
}

#[test]
fn events_are_json_lines() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let events = lines(&place.call(&["agent.toml", "--json", "Hi"]).out);
    assert_eq!(events.first().unwrap()["type"], "agent_start");
    assert_eq!(events.last().unwrap()["outcome"], "completed");
    assert!(events.iter().enumerate().all(|(at, event)| event["seq"] == at));

    place.call(&["agent.toml", "--json", "--output", "events.jsonl", "Hi"]);
    assert_eq!(lines(&place.read("events.jsonl")).len(), events.len());
}

#[test]
fn tools_are_shown_on_standard_error_unless_it_is_to_be_quiet() {
    let place = Place::new();
    let script = json!([calls("todo", json!({ "items": [] })), [{ "delta": "Done." }, { "end": "stop" }]]);
    place.spec(&script, "tools = [\"todo\"]");
    let called = place.call(&["agent.toml", "Hi"]);
    assert_eq!((called.out.as_str(), called.err.as_str()), ("Done.\n", "- todo []\n"));
    let called = place.call(&["agent.toml", "--quiet", "Hi"]);
    assert_eq!((called.out.as_str(), called.err.as_str()), ("Done.\n", ""));
}

#[test]
fn requests_are_shown_without_keys() {
    let place = Place::new();
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let url = mock.url();
    let mut command = place.command(&["--base-url", &url, "-m", "openai/gpt-5.1", "--verbose", "my key is sk-test-1234567890"]);
    command.env("OPENAI_API_KEY", "sk-test-1234567890");
    let called = called(command, "");
    assert_eq!((called.code, called.out.as_str()), (0, "Yes.\n"), "{called:?}");
    assert!(called.err.starts_with("> openai/gpt-5.1: {"), "{called:?}");
    assert!(called.err.contains("< openai: HTTP 200"), "{called:?}");
    assert!(called.err.contains("[redacted]") && !called.err.contains("sk-test"), "{called:?}");
}

#[test]
fn a_history_is_gone_on_with() {
    let place = Place::new();
    place.spec(&says(&["First.", "Second."]), "");
    let called = place.call(&["agent.toml", "--history", "talk.jsonl", "One?"]);
    assert_eq!(called.code, 0, "{called:?}");
    place.call(&["agent.toml", "--history", "talk.jsonl", "Two?"]);
    let roles: Vec<Value> = lines(&place.read("talk.jsonl")).iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let checked = place.call(&["transcript", "check", "talk.jsonl"]);
    assert_eq!(checked.code, 0, "{checked:?}");

    place.write("broken.jsonl", "{\"role\": \"user\", \"content\": \"a\"}\nno json\n");
    let called = place.call(&["agent.toml", "--history", "broken.jsonl", "Hi"]);
    assert_eq!(called.code, 2, "{called:?}");
    assert!(called.err.contains("broken.jsonl: line 2: no JSON"), "{called:?}");
}

#[test]
fn a_history_stays_readable() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let list = place.write("list.json", "[{\"role\": \"user\", \"content\": \"a\"}]");
    let called = place.call(&["agent.toml", "--history", shown(&list), "Hi"]);
    assert_eq!(called.code, 2, "{called:?}");
    assert!(called.err.contains("is a JSON list") && place.read("list.json").ends_with(']'), "{called:?}");

    place.write("open.jsonl", "{\"role\": \"user\", \"content\": \"a\"}");
    assert_eq!(place.call(&["agent.toml", "--history", "open.jsonl", "Hi"]).code, 0);
    assert_eq!(lines(&place.read("open.jsonl")).len(), 3);
}

#[test]
fn a_file_keeps_what_was_in_it_until_there_is_an_answer() {
    let place = Place::new();
    place.write("notes.md", "old");
    place.spec(&json!([[{ "error": { "kind": "provider", "message": "broken" } }]]), "max_retries = 0");
    assert_eq!(place.call(&["agent.toml", "--output", "notes.md", "Hi"]).code, 1);
    assert_eq!(place.call(&["agent.toml", "--output", "notes.md"]).code, 2);
    assert_eq!(place.read("notes.md"), "old");
    place.spec(&says(&["new"]), "");
    assert_eq!(place.call(&["agent.toml", "--output", "notes.md", "Hi"]).code, 0);
    assert_eq!(place.read("notes.md"), "new\n");
}

#[test]
fn built_in_tools_stay_in_the_root_those_of_subagents_too() {
    let place = Place::new();
    std::fs::create_dir(place.path("inner")).unwrap();
    place.write("inner/a.txt", "inside");
    place.write("a.txt", "outside");
    let read = calls("read_file", json!({ "path": "a.txt" }));
    let ends = json!([{ "delta": "Done." }, { "end": "stop" }]);
    let inner = toml(&json!([read, ends]));
    let agents = format!(
        "tools = [\"read_file\"]\n[[agents]]\nname = \"reader\"\ntools = [\"read_file\"]\n\
         model = {{ provider = \"scripted\", id = \"r\", script = {inner} }}"
    );
    place.spec(&json!([read, calls("reader", json!({ "prompt": "Read." })), ends]), &agents);
    let called = place.call(&["agent.toml", "--root", "inner", "--json", "Hi"]);
    assert_eq!(called.code, 0, "{called:?}");
    assert!(called.out.matches("\"text\":\"inside").count() > 1, "{called:?}");
    assert!(!called.out.contains("outside"), "{called:?}");
}

#[test]
fn the_answer_comes_also_where_nobody_reads_standard_error() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let mut command = place.command(&["agent.toml", "--verbose", "Hi"]);
    command.stderr(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let called = called(command, "");
    assert_eq!((called.code, called.out.as_str()), (0, "Hello.\n"));
}

#[test]
fn a_cost_limit_needs_prices() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let called = place.call(&["agent.toml", "--max-cost", "0.5", "Hi"]);
    assert!(called.code != 0 && called.err.contains("max_cost"), "{called:?}");
}

#[test]
fn the_demo_needs_nothing() {
    let called = Place::new().call(&["--demo"]);
    assert_eq!(called.code, 0, "{called:?}");
    assert_eq!(called.out, "I multiply first.\n\n23 × 19 + 5 = 442.\n");
    assert_eq!(called.err, "- multiply a=23 b=19\n- add a=437 b=5\n");
}

#[test]
fn help_and_version_are_no_mistakes() {
    let place = Place::new();
    for flag in ["--help", "-h", "help"] {
        let called = place.call(&[flag]);
        assert_eq!(called.code, 0);
        assert!(called.out.contains("Exit codes: 0 completed"), "{called:?}");
    }
    for flag in ["--version", "-V"] {
        assert_eq!(place.call(&[flag]).out, format!("agent {}\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn an_answer_that_was_cut_is_said_to_be() {
    let place = Place::new();
    place.spec(&json!([[{ "delta": "Once upon" }, { "end": "length" }]]), "");
    let called = place.call(&["agent.toml", "A story?"]);
    assert_eq!((called.code, called.out.as_str()), (0, "Once upon\n"));
    assert_eq!(called.err, "the answer is cut: the model has reached the most tokens of an answer\n");
}

#[test]
fn a_call_that_is_approved_is_listed_once() {
    let place = Place::new();
    let call = calls("write_file", json!({ "path": "a.txt", "content": "new" }));
    place.spec(&json!([call, [{ "delta": "Done." }, { "end": "stop" }]]), "tools = [\"write_file\"]");
    let called = place.call(&["agent.toml", "--yes", "Write."]);
    assert_eq!((called.code, called.err.matches("- write_file").count()), (0, 1), "{called:?}");
}

#[test]
fn a_file_with_something_else_in_it_is_no_recording() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    place.write("precious.txt", "precious\n");
    let called = place.call(&["agent.toml", "--record", "precious.txt", "Hi"]);
    assert!(called.code == 2 && called.err.contains("precious.txt: there is something else in this file"), "{called:?}");
    assert_eq!(place.read("precious.txt"), "precious\n");
}

#[test]
fn limits_hold_where_all_calls_are_approved() {
    let place = Place::new();
    let call = calls("write_file", json!({ "path": "a.txt", "content": "new" }));
    place.spec(&json!([call, call, call, call, [{ "delta": "Done." }, { "end": "stop" }]]), "tools = [\"write_file\"]");
    let called = place.call(&["agent.toml", "--yes", "--max-turns", "2", "Write."]);
    assert_eq!((called.code, called.err.matches("- write_file").count()), (3, 1), "{called:?}");
    assert!(called.err.ends_with("the run ended: max_turns (2)\n"), "{called:?}");
}

#[test]
fn a_root_is_a_folder_also_without_tools() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["agent.toml", "--root", "none", "Hi"]);
    assert!(called.code == 2 && called.err.contains("--root: none is no folder"), "{called:?}");
    assert_eq!(place.call(&["agent.toml", "--root", ".", "Hi"]).code, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn what_could_not_be_recorded_is_said() {
    let place = Place::new();
    let lost = ": the recording /dev/full cannot be written (No space left on device (os error 28)): the run was not recorded;";
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["agent.toml", "--record", "/dev/full", "Hi"]);
    assert!(called.code == 1 && called.out == "Hi.\n" && called.err.contains(lost), "{called:?}");
    // It does not hide how the run has ended.
    place.spec(&json!([calls("write_file", json!({ "path": "a", "content": "b" }))]), "tools = [\"write_file\"]");
    let called = place.call(&["agent.toml", "--record", "/dev/full", "Write."]);
    assert!(called.code == 4 && called.err.contains(lost) && called.err.contains("wait for approval"), "{called:?}");
}

#[test]
fn a_prompt_is_not_lost_without_a_word_while_calls_wait() {
    let place = Place::new();
    place.spec(&json!([calls("write_file", json!({ "path": "a", "content": "b" }))]), "tools = [\"write_file\"]");
    assert_eq!(place.call(&["agent.toml", "--session", "s", "Write."]).code, 4);
    let called = place.call(&["agent.toml", "--session", "s", "Another."]);
    assert!(called.code == 4 && called.err.ends_with("\nthe prompt was not sent\n"), "{called:?}");
}

#[test]
fn one_file_is_not_for_two_flags() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    place.write("k.jsonl", "{\"role\":\"user\",\"content\":\"Hi\"}\n");
    let wrong: [(&[&str], &str); 5] = [
        (&["agent.toml", "--output", "agent.toml", "Hi"], "the spec and --output are the same file"),
        (&["agent.toml", "--history", "k.jsonl", "--output", "./k.jsonl", "Hi"], "--history and --output are the same file"),
        (&["agent.toml", "--record", "new", "--output", "new", "Hi"], "the recording and --output are the same file, new: name"),
        (&["--spec", "agent.toml", "--output", "agent.toml", "Hi"], "the spec and --output are the same file"),
        (&["replay", "k.jsonl", "--output", "k.jsonl"], "the recording and --output are the same file"),
    ];
    for (arguments, why) in wrong {
        let called = place.call(arguments);
        assert!(called.code == 2 && called.err.contains(why) && called.out.is_empty(), "{arguments:?}: {called:?}");
    }
    assert_eq!(place.read("k.jsonl").lines().count(), 1);
}

#[test]
fn a_misspelt_model_is_said_to_be() {
    let place = Place::new();
    place.write("agent.toml", "name = \"a\"\nmodle = \"openai/gpt-4o\"\n");
    let called = place.call(&["agent.toml", "Hi"]);
    assert!(called.code == 2 && called.err.contains("agent.toml: unknown option \"modle\""), "{called:?}");
}

#[cfg(unix)]
#[test]
fn what_has_no_end_is_not_read_for_ever() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["agent.toml", "--input", "/dev/zero", "Hi"]);
    assert!(called.code == 2 && called.err.contains("/dev/zero has more than 100 MB, which no model reads"), "{called:?}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_read_as_a_file_is() {
    let place = Place::new();
    place.spec(&says(&["A page."]), "");
    let called = place.call_with(&["agent.toml", "--json", "--input", "/dev/stdin", "What is it?"], "%PDF-1.4\n");
    assert!(called.code == 0 && called.out.contains("\"mime_type\":\"application/pdf\""), "{called:?}");
}

#[cfg(unix)]
#[test]
fn a_history_has_an_end() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["agent.toml", "--history", "/dev/zero", "Hi"]);
    assert!(called.code == 2 && called.err.contains("/dev/zero is no plain file"), "{called:?}");
    assert_eq!(place.call(&["agent.toml", "--history", "/dev/null", "Hi"]).code, 0);
}

#[test]
fn what_has_no_runs_is_no_page() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["view", "agent.toml"]);
    assert!(called.code == 2 && called.err.contains("put --spec before its path"), "{called:?}");
    let called = place.call(&["view", "."]);
    assert!(called.code == 2 && called.err.contains(". is no plain file"), "{called:?}");
    // A session of the name of a folder is one.
    std::fs::create_dir(place.path("docs")).unwrap();
    assert_eq!(place.call(&["agent.toml", "--session", "docs", "Hi"]).code, 0);
    let called = place.call(&["agent.toml", "view", "docs", "--export", "run.html"]);
    assert!(called.code == 0 && place.read("run.html").contains("Hi."), "{called:?}");
}

#[test]
fn a_plugin_that_is_not_there_is_wrong_usage() {
    let place = Place::new();
    place.spec(&says(&["Hi."]), "");
    let called = place.call(&["agent.toml", "--plugin", "./none.so", "Hi"]);
    assert!(called.code == 2 && called.err.contains("there is no such file"), "{called:?}");
}
