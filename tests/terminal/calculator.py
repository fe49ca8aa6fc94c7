"""An MCP server with one tool, `calculator`, that takes its time: calculator.py FILE, which has the number of seconds."""

import json
import pathlib
import sys
import time

TOOL = {
    "name": "calculator",
    "description": "Calculates with two numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "operation": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
            "a": {"type": "number"},
            "b": {"type": "number"},
        },
        "required": ["operation", "a", "b"],
    },
}
OPERATIONS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}


def answer(method, params):
    if method == "initialize":
        about = {"name": "calculator", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        time.sleep(float(pathlib.Path(sys.argv[1]).read_text()))
        given = params["arguments"]
        number = OPERATIONS[given["operation"]](given["a"], given["b"])
        return {"content": [{"type": "text", "text": f"{number:g}"}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
