use agent_mock::{Answer, Mock, Script, Speech};
use serde_json::json;

use super::*;

fn chat(place: &Place, arguments: &[&str], input: &str) -> Called {
    place.call_with(&[&["chat", "--spec", "agent.toml"], arguments].concat(), input)
}

#[test]
fn lines_of_a_pipe_are_prompts() {
    let place = Place::new();
    place.spec(&says(&["First **one**.", "Second."]), "");
    let called = chat(&place, &["--session", "talk", "--quiet"], "One?\n\nTwo?\n");
    assert_eq!((called.code, called.out.as_str()), (0, "First **one**.\nSecond.\n"), "{called:?}");
    let listed = place.call(&["--spec", "agent.toml", "sessions"]);
    let columns: Vec<&str> = listed.out.split_whitespace().collect();
    assert!(matches!(columns[..], ["talk", _, "s", "One?"]), "when it was, and what it is about: {listed:?}");
    let called = chat(&place, &["--session", "talk", "Three?"], "");
    assert!(called.out.contains("4 messages so far\nFirst"), "{called:?}");
}

#[test]
fn each_command_does_what_it_says() {
    let place = Place::new();
    place.spec(&says(&["First.", "Second."]), "tools = [\"todo\"]");
    let says = |input: &str| chat(&place, &["--session", "talk"], input);
    let after = |input: &str, expected: &str| {
        let called = says(input);
        assert!(called.code == 0 && called.out.contains(expected), "{input:?}: {called:?}");
    };
    after("/help\n", "/compact ");
    after("/model\n", "\nscripted/s\n");
    after("/model local/other\n", "unknown provider \"local\"");
    after("/tools\n", "\ntodo\n");
    after("/tools tdo\n", "did you mean \"todo\"");
    after("Hi\n/cost\n", "0 tokens read, 0 written: the price of the model is not known\n");
    after("/fork copy\n/sessions\n", "\n* copy ");
    after("/sessions copy\n", "session copy · todo · /help\n2 messages so far\n");
    after("/new\n/sessions\n", "\n  talk ");
    let listed = place.call(&["--spec", "agent.toml", "sessions"]).out;
    assert_eq!(listed.lines().count(), 2, "a session in which nothing was said is none: {listed}");
    after("/tools none\n", "\nno tools\n");
    after("/image none.png\n", "/image: none.png is no file\n");
    after("Look at none.png\n", "none.png is no file here: the model gets its name alone\n");
    after("/compact\n", "answered from a summary");
    after("/image\n", "/image: which file?");
    after("/paste\n", "no image in the clipboard");
    after("/nothing\n", "there is no command /nothing; /help lists them");
    assert!(says("/quit\nNever asked\n").out.ends_with("/help\n4 messages so far\n"));
    let exits = ["/exit\n", "/quit\n", ""];
    assert!(exits.iter().all(|input| says(input).code == 0));
}

#[test]
fn a_path_is_no_command() {
    let place = Place::new();
    place.spec(&says(&["A folder."]), "");
    let called = chat(&place, &["--quiet"], "/etc/hosts is what?\n");
    assert_eq!(called.out, "A folder.\n");
}

#[test]
fn a_prompt_is_answered_from_a_summary_after_compact() {
    let place = Place::new();
    let long = "x ".repeat(3_000);
    place.spec(&says(&[&long, &long, "They said x.", "Yes."]), "");
    let called = chat(&place, &["--session", "talk", "--quiet"], "One?\nTwo?\n/compact\nThree?\n");
    assert!(called.code == 0 && called.out.ends_with("Yes.\n"), "{called:?}");
    let messages = lines(&place.call(&["--spec", "agent.toml", "sessions", "show", "talk", "--json"]).out);
    assert!(messages.iter().any(|message| message["role"] == "context_summary"), "{messages:?}");
}

#[test]
fn a_piped_conversation_exits_as_its_last_run() {
    let place = Place::new();
    std::fs::write(place.path("a.txt"), "old").unwrap();
    let call = calls("write_file", json!({ "path": "a.txt", "content": "new" }));
    place.spec(&json!([call, [{ "delta": "Done." }, { "end": "stop" }]]), "tools = [\"write_file\"]");
    let called = chat(&place, &["--session", "s"], "Write.\n");
    assert_eq!((called.code, place.read("a.txt").as_str()), (4, "old"), "{called:?}");
    assert!(called.out.contains("write_file: ") && called.out.contains("\n  path: a.txt\n  content: new\n"), "{called:?}");
    place.spec(&says(&["Written."]), "tools = [\"write_file\"]");
    let called = chat(&place, &["--session", "s"], "show\ny\n");
    assert_eq!((called.code, place.read("a.txt").as_str()), (0, "new"), "{called:?}");
}

