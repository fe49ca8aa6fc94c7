use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, PromptRequest, ResourceLink,
    SetSessionConfigOptionRequest, StopReason, TextResourceContents,
};
use agent_mock::{Answer, Mock, Script, Speech, Stop, Tokens};
use serde_json::json;

use super::block_on;
use super::editor::{Editor, initialize, prompt, session, started, started_as};
use crate::{Place, lines};

#[test]
fn a_prompt_is_answered_as_a_stream() {
    let place = Place::new();
    let mock = Mock::start(Script::new().strict().answer(Answer::message(Speech::text("It rains in Oslo.").piece(4))));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let about = json!(initialize(&agent).await?);
        assert_eq!(about["protocolVersion"], 1);
        assert_eq!(about["agentInfo"]["name"], "agent");
        assert_eq!(about["agentCapabilities"]["loadSession"], true);
        assert_eq!(
            about["agentCapabilities"]["promptCapabilities"],
            json!({ "image": true, "audio": false, "embeddedContext": true })
        );
        let id = session(&agent, &place).await?;
        assert_eq!(prompt(&agent, &id, "Rain in Oslo?").await?, StopReason::EndTurn);
        Ok(())
    }));
    worked.unwrap();
    assert_eq!(editor.text("agent_message_chunk"), "It rains in Oslo.");
    assert!(editor.of("agent_message_chunk").len() > 2, "it comes in pieces");
    assert_eq!(editor.of("session_info_update")[0]["title"], "Rain in Oslo?");
    assert_eq!(editor.of("available_commands_update")[0]["availableCommands"][0]["name"], "compact");
    // Its input is closed: it ends.
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn thinking_and_usage_are_shown() {
    let place = Place::new();
    let usage = Tokens { input: 100, output: 20, ..Tokens::default() };
    let speech = Speech::signed("Let me see.", "c2ln").and_text("Yes.").usage(usage);
    let mock = Mock::start(Script::new().strict().answer(Answer::message(speech)));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--thinking", "low"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        prompt(&agent, &id, "Rain in Oslo?").await
    }));
    assert_eq!(worked.unwrap(), StopReason::EndTurn);
    assert_eq!(editor.text("agent_thought_chunk"), "Let me see.");
    let usage = &editor.of("usage_update")[0];
    assert_eq!(usage["used"], 120);
    assert!(usage["size"].as_u64().unwrap() >= 200_000, "{usage}");
    child.wait().unwrap();
}

#[test]
fn images_and_files_are_part_of_a_prompt() {
    let place = Place::new();
    let mock = Mock::start(Script::new().strict().answer(Answer::message(Speech::text("A pixel."))));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let notes = TextResourceContents::new("all of the notes", "file:///home/me/notes.txt");
    let blocks = vec![
        ContentBlock::from("What is it?"),
        ContentBlock::Image(ImageContent::new(pixel, "image/png")),
        ContentBlock::ResourceLink(ResourceLink::new("a b.rs", "file:///home/me/a%20b.rs")),
        ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(notes))),
    ];
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        for (data, why) in [("aGVsbG8=", "and does not begin as such a file"), ("?", "are not base64")] {
            let wrong = vec![ContentBlock::Image(ImageContent::new(data, "image/png"))];
            let refused = agent.send_request(PromptRequest::new(id.clone(), wrong)).block_task().await.unwrap_err();
            assert!(refused.message.contains(why), "{refused:?}");
        }
        agent.send_request(PromptRequest::new(id, blocks)).block_task().await
    }));
    worked.unwrap();
    let body = &mock.requests()[0].body;
    let content = &body["messages"].as_array().unwrap().last().unwrap()["content"];
    assert_eq!(content[0]["text"], "What is it?");
    assert!(content[1]["source"]["data"].as_str().unwrap().starts_with("iVBOR"), "{content}");
    assert_eq!(content[2]["text"], "[a b.rs](/home/me/a b.rs)");
    assert_eq!(content[3]["text"], "<resource uri=\"/home/me/notes.txt\">\nall of the notes\n</resource>");
    child.wait().unwrap();
}

