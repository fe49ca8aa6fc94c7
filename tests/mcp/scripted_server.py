"""A server of the Model Context Protocol for the odd cases, over standard input and output: scripted_server.py [NAME…]

Its tools have these names at first, and do what their name says: `die` ends the process, `grow` adds the tool `grown`, `wait`
gets no answer but progress, and writes `cancelled` to the file $NOTES when it is cancelled, `refuse` answers with an error,
`count` reports progress three times, `sample` and `elicit` ask the client, with the arguments as parameters, and give what it
answers as JSON, `capabilities` gives those of the client, and all others give their own name. `broken` has no schema. Each start
appends `started` to $NOTES.
"""

import json
import os
import sys

TOOLS = sys.argv[1:]
ASKED = {"sample": "sampling/createMessage", "elicit": "elicitation/create"}
client = {}


def note(what):
    if path := os.environ.get("NOTES"):
        with open(path, "a", encoding="utf-8") as notes:
            notes.write(what + "\n")


def send(message):
    print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)


def described(name):
    schema = {"type": "object", "properties": {"a": 5}} if name == "broken" else {"type": "object"}
    hints = {"destructiveHint": False} if name == "harmless" else {}
    return {"name": name, "description": name, "inputSchema": schema, "annotations": hints}


def call(number, params):
    name, token = params["name"], params.get("_meta", {}).get("progressToken")
    if name == "die":
        print("the end is near", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "wait":
        return send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    if name in ASKED:
        # The call gets its result when the client has answered.
        return send({"id": f"asked {number}", "method": ASKED[name], "params": params["arguments"]})
    if name == "refuse":
        return send({"id": number, "error": {"code": -32603, "message": "not today"}})
    if name == "grow" and "grown" not in TOOLS:
        TOOLS.append("grown")
        send({"method": "notifications/tools/list_changed"})
    if name == "count":
        for at in [1, 2, 3]:
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": at, "total": 3}})
    answer(number, json.dumps(client["capabilities"]) if name == "capabilities" else name)


def answer(number, text):
    send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})


def main():
    note("started")
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if method is None:
            answer(int(number.removeprefix("asked ")), json.dumps(message.get("result", message.get("error"))))
        elif method == "initialize":
            client.update(params)
            server = {"name": "odd server", "version": "1"}
            # Those of resources and prompts get no answer.
            capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": server}
            send({"id": number, "result": result})
        elif method == "tools/list":
            send({"id": number, "result": {"tools": [described(name) for name in TOOLS]}})
        elif method == "tools/call":
            call(number, params)
        elif method == "notifications/cancelled":
            note("cancelled")


main()