#[test]
fn failures_do_not_end_the_conversation() {
    let place = Place::new();
    let fails = json!([{ "error": { "kind": "provider", "message": "the model is broken" } }]);
    place.spec(&json!([fails, [{ "delta": "Now it works." }, { "end": "stop" }]]), "max_retries = 0");
    let called = chat(&place, &["--quiet"], "One?\nTwo?\n");
    assert_eq!((called.code, called.out.as_str()), (0, "the model is broken\nNow it works.\n"));
}

#[test]
fn writes_are_taken_back() {
    let place = Place::new();
    place.write("a.txt", "old");
    let call = calls("write_file", json!({ "path": "a.txt", "content": "new" }));
    place.spec(&json!([call, [{ "delta": "Done." }, { "end": "stop" }]]), "tools = [\"write_file\"]");
    let called = chat(&place, &["--yes", "--quiet"], "Write.\n/undo\n/undo\n/undo many\n");
    assert_eq!(place.read("a.txt"), "old", "{called:?}");
    let expected =
        "Done.\na.txt: restored\nnothing was written that could be taken back\n/undo: expected how many writes, such as 2\n";
    assert_eq!(called.out, expected);
}

/// A server that answers so often, and a model of this provider there.
fn served(provider: &str, answers: usize) -> (Mock, String) {
    let answer = || Answer::message(Speech::text("Yes."));
    let mock = Mock::start((0..answers).fold(Script::new(), |script, _| script.answer(answer())));
    let model = json!({ "provider": provider, "id": "m", "base_url": mock.url() });
    (mock, model.to_string())
}

