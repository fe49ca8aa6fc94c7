"""What the model answers in these tests: by the name of the agent, which is in the path of its requests."""


def call(name, arguments, id):
    return {"name": name, "arguments": arguments, "id": id}


def on(path, last, message, **more):
    return {"when": {"path": f"/{path}/v1/chat/completions", "last": last}, "body": message, **more}


def calls(*made):
    return {"message": {"tool_calls": list(made)}}


def text(said):
    return {"message": {"text": said}}


# Each with the one after which its call returns: all have to run at a time.
CITIES = {"Oslo": "Bern", "Rome": None, "Bern": "Rome"}
RESULTS = [("tool_result", f"c{i}", f"rain in {city}") for i, city in enumerate(CITIES)]
SCRIPT = [
    on("weather", "user", calls(call("weather", {"city": "Oslo"}, "c1"))),
    on("weather", "tool_result", text("It rains.")),
    on("parallel", "user", calls(*(call("weather", {"city": c, "after": CITIES[c]}, f"c{i}") for i, c in enumerate(CITIES)))),
    on("parallel", "tool_result", text("Rain everywhere.")),
    on("gated", "user", calls(call("gate", {"name": "a"}, "g1")), times=1),
    on("gated", "user", text("Steered.")),
    on("gated", "tool_result", text("Not steered.")),
    # Two letters each half second: an answer that takes a minute.
    on("stalled", "user", {"message": {"text": "slow " * 48, "piece": 2}}, frame_delay_ms=500),
    on("endless", "user", calls(call("forever", {}, "f1"))),
    on("approval", "user", calls(call("pay", {"amount": 5}, "p1"), call("weather", {"city": "Oslo"}, "p2"))),
    on("approval", "tool_result", text("Done.")),
    on("limited", "user", calls(call("pay", {"amount": 5}, "p1"))),
    on("limited", "tool_result", text("Done.")),
    on("retried", "user", {"error": "overloaded"}, times=2),
    on("retried", "user", text("At last.")),
    on("refused", "user", {"error": "authentication"}),
    on("late", "user", text("Too late."), delay_ms=3000),
    on("durable", "user", calls(call("nap", {}, "n1"))),
    on("durable", "tool_result", text("Awake.")),
    on("failing", "user", calls(call("fail", {}, "f1"), call("missing", {}, "f2"))),
    on("failing", "tool_result", text("It failed.")),
    on("bounded", "user", text("Yes.")),
    on("swelling", "user", calls(call("gate", {"name": "swell"}, "s1")), times=1),
    on("swelling", "user", text("Much. " * 1_000), times=1),
    on("swelling", "user", text("Little.")),
    on("archiving", "user", calls(call("archive", {"name": "large"}, "a1")), times=1),
    on("archiving", "user", calls(call("archive", {"name": "killed"}, "a2")), times=1),
    on("archiving", "tool_result", text("It may be in the archive.")),
    on("calling", "user", calls(call("deliver", {}, "d1"))),
    on("calling", "tool_result", text("Not delivered.")),
]
