use serde_json::json;

use super::*;

#[test]
fn a_session_is_gone_on_with_listed_shown_and_deleted() {
    let place = Place::new();
    place.spec(&says(&["First."]), "");
    let of_agent = |arguments: &[&str]| place.call(&[&["--spec", "agent.toml"], arguments].concat());
    for prompt in ["One?", "Two?"] {
        let called = of_agent(&["--session", "talk", prompt]);
        assert_eq!((called.code, called.out.as_str()), (0, "First.\n"), "{called:?}");
    }
    assert_eq!(of_agent(&["sessions"]).out.lines().count(), 1);
    assert_eq!(lines(&of_agent(&["sessions", "--json"]).out)[0]["id"], "talk");
    let shown = of_agent(&["sessions", "show", "talk"]);
    assert_eq!(shown.out, "user: One?\nassistant: First.\nuser: Two?\nassistant: First.\n");
    assert_eq!(lines(&of_agent(&["sessions", "show", "talk", "--json"]).out).len(), 4);

    assert_eq!(of_agent(&["sessions", "delete", "talk"]).code, 0);
    assert_eq!(of_agent(&["sessions"]).out, "");
    for command in ["show", "delete"] {
        let called = of_agent(&["sessions", command, "talk"]);
        assert_eq!(called.code, 1);
        assert!(called.err.contains("there is no session \"talk\""), "{called:?}");
    }
    // Those of another agent are elsewhere.
    assert_eq!(place.call(&["sessions"]).out, "");
}

/// An MCP server whose tool needs approval: the program asks before it is called.
pub(crate) const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request: continue
    method, result = request["method"], {}
    if method == "initialize":
        result = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "shop", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "pay", "description": "Pays.", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "paid"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"#;

#[test]
fn calls_that_need_approval_exit_with_4_and_wait_in_the_session() {
    let place = Place::new();
    place.write("shop.py", SERVER);
    let servers = "mcp = [{ command = \"python3\", args = [\"shop.py\"], approval = \"always\" }]";
    let script = json!([calls("pay", json!({})), [{ "delta": "It is paid." }, { "end": "stop" }]]);
    place.spec(&script, servers);

    let called = place.call(&["agent.toml", "--session", "bill", "Pay."]);
    assert_eq!(called.code, 4, "{called:?}");
    assert!(called.err.contains("these calls wait for approval:\n  pay: the tool pay needs approval\n"), "{called:?}");
    assert!(called.err.contains("--session bill"), "{called:?}");
    let called = place.call(&["agent.toml", "--session", "bill"]);
    assert_eq!(called.code, 4, "{called:?}");

    // The script begins anew: of the answers that are left, this process gets the first one.
    place.spec(&says(&["It is paid."]), servers);
    let called = place.call(&["agent.toml", "--session", "bill", "--yes"]);
    assert_eq!((called.code, called.out.as_str()), (0, "It is paid.\n"), "{called:?}");

    place.spec(&script, servers);
    let called = place.call(&["agent.toml", "--yes", "Pay."]);
    assert_eq!((called.code, called.out.as_str()), (0, "It is paid.\n"), "{called:?}");
    let listed = place.call(&["--spec", "agent.toml", "mcp", "list"]);
    assert_eq!((listed.code, listed.out.split_whitespace().next()), (0, Some("pay")), "{listed:?}");
}

#[test]
fn showing_a_session_changes_nothing_and_needs_no_lease() {
    let place = Place::new();
    place.spec(&says(&["One.", "Two."]), "");
    for id in ["first", "second"] {
        assert_eq!(place.call(&["agent.toml", "--session", id, "Hi"]).code, 0);
    }
    let listed = || place.call(&["agent.toml", "sessions"]).out.split_whitespace().next().map(str::to_owned);
    assert_eq!(listed().as_deref(), Some("second"));
    let shown = place.call(&["agent.toml", "sessions", "show", "first"]);
    assert_eq!((shown.code, shown.out.as_str()), (0, "user: Hi\nassistant: One.\n"), "{shown:?}");
    assert_eq!(listed().as_deref(), Some("second"), "the one in which something was said last");

    // Another process has it open.
    let mut command = place.command(&["chat", "agent.toml", "--session", "first"]);
    let mut chat = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut greeting = String::new();
    BufReader::new(chat.stdout.as_mut().unwrap()).read_line(&mut greeting).unwrap();
    let shown = place.call(&["agent.toml", "sessions", "show", "first"]);
    assert_eq!((shown.code, shown.out.as_str()), (0, "user: Hi\nassistant: One.\n"), "{shown:?}");
    drop(chat.stdin.take());
    assert!(chat.wait().unwrap().success());
}

#[test]
fn a_call_waits_for_an_agent_that_has_its_tool() {
    let place = Place::new();
    let write = calls("write_file", json!({ "path": "a.txt", "content": "one" }));
    let with =
        place.write("with.toml", &std::fs::read_to_string(place.spec(&json!([write]), "tools = [\"write_file\"]")).unwrap());
    assert_eq!(place.call(&[shown(&with), "--session", "talk", "Write."]).code, 4);
    place.spec(&says(&["Done."]), "");
    let without = place.call(&["agent.toml", "--session", "talk", "--yes"]);
    assert_eq!(without.code, 2, "{without:?}");
    assert!(without.err.contains("a call of the tool write_file waits for approval"), "{without:?}");
    let chat = place.call_with(&["chat", "agent.toml", "--session", "talk"], "y\n");
    assert_eq!(chat.code, 2, "{chat:?}");
    let done = place.call(&["agent.toml", "--tools", "write_file", "--session", "talk", "--yes"]);
    assert_eq!((done.code, place.read("a.txt").as_str()), (0, "one"), "{done:?}");
}
