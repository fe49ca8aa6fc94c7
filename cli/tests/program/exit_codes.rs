use serde_json::json;

use super::*;

#[test]
fn a_run_that_completes_exits_with_0() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let called = place.call(&["agent.toml", "Hi"]);
    assert_eq!((called.code, called.out.as_str(), called.err.as_str()), (0, "Hello.\n", ""));
}

#[test]
fn an_error_exits_with_1_and_says_why() {
    let place = Place::new();
    place.spec(&json!([[{ "error": { "kind": "provider", "message": "the model is broken" } }]]), "max_retries = 0");
    let called = place.call(&["agent.toml", "Hi"]);
    assert_eq!((called.code, called.err.as_str()), (1, "tester: the model is broken\n"));
}

#[test]
fn no_model_and_no_key_is_explained_in_five_lines() {
    let called = Place::new().call(&["Hi"]);
    assert_eq!((called.code, called.err.lines().count(), called.out.as_str()), (1, 5, ""));
    for hint in ["ANTHROPIC_API_KEY", "--base-url", "--model", "--demo"] {
        assert!(called.err.contains(hint), "{}", called.err);
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let wrong: [(&[&str], &str); 18] = [
        (&["--max-cost", "nan", "Hi"], "expected a number of dollars"),
        (&["--bogus"], "unexpected argument '--bogus'"),
        (&["--max-turns", "many", "Hi"], "invalid value 'many' for '--max-turns <N>'"),
        (&["--thinking", "much", "Hi"], "possible values: off, minimal"),
        (&["agent.toml"], "there is nothing to ask"),
        (&["agent.toml", "--tools", "read_fil", "Hi"], "built-in tool"),
        (&["agent.toml", "--system", "@none.txt", "Hi"], "none.txt cannot be read"),
        (&["agent.toml", "--input", "none.txt"], "none.txt cannot be read"),
        (&["agent.toml", "--output", "none/out.txt", "Hi"], "none/out.txt cannot be written"),
        (&["agent.toml", "--mcp", "a 'b", "Hi"], "a quote is not closed"),
        (&["--spec", "none.toml", "Hi"], "none.toml cannot be read"),
        (&["none.toml", "Hi"], "none.toml: there is no such file"),
        (&["agent.toml", "--mcp", "", "Hi"], "--mcp: expected a command line, an address or a JSON file"),
        (&["chat", "--spec", "agent.toml", "--json"], "chat has no flag --json"),
        (&["chat", "--spec", "agent.toml", "--history", "h.jsonl"], "chat has no flag --history"),
        (&["chat", "--spec", "agent.toml", "--output", "o.txt"], "chat has no flag --output"),
        (&["--model", "no-slash", "Hi"], "no-slash"),
        (&["--quiet", "--verbose", "Hi"], "cannot be used with"),
    ];
    for (arguments, why) in wrong {
        let called = place.call(arguments);
        assert_eq!(called.code, 2, "{arguments:?}: {called:?}");
        assert!(called.err.contains(why), "{arguments:?}: {called:?}");
        assert_eq!(called.out, "", "{arguments:?}");
    }
}

#[test]
fn limits_and_budgets_exit_with_3() {
    let place = Place::new();
    let script = json!([calls("todo", json!({ "items": [] })), calls("todo", json!({ "items": [] }))]);
    place.spec(&script, "tools = [\"todo\"]");
    let called = place.call(&["agent.toml", "--max-turns", "1", "Hi"]);
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("the run ended: max_turns (1)"), "{called:?}");

    place.spec(&script, "tools = [\"todo\"]\nmax_tool_calls = 1");
    let called = place.call(&["agent.toml", "Hi"]);
    assert_eq!(called.code, 3, "{called:?}");
    assert!(called.err.contains("the run ended: budget: max_tool_calls is at 2 of 1"), "{called:?}");
}

#[test]
fn a_refusal_exits_with_5() {
    let place = Place::new();
    place.spec(&json!([[{ "delta": "I will not." }, { "end": "refusal" }]]), "");
    let called = place.call(&["agent.toml", "Hi"]);
    assert_eq!((called.code, called.out.as_str()), (5, "I will not.\n"));
}

/// What the program exits with if this signal comes in the middle of an answer.
#[cfg(unix)]
fn exits_after(signal: &str) -> Option<i32> {
    let slow = agent_mock::Answer::message(agent_mock::Speech::text("It begins, and goes on.")).frame_delay_ms(2_000);
    let mock = agent_mock::Mock::start(agent_mock::Script::new().answer(slow));
    let place = Place::new();
    let mut child = place.command(&["--base-url", &mock.url(), "Hi"]).spawn().unwrap();
    // It has begun when its first text is there.
    let mut first = [0];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap().code()
}

#[cfg(unix)]
#[test]
fn an_interrupt_aborts_and_exits_with_130() {
    assert_eq!(exits_after("-INT"), Some(130));
}

#[cfg(unix)]
#[test]
fn an_interrupt_between_two_lines_of_a_pipe_leaves() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    let mut child = place.command(&["chat", "agent.toml"]).stdin(Stdio::piped()).spawn().unwrap();
    // It waits for a line when this one is answered. The next one does not come.
    child.stdin.as_mut().unwrap().write_all(b"Hi\n").unwrap();
    let mut shown = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(shown.any(|line| line.unwrap() == "Hello."));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[cfg(unix)]
#[test]
fn a_signal_that_ends_it_has_its_code() {
    assert_eq!([exits_after("-TERM"), exits_after("-HUP")], [Some(143), Some(129)]);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_ends_the_program_without_a_word() {
    let place = Place::new();
    place.spec(&says(&["Hello."]), "");
    for arguments in [&["models", "--json"][..], &["chat", "agent.toml"]] {
        let mut child = place.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        // It may be over before it reads.
        let _ = child.stdin.take().unwrap().write_all(b"Hi\nAnd now?\n");
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(141), b"".as_slice()), "{arguments:?}");
    }
}