#[test]
fn the_key_of_a_provider_goes_to_no_other_one() {
    let place = Place::new();
    let ((openai, first), (mistral, second)) = (served("openai", 2), served("mistral", 3));
    let model = toml(&serde_json::from_str(&first).unwrap());
    place.write("agent.toml", &format!("name = \"tester\"\nmodel = {model}\napi_key = \"sk-openai-1234\"\n"));
    let lines = format!("Hi\n/model {second}\nHi\n/new\nHi\n/fork\nHi\n/model {first}\n/new\nHi\n");
    let mut command = place.command(&["chat", "--spec", "agent.toml"]);
    command.env("MISTRAL_API_KEY", "sk-mistral-1234").stdin(std::process::Stdio::piped());
    let called = called(command, &lines);
    assert_eq!(called.code, 0, "{called:?}");
    let keys = |mock: &Mock| mock.requests().iter().map(|request| request.headers["authorization"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(&openai), ["Bearer sk-openai-1234"; 2], "{called:?}");
    assert_eq!(keys(&mistral), ["Bearer sk-mistral-1234"; 3], "{called:?}");
}

#[test]
fn leaving_deletes_no_session_that_was_there() {
    let place = Place::new();
    place.spec(&says(&["First."]), "");
    let list = || place.call(&["--spec", "agent.toml", "sessions"]).out;
    assert_eq!(chat(&place, &["--session", "talk"], "/fork copy\n").code, 0);
    assert!(list().contains("copy"), "one that another chat has begun");
    assert_eq!(chat(&place, &["--session", "copy"], "").code, 0);
    assert!(list().contains("copy"), "{}", list());
    assert!(!list().contains("talk"), "nothing was said in it");
}

#[test]
fn a_session_that_is_not_there_is_not_begun() {
    let place = Place::new();
    place.spec(&says(&["Yes."]), "");
    let called = chat(&place, &["--session", "talk"], "/sessions tolk\nHi\n");
    assert!(called.out.contains("there is no session \"tolk\"; /sessions lists them, /new begins one"), "{called:?}");
    let listed = place.call(&["--spec", "agent.toml", "sessions"]);
    assert!(listed.out.contains("talk") && !listed.out.contains("tolk"), "{listed:?}");
}

#[test]
fn a_command_decides_about_no_call() {
    let place = Place::new();
    let write = calls("write_file", json!({ "path": "a.txt", "content": "one" }));
    place.spec(&json!([write, [{ "delta": "Done." }, { "end": "stop" }]]), "tools = [\"write_file\"]");
    let called = chat(&place, &["--session", "talk"], "Write.\n/cost\n/help\ny\n");
    assert!(called.out.contains("/cost: commands are done when this is decided"), "{called:?}");
    assert!(called.out.contains("Done.") && place.read("a.txt") == "one", "{called:?}");

    // The input ends at the question.
    let called = chat(&place, &["--session", "other"], "Write.\n");
    assert_eq!(called.code, 4, "{called:?}");
    let called = chat(&place, &["--session", "talk"], "/undo\n");
    assert!(called.out.contains("a.txt: "), "{called:?}");
    assert!(!place.path("a.txt").exists());
    let shown = place.call(&["--spec", "agent.toml", "sessions", "show", "talk"]).out;
    assert!(shown.lines().any(|line| line.starts_with("undo_writes: {") && line.contains("a.txt")), "{shown}");
}

#[test]
fn a_spec_is_named_before_the_command_or_behind_it() {
    let place = Place::new();
    let spec = place.spec(&says(&["Yes."]), "");
    for arguments in [["chat", "agent.toml"], ["agent.toml", "chat"], [shown(&spec), "chat"]] {
        let called = place.call_with(&arguments, "Hi\n");
        assert!(called.code == 0 && called.out.contains("tester · ") && called.out.contains("Yes."), "{called:?}");
    }
    assert_eq!(place.call(&["agent.toml", "sessions"]).code, 0);
    // Commands with flags of their own, and those that are about no agent.
    let called = place.call(&["agent.toml", "--json", "sessions"]);
    let id = lines(&called.out)[0]["id"].as_str().unwrap().to_owned();
    let called = place.call(&["agent.toml", "view", &id, "--export", "run.html"]);
    assert!(called.code == 0 && place.read("run.html").contains("Yes."), "{called:?}");
    assert!(place.call(&["agent.toml", "man"]).out.contains(".TH tester 1"));
    assert!(place.call(&["agent.toml", "replay", "none.jsonl"]).err.contains("none.jsonl is no file"));
    assert_eq!(place.call(&["agent.toml", "--", "replay", "the events"]).out, "Yes.\n");
    assert_eq!(place.call(&["--", "agent.toml", "models", "of the world"]).out, "Yes.\n");
    assert_eq!(place.call(&["-q", "agent.toml", "view", &id, "--export", "again.html"]).code, 0);
    for arguments in [&["-q", "agent.toml", "chat"][..], &["agent.toml", "--yes", "chat"]] {
        assert!(place.call_with(arguments, "Hi\n").out.contains("Yes."), "{arguments:?}");
    }
    // A prompt that has such a word, or is like a command.
    assert_eq!(place.call(&["agent.toml", "new", "ideas"]).out, "Yes.\n");
    assert!(!place.path("ideas").exists());
    for (word, command) in [("chatt", "chat"), ("sesions", "sessions"), ("session", "sessions"), ("veiw", "view")] {
        let called = place.call(&["agent.toml", word]);
        assert_eq!(called.code, 2, "{called:?}");
        assert!(called.err.contains(&format!("there is no command {word}; did you mean {command}?")), "{called:?}");
        assert_eq!(place.call(&["agent.toml", "--", word]).out, "Yes.\n");
    }
    assert_eq!(place.call(&["agent.toml", "What is a chat?"]).out, "Yes.\n");
}

#[test]
fn a_question_in_a_pipe_is_shown_and_a_prompt_is_no_answer() {
    let place = Place::new();
    place.spec(&json!([calls("run_command", json!({ "command": "touch begun; sleep 60" }))]), "tools = [\"run_command\"]");
    let mut command = place.command(&["chat", "agent.toml", "--yes", "--session", "talk"]);
    let mut chat = command.stdin(Stdio::piped()).spawn().unwrap();
    chat.stdin.as_mut().unwrap().write_all(b"Tell me.\n").unwrap();
    while !place.path("begun").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    chat.kill().unwrap();
    chat.wait().unwrap();

    place.spec(&says(&["Two."]), "");
    let called = chat_in(&place, "new plans?\n");
    assert!(called.out.contains("The last run was not finished. Go on with it? [Y/n]"), "{called:?}");
    assert!(called.out.contains("Two."), "{called:?}");
    let shown = place.call(&["agent.toml", "sessions", "show", "talk"]).out;
    assert!(shown.contains("user: new plans?"), "{shown}");

    let mut command = place.command(&["chat", "agent.toml"]);
    command.stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"caf\xe9\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && err.contains("standard input cannot be read: "), "{err}");
}

fn chat_in(place: &Place, input: &str) -> Called {
    place.call_with(&["chat", "agent.toml", "--session", "talk"], input)
}
