use agent_client_protocol::v1::schema::{
    CloseSessionRequest, DeleteSessionRequest, EnvVariable, ListSessionsRequest, LoadSessionRequest, McpServer, McpServerStdio,
    NewSessionRequest, ResumeSessionRequest, SessionId, StopReason,
};
use agent_mock::{Answer, Mock, Script, Speech};
use serde_json::{Value, json};

use super::block_on;
use super::editor::{Editor, initialize, prompt, session, started};
use crate::{Place, lines, says};

#[test]
fn a_session_is_loaded_after_its_process_was_killed() {
    let place = Place::new();
    place.write("a.txt", "old\n");
    let call = Speech::signed("I write.", "c2ln").and_call("write_file", json!({ "path": "a.txt", "content": "new\n" }));
    let script = Script::new()
        .answer(Answer::message(call))
        .answer(Answer::message(Speech::text("Written.")))
        .answer(Answer::message(Speech::call("write_file", json!({ "path": "b.txt", "content": "b" }))))
        .answer(Answer::message(Speech::text("Both.")))
        .answer(Answer::message(Speech::text("Bye.")));
    let mock = Mock::start(script);
    let start = || started(&place, &mock, &["--tools", "write_file"]);

    // The second call waits when the process is killed.
    let editor = Editor::answering(&[Some("allow")]);
    let mut child = start();
    let mut known = None;
    let worked: Result<(), _> = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        prompt(&agent, &id, "Write a.").await?;
        known = Some(id.clone());
        let _asked = agent.send_request(agent_client_protocol::v1::schema::PromptRequest::new(id, vec!["Write b.".into()]));
        editor.until(|editor| editor.asked().len() == 2).await;
        Ok(())
    }));
    worked.unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let (id, live) = (known.unwrap(), editor.of("tool_call")[0]["toolCallId"].as_str().unwrap().to_owned());

    let again = Editor::answering(&[Some("allow")]);
    let mut child = start();
    let worked = block_on(again.work(&mut child, async |agent| {
        initialize(&agent).await?;
        let unknown = LoadSessionRequest::new("acp-none", place.path(""));
        let error = agent.send_request(unknown).block_task().await.unwrap_err();
        assert_eq!(error.code.value(), -32002);
        assert!(error.message.contains("there is no session \"acp-none\""), "{error:?}");

        agent.send_request(LoadSessionRequest::new(id.clone(), place.path(""))).block_task().await?;
        assert_eq!(again.text("user_message_chunk"), "Write a.Write b.");
        assert_eq!(again.text("agent_thought_chunk"), "I write.");
        assert_eq!(again.text("agent_message_chunk"), "Written.");
        assert_eq!(again.call(&live)["content"], editor.call(&live)["content"], "the diff is there again");
        assert_eq!(again.call(&live)["status"], "completed");
        let waiting = again.of("tool_call")[1]["toolCallId"].as_str().unwrap().to_owned();
        assert_eq!(again.call(&waiting)["statuses"], json!(["pending"]));

        // It is asked about before what comes next.
        again.forget();
        assert_eq!(prompt(&agent, &id, "And then?").await?, StopReason::EndTurn);
        assert_eq!(again.call(&waiting)["status"], "completed");
        Ok(())
    }));
    worked.unwrap();
    child.wait().unwrap();
    assert_eq!((again.asked().len(), place.read("b.txt").as_str()), (1, "b"));
    assert_eq!(again.text("agent_message_chunk"), "Both.Bye.");
}

#[test]
fn sessions_are_listed_resumed_closed_and_deleted() {
    let place = Place::new();
    let answers = (0..3).fold(Script::new(), |script, _| script.answer(Answer::message(Speech::text("Yes."))));
    let mock = Mock::start(answers);
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id = session(&agent, &place).await?;
        let empty = agent.send_request(NewSessionRequest::new("/")).block_task().await?.session_id;
        prompt(&agent, &id, "Hi").await?;
        for open in [&id, &empty] {
            agent.send_request(CloseSessionRequest::new(open.clone())).block_task().await?;
        }
        let error = prompt(&agent, &id, "Hi").await.unwrap_err();
        assert!(error.message.contains("session/load opens a stored one"), "{error:?}");

        let list = |cwd| agent.send_request(ListSessionsRequest::new().cwd(cwd)).block_task();
        let all = json!(list(None).await?.sessions);
        assert_eq!(all.as_array().unwrap().len(), 1, "one in which nothing was said is gone: {all}");
        assert_eq!((&all[0]["sessionId"], &all[0]["title"], &all[0]["cwd"]), (&json!(id), &json!("Hi"), &json!(place.path(""))));
        assert!(all[0]["updatedAt"].as_str().unwrap().ends_with('Z'), "{all}");
        assert_eq!(list(Some("/elsewhere".into())).await?.sessions, []);

        editor.forget();
        agent.send_request(ResumeSessionRequest::new(id.clone(), place.path(""))).block_task().await?;
        assert_eq!(editor.text("user_message_chunk"), "");
        prompt(&agent, &id, "Again").await?;
        assert_eq!(mock.requests()[1].body["messages"].as_array().unwrap().len(), 3);
        for _ in 0..2 {
            agent.send_request(DeleteSessionRequest::new(id.clone())).block_task().await?;
        }
        assert_eq!(list(None).await?.sessions, []);
        Ok(())
    }));
    worked.unwrap();
    child.wait().unwrap();
}

