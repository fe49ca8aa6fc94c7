#!/usr/bin/env python3
"""Record the streams in recorded/ anew, from the real server.

    AGENT_LLAMA=real with_server.py -- python3 record.py
    with_server.py -- python3 record.py --check

Plays the calculator conversation, and the greeting without tools, on all three endpoints with requests as the engine makes
them, and keeps every body byte for byte. It stops if the server's answers differ from the conversation, so that a bad recording
cannot slip in. With --check it writes nothing, and the server may be the one that plays the recordings. recorded/scenario.json
has the file of each answer for agent-mock.
"""
import http.client
import json
import os
import sys
import urllib.parse
from pathlib import Path

RECORDED = Path(__file__).resolve().parent / "recorded"

DESCRIPTION = "Perform basic arithmetic operations."
SCHEMA = {
    "type": "object",
    "properties": {
        "operation": {"type": "string", "enum": ["add", "subtract", "multiply", "divide"]},
        "a": {"type": "number"},
        "b": {"type": "number"},
    },
    "required": ["operation", "a", "b"],
}

# The prompt, the call of the calculator, its result, and the answer.
ROUNDS = [
    (
        "What is 15 multiplied by 23?", {"operation": "multiply", "a": 15, "b": 23}, {"result": 345},
        "15 multiplied by 23 equals 345.",
    ),
    ("Now divide that by 5", {"operation": "divide", "a": 345, "b": 5}, {"result": 69}, "345 divided by 5 equals 69."),
]
GREETING = "Hello! I am a very small model 🙂"


class Chat:
    """OpenAI's Chat Completions."""

    name, path = "chat", "/v1/chat/completions"
    request = {"model": "tiny", "stream": True, "stream_options": {"include_usage": True}, "temperature": 0}
    tools = [{"type": "function", "function": {"name": "calculator", "description": DESCRIPTION, "parameters": SCHEMA}}]

    @staticmethod
    def read(events):
        """Text and tool call of a stream; the call is None or (id, name, arguments as text)."""
        text, call = "", None
        for event in events:
            for choice in event["choices"]:
                text += choice["delta"].get("content") or ""
                for part in choice["delta"].get("tool_calls", []):
                    identity, name, arguments = call or (part["id"], part["function"]["name"], "")
                    call = (identity, name, arguments + part["function"].get("arguments", ""))
        return text, call

    @staticmethod
    def called(identity, name, arguments, result):
        function = {"name": name, "arguments": arguments}
        return [
            {"role": "assistant", "content": None, "tool_calls": [{"id": identity, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": identity, "content": result},
        ]

    @staticmethod
    def said(text):
        return {"role": "assistant", "content": text}


class Messages:
    """Anthropic's Messages."""

    name, path = "messages", "/v1/messages"
    request = {"model": "tiny", "max_tokens": 1024, "stream": True, "temperature": 0}
    tools = [{"name": "calculator", "description": DESCRIPTION, "input_schema": SCHEMA}]

    @staticmethod
    def read(events):
        text, call = "", None
        for event in events:
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                call = (event["content_block"]["id"], event["content_block"]["name"], "")
            elif event["type"] == "content_block_delta":
                text += event["delta"].get("text", "")
                if "partial_json" in event["delta"]:
                    call = (*call[:2], call[2] + event["delta"]["partial_json"])
        return text, call

    @staticmethod
    def called(identity, name, arguments, result):
        return [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": identity, "name": name, "input": json.loads(arguments)}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": identity, "content": result}]},
        ]

    @staticmethod
    def said(text):
        return {"role": "assistant", "content": [{"type": "text", "text": text}]}


class Responses:
    """OpenAI's Responses."""

    name, path = "responses", "/v1/responses"
    request = {"model": "tiny", "stream": True, "store": False, "temperature": 0}
    tools = [{"type": "function", "name": "calculator", "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]

    @staticmethod
    def read(events):
        text, call = "", None
        for event in events:
            if event["type"] == "response.output_text.delta":
                text += event["delta"]
            elif event["type"] == "response.output_item.done" and event["item"]["type"] == "function_call":
                call = (event["item"]["call_id"], event["item"]["name"], event["item"]["arguments"])
        return text, call

    @staticmethod
    def called(identity, name, arguments, result):
        return [
            {"type": "function_call", "call_id": identity, "name": name, "arguments": arguments},
            {"type": "function_call_output", "call_id": identity, "output": result},
        ]

    @staticmethod
    def said(text):
        return {
            "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }


def fetch(path, request):
    """The body of the answer, undone of its chunks and of nothing else."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["AGENT_LLAMA_URL"]).netloc, timeout=30)
    connection.request("POST", path, json.dumps(request), {"content-type": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    content_type = answer.getheader("content-type")
    if answer.status != 200 or content_type != "text/event-stream":
        raise SystemExit(f"record.py: {path} answered {answer.status} {content_type}: {body.decode(errors='replace')}")
    return body


def events_of(body):
    lines = (line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: "))
    return [json.loads(data) for data in lines if data != "[DONE]"]


def expect(where, got, wanted):
    if got != wanted:
        raise SystemExit(f"record.py: {where}: the server says {got!r}, the conversation has {wanted!r}; nothing is written")


def record(api):
    def ask(name, messages, **tools):
        body = fetch(api.path, api.request | {"input" if api is Responses else "messages": messages} | tools)
        return f"{api.name}_{name}.sse", body, *api.read(events_of(body))

    bodies = {}
    messages = []
    for number, (prompt, arguments, result, sentence) in enumerate(ROUNDS, 1):
        messages.append({"role": "user", "content": prompt})
        file, body, text, call = ask(f"{number}_call", messages, tools=api.tools)
        expect(file, (text, call and call[1], call and json.loads(call[2])), ("", "calculator", arguments))
        bodies[file] = body

        messages += api.called(*call, json.dumps(result, separators=(",", ":")))
        file, body, text, call = ask(f"{number}_tell", messages, tools=api.tools)
        expect(file, (text, call), (sentence, None))
        bodies[file] = body
        messages.append(api.said(text))

    file, body, text, call = ask("hello", [{"role": "user", "content": "Hello"}])
    expect(file, (text, call), (GREETING, None))
    bodies[file] = body
    return bodies


def main(arguments):
    if arguments not in ([], ["--check"]):
        raise SystemExit("usage: record.py [--check]")
    check = arguments == ["--check"]
    if "AGENT_LLAMA_URL" not in os.environ or (not check and os.environ.get("AGENT_LLAMA") != "real"):
        raise SystemExit("record.py: no real server; run it as: AGENT_LLAMA=real with_server.py -- python3 record.py")
    bodies = record(Chat) | record(Messages) | record(Responses)
    for file, body in bodies.items():  # written only when all of them are right
        if not check:
            (RECORDED / file).write_bytes(body)
        print(f"{file}: {len(body)} bytes{', as expected' if check else ''}")


if __name__ == "__main__":
    main(sys.argv[1:])