#[test]
fn a_plan_comes_of_the_tool_todo() {
    let place = Place::new();
    let items = json!([{ "text": "Measure", "state": "in_progress" }, { "text": "Cut", "state": "pending" }]);
    let answers = [Speech::call("todo", json!({ "items": items })), Speech::text("Planned.")];
    let mock =
        Mock::start(answers.into_iter().fold(Script::new().strict(), |script, speech| script.answer(Answer::message(speech))));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "todo"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        prompt(&agent, &id, "Plan it.").await
    }));
    worked.unwrap();
    let plan = &editor.of("plan")[0]["entries"];
    assert_eq!((&plan[0]["content"], &plan[0]["status"]), (&json!("Measure"), &json!("in_progress")));
    assert_eq!(plan[1]["status"], "pending");
    assert_eq!(editor.of("tool_call"), Vec::<serde_json::Value>::new());
    child.wait().unwrap();
}

#[test]
fn why_a_turn_ends_is_said() {
    let place = Place::new();
    let call = || Speech::call("read_file", json!({ "path": "." }));
    let script = Script::new()
        .strict()
        .answer(Answer::message(Speech::text("It is long").stop(Stop::Length)))
        .answer(Answer::message(call()))
        .answer(Answer::error(agent_mock::Failure::Authentication));
    let mock = Mock::start(script);
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "read_file", "--max-turns", "1"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        assert_eq!(prompt(&agent, &id, "One?").await?, StopReason::MaxTokens);
        assert_eq!(prompt(&agent, &id, "Two?").await?, StopReason::MaxTurnRequests);
        let error = prompt(&agent, &id, "Three?").await.unwrap_err();
        assert!(error.message.contains("answered 401"), "{error:?}");
        assert_eq!(error.code.value(), -32000);
        Ok(())
    }));
    worked.unwrap();
    child.wait().unwrap();
}

#[test]
fn a_stream_is_cancelled() {
    let place = Place::new();
    let script = Script::new()
        .answer(Answer::message(Speech::text("It rains and rains").piece(3)).cut_after(600).stall())
        .answer(Answer::message(Speech::text("Still here.")));
    let mock = Mock::start(script);
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let asked = prompt(&agent, &id, "Rain in Oslo?");
        let cancelled = async {
            editor.until(|editor| !editor.text("agent_message_chunk").is_empty()).await;
            agent.send_notification(CancelNotification::new(id.clone()))
        };
        let (stop, ()) = tokio::try_join!(asked, cancelled)?;
        assert_eq!(stop, StopReason::Cancelled);
        assert_eq!(prompt(&agent, &id, "And now?").await?, StopReason::EndTurn);
        Ok(())
    }));
    worked.unwrap();
    assert!(editor.text("agent_message_chunk").ends_with("Still here."));
    child.wait().unwrap();
}

/// A command that has a process in the background, and says so.
#[cfg(unix)]
fn command() -> Mock {
    let command = "echo begun; echo $$ > pid; sleep 1000 & echo $! >> pid; wait";
    Mock::start(Script::new().answer(Answer::message(Speech::call("run_command", json!({ "command": command })))))
}

#[cfg(unix)]
fn has_begun(editor: &Editor) -> bool {
    editor.updates().iter().any(|update| update["content"].to_string().contains("begun"))
}

#[cfg(unix)]
fn check_gone(place: &Place) {
    let pids = place.read("pid");
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let found = std::process::Command::new("kill").args(["-0", pid]).stderr(std::process::Stdio::null()).status();
        assert!(!found.unwrap().success(), "{pid} is still there");
    }
}