#[test]
fn the_editor_says_where_a_session_is_and_which_servers_it_has() {
    let place = Place::new();
    std::fs::create_dir(place.path("project")).unwrap();
    place.write("project/inside.txt", "inside");
    place.write("shop.py", crate::sessions::SERVER);
    let both = Speech::call("read_file", json!({ "path": "inside.txt" })).and_call("pay", json!({}));
    let mock = Mock::start(Script::new().answer(Answer::message(both)).answer(Answer::message(Speech::text("Done."))));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &["--tools", "read_file"]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        initialize(&agent).await?;
        let new = |cwd| agent.send_request(NewSessionRequest::new(cwd).mcp_servers(vec![shop(&place)])).block_task();
        let error = new("project".into()).await.unwrap_err();
        assert!(error.message.contains("\"project\" is no absolute path"), "{error:?}");
        let id = new(place.path("project")).await?.session_id;
        prompt(&agent, &id, "Read it and pay.").await
    }));
    assert_eq!(worked.unwrap(), StopReason::EndTurn);
    child.wait().unwrap();
    let ids: Vec<String> = editor.of("tool_call").iter().map(|call| call["toolCallId"].as_str().unwrap().to_owned()).collect();
    let (read, pay) = (editor.call(&ids[0]), editor.call(&ids[1]));
    assert_eq!((&read["kind"], &read["content"][0]["content"]["text"]), (&json!("read"), &json!("```\ninside\n```")));
    assert_eq!((&pay["kind"], &pay["content"][0]["content"]["text"]), (&json!("other"), &json!("paid")));
}

fn shop(place: &Place) -> McpServer {
    let server = McpServerStdio::new("shop", "python3").args(vec![place.path("shop.py").to_str().unwrap().to_owned()]);
    McpServer::Stdio(server.env(vec![EnvVariable::new("SHOP", "open")]))
}

#[test]
fn compact_sums_up() {
    let place = Place::new();
    let long = "x ".repeat(3_000);
    let texts = [long.as_str(), long.as_str(), "They said x.", "Yes."];
    let mock = Mock::start(texts.iter().fold(Script::new(), |script, text| script.answer(Answer::message(Speech::text(*text)))));
    let editor = Editor::default();
    let mut child = started(&place, &mock, &[]);
    let worked = block_on(editor.work(&mut child, async |agent| {
        let id: SessionId = session(&agent, &place).await?;
        for text in ["One?", "Two?"] {
            prompt(&agent, &id, text).await?;
        }
        editor.forget();
        prompt(&agent, &id, "/compact").await?;
        prompt(&agent, &id, "Three?").await
    }));
    assert_eq!(worked.unwrap(), StopReason::EndTurn);
    child.wait().unwrap();
    assert_eq!(editor.text("agent_message_chunk"), "The next prompt is answered from a summary of the conversation.Yes.");
    let listed = lines(&place.call(&["sessions", "--json"]).out);
    let messages = lines(&place.call(&["sessions", "show", listed[0]["id"].as_str().unwrap(), "--json"]).out);
    assert!(messages.iter().any(|message| message["role"] == "context_summary"), "{messages:?}");
}

#[test]
fn an_editor_that_goes_at_once_leaves_no_session() {
    let place = Place::new();
    place.spec(&says(&["Yes."]), "");
    let of = |id: u64, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let initialize = of(1, "initialize", json!({ "protocolVersion": 1 }));
    let new = of(2, "session/new", json!({ "cwd": place.path(""), "mcpServers": [] }));
    for _ in 0..5 {
        let called = place.call_with(&["agent.toml", "acp"], &format!("{initialize}\n{new}\n"));
        assert_eq!(called.code, 0, "{called:?}");
    }
    assert_eq!(place.call(&["agent.toml", "sessions"]).out, "");
}
