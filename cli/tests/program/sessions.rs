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