#[cfg(unix)]
#[test]
fn a_command_is_cancelled_with_its_processes() {
    let place = Place::new();
    let mock = command();
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "run_command", "--yes"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let cancelled = async {
            editor.until(has_begun).await;
            agent.send_notification(CancelNotification::new(id.clone()))
        };
        let (stop, ()) = tokio::try_join!(prompt(&agent, &id, "Run it."), cancelled)?;
        assert_eq!(stop, StopReason::Cancelled);
        check_gone(&place);
        Ok(())
    }));
    worked.unwrap();
    child.wait().unwrap();
    let call = editor.of("tool_call")[0]["toolCallId"].as_str().unwrap().to_owned();
    let shown = editor.call(&call);
    assert_eq!((&shown["kind"], &shown["status"]), (&json!("execute"), &json!("failed")), "{shown}");
}

#[cfg(unix)]
#[test]
fn no_process_is_left_when_the_editor_goes() {
    let place = Place::new();
    let mock = command();
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "run_command", "--yes"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        tokio::select! {
            stop = prompt(&agent, &id, "Run it.") => panic!("it has ended: {stop:?}"),
            () = editor.until(has_begun) => Ok(()),
        }
    }));
    worked.unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    check_gone(&place);
    let listed = lines(&place.call(&["sessions", "--json"]).out);
    assert_eq!((&listed[0]["title"], &listed[0]["holder"]), (&json!("Run it."), &json!(null)));
}

#[test]
fn a_prompt_during_a_run_steers_it() {
    let place = Place::new();
    let script = Script::new()
        .answer(Answer::message(Speech::text("It rains and rains").piece(3)).frame_delay_ms(20))
        .answer(Answer::message(Speech::text(" And in Bergen.")));
    let mock = Mock::start(script);
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let steered = async {
            editor.until(|editor| !editor.text("agent_message_chunk").is_empty()).await;
            prompt(&agent, &id, "And in Bergen?").await
        };
        let (first, second) = tokio::try_join!(prompt(&agent, &id, "Rain in Oslo?"), steered)?;
        assert_eq!((first, second), (StopReason::EndTurn, StopReason::EndTurn));
        Ok(())
    }));
    worked.unwrap();
    assert!(editor.text("agent_message_chunk").ends_with(" And in Bergen."));
    assert!(mock.requests()[1].body.to_string().contains("And in Bergen?"));
    child.wait().unwrap();
}

#[test]
fn model_and_thinking_are_options_that_a_session_keeps() {
    let place = Place::new();
    let mock = Mock::start(Script::new().answer(Answer::message(Speech::text("Yes."))));
    let editor = Editor::default();
    let mut child = started_as(&place, &["--base-url", &mock.url()]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let set = |option: &'static str, value: &'static str| {
            agent.send_request(SetSessionConfigOptionRequest::new(id.clone(), option, value)).block_task()
        };
        let options = json!(set("thinking_level", "high").await?.config_options);
        assert_eq!((&options[0]["id"], &options[0]["currentValue"]), (&json!("model"), &json!("local/default")));
        assert_eq!((&options[1]["category"], &options[1]["currentValue"]), (&json!("thought_level"), &json!("high")));
        set("model", "local/other").await?;
        let error = set("model", "no-slash").await.unwrap_err();
        assert!(error.message.contains("no-slash"), "{error:?}");
        let error = set("colour", "red").await.unwrap_err();
        assert!(error.message.contains("there is no option \"colour\""), "{error:?}");
        prompt(&agent, &id, "Hi").await?;
        Ok(())
    }));
    worked.unwrap();
    assert_eq!(mock.requests()[0].body["model"], "other");
    child.wait().unwrap();
    let listed = lines(&place.call(&["sessions", "--json"]).out);
    assert_eq!(listed[0]["metadata"]["model"], "local/other");
}

#[test]
fn without_a_model_the_editor_reads_what_to_do() {
    let place = Place::new();
    let editor = Editor::default();
    let mut child = started_as(&place, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let error = session(&agent, &place).await.unwrap_err();
        assert_eq!(error.code.value(), -32000);
        assert!(
            error.message.starts_with("no model is configured\n") && error.message.contains("ANTHROPIC_API_KEY"),
            "{error:?}"
        );
        Ok(())
    }));
    worked.unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
