"""Drives a run by hand: the program's own HTTP, timers and tool. `python step.py [MODEL [BASE_URL]]`"""

import os
import sys
import time
import urllib.error
import urllib.request

from agent_loop import AgentError, Loop, LoopAction

WEATHER = {
    "name": "weather",
    "description": "The weather in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


def send(run: Loop, action: LoopAction) -> None:
    """Sends a request of the loop, and hands in the response as it comes."""
    assert action["type"] == "call_model"
    call, auth = action["call"], action["auth"]
    request = urllib.request.Request(action["url"], action["body"].encode(), dict(action["headers"]), method=action["method"])
    key = next((os.environ[name] for name in auth["variables"] if os.environ.get(name)), None)
    if key is not None:
        request.add_header(auth["header"], auth["prefix"] + key)
    try:
        # An answer that is an error is one for the loop: it knows what each provider means.
        try:
            response = urllib.request.urlopen(request)
        except urllib.error.HTTPError as refusal:
            response = refusal
        with response:
            run.handle({"type": "model_response", "call": call, "status": response.status, "headers": dict(response.headers)})
            while data := response.read1(65536):
                run.model_bytes(call, data)
        run.handle({"type": "model_end", "call": call})
    except OSError as broken:
        run.handle({"type": "model_end", "call": call, "error": {"kind": "connection", "message": str(broken)}})


def main(model: str = "anthropic/claude-sonnet-4-5", base_url: str | None = None) -> None:
    run = Loop(model, prompt="Rain in Oslo?", system_prompt="Be brief.", tools=[WEATHER], base_url=base_url)
    timer_ms: int | None = None
    while True:
        action = run.poll(time.time() * 1000)
        if action is None:
            # Nothing is under way but a pause before a retry: requests and the tool are done where they are asked for.
            time.sleep(max(0, (timer_ms or 0) / 1000 - time.time()))
        elif action["type"] == "call_model":
            send(run, action)
        elif action["type"] == "call_tool":
            print(f"[{action['tool_name']}]")
            # The process could end here, and another one load the text and go on.
            run = Loop.load(run.save())
            result = {"city": action["arguments"]["city"], "sky": "rain", "celsius": 7}
            run.handle({"type": "tool_done", "call": action["call"], "result": result})
        elif action["type"] == "event" and action["event"]["type"] == "text_delta":
            print(action["event"]["delta"], end="", flush=True)
        elif action["type"] == "set_timer":
            timer_ms = action["at_ms"]
        elif action["type"] == "done":
            result = action["result"]
            if result["outcome"] == "error":
                sys.exit(f"{result['error']['kind']}: {result['error']['message']}")
            print(f"\n{result['usage']['total']} tokens")
            return


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except AgentError as error:
        sys.exit(f"{error.kind}: {error}")
