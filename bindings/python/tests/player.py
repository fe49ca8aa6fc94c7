"""Plays a scenario: makes the agent, takes the steps and records what happens. See docs/scenarios.md."""

import asyncio
import itertools
import json

import agent_loop
from agent_loop import Agent, AgentError, CallbackError, HookContext, MiddlewareCall, Tool, ToolContext
from agent_loop._native import HOOKS
from agent_loop.options import CallOptions
from expected import contains

CHANGES_MESSAGES = "transform_context", "convert_to_llm"
PLAYS = itertools.count()
WITHOUT_INPUT = "get_steering_messages", "get_follow_up_messages"
FIELD = {
    "transform_context": "messages",
    "convert_to_llm": "messages",
    "get_api_key": "provider",
    "before_run": "prompts",
    "check_output": "output",
}


def plain(value):
    """The canonical JSON of a value that a hook got."""
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.to_dict() if hasattr(value, "to_dict") else value


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def state(agent):
    """The state in canonical JSON."""
    pending = {"pending": plain(agent.pending)} if agent.pending else {}
    remembered = {"remembered": agent.remembered} if any(agent.remembered.values()) else {}
    return pending | remembered | {
        "system_prompt": agent.system_prompt,
        "model": agent.model,
        "thinking_level": agent.thinking_level,
        "tools": [tool.name for tool in agent.tools],
        "messages": plain(agent.messages),
        "is_streaming": agent.is_streaming,
        "streaming_message": plain(agent.streaming_message),
        "pending_tool_calls": list(agent.pending_tool_calls),
        "error": plain(agent.error),
        "listener_errors": agent.listener_errors,
    }


class Behaviours:
    """The behaviours of successive calls; the last one holds for all further calls."""

    def __init__(self, given):
        self.rest = iter(given)
        self.last = []

    def next(self):
        self.last = next(self.rest, self.last)
        return self.last


class Player:
    """The application of one scenario. With a store, its agent has a session, whose id stands for the run's in keys."""

    def __init__(self, scenario, store=None):
        self.store = store
        self.log, self.gates, self.requests, self.inputs, self.runs = [], set(), [], [], []
        self.listeners, self.subscribed, self.background = scenario.get("listeners", []), {}, None
        self.model = {"provider": "scripted", "id": "scenario", "script": scenario["model"], **scenario.get("spec", {})}
        self.tools = self.tools_of(scenario)
        behaviours = {name: Behaviours(given) for name, given in scenario.get("hooks", {}).items()}
        hooks = {name: self.hook(name, behaviours.get(name)) for name in HOOKS if name in behaviours or name == "on_payload"}
        assert behaviours.keys() <= hooks.keys(), "there is no such hook"
        links = [self.link(Behaviours(given)) for given in scenario.get("middleware", [])]
        self.options = {**scenario.get("options", {}), **hooks, "middleware": links}
        if "limiter" in self.options:
            # A process may play it twice: each time it is another limiter.
            self.options["limiter"] = {**self.options["limiter"], "name": f"of play {next(PLAYS)}"}
        if store is None:
            self.agent = Agent(self.model, tools=self.tools, **self.options)
        else:
            # An agent with a session refuses the option.
            options = {name: value for name, value in self.options.items() if name != "messages"}
            self.agent = Agent(self.model, tools=self.tools, session=store.session("run"), **options)
            if "messages" in self.options:
                self.agent.replace_messages(self.options["messages"])
        for place, listener in enumerate(self.listeners):
            if not listener.get("later"):
                self.subscribe(place)

    async def play(self, steps):
        """Takes the steps; returns the result in the form of `expected.json`."""
        records = [await self.step(*only(step)) for step in steps]
        # An agent of an export has none.
        if self.agent.session is not None:
            await self.check_kept()
        result = {"steps": records, "runs": self.runs, "requests": self.requests, "hooks": self.inputs, "log": self.log}
        now = state(self.agent)
        # The state in JSON has the tools of MCP servers, too.
        if "mcp" in self.options:
            now["tools"] += [tool["name"] for tool in await self.agent.mcp_tools()]
        return result | {"state": now}

    async def check_kept(self):
        """The session of the agent, opened again, has the agent's conversation."""
        had = json.loads(self.agent.export())
        await self.agent.session.close()
        again = Agent({"provider": "scripted", "id": "s", "script": []}, session=self.store.session("run"))
        assert (json.loads(again.export()), again.interrupted) == (had, None)
        await again.session.close()

    async def step(self, name, given):
        agent = self.agent
        try:
            match name:
                case "prompt":
                    return await self.finish(agent.stream(given))
                case "resume":
                    return await self.finish(agent.stream_resume(None if given is True else given["decisions"]))
                case "resume_if_queued":
                    run = agent.stream_resume_if_queued()
                    return {name: None} if run is None else await self.finish(run)
                case "run" | "resume_context":
                    return await self.finish(self.stateless_run(**given))
                case "complete":
                    return await self.finish(self.model_call(**given))
                case "start":
                    self.background = agent.stream(given)
                    return {"start": "ok"}
                case "finish":
                    return await self.finish(self.background)
                case "has_queued_messages":
                    return {name: agent.has_queued_messages()}
                case "state":
                    return {"state": state(agent)}
                case "export":
                    return {name: json.loads(agent.export())}
                case "from_export":
                    # Listeners stay with the agent before: scenarios with this step have none.
                    self.agent = Agent.from_export(json.dumps(given), self.model, tools=self.tools, **self.options)
                    return {name: "ok"}
            await self.act(name, given)
        except AgentError as error:
            return {"error": error.kind}
        return {name: "ok"}

    def stateless_run(self, messages, system_prompt="", prompt=None, queue=None, decisions=None):
        """A run over the given context."""
        context = {"system_prompt": system_prompt, "messages": messages, "tools": self.tools}
        options = {name: value for name, value in self.options.items() if name != "system_prompt"}
        # The hook is called on this event loop, so the run's first poll comes after the queue is filled here.
        options.setdefault("before_run", lambda prompts: None)
        if prompt is None:
            run = agent_loop.resume(context, decisions, model=self.model, **options)
        else:
            run = agent_loop.run(context, prompt, model=self.model, **options)
        for name, message in (queue or {}).items():
            {"steer": run.steer, "follow_up": run.follow_up}[name](message)
        return run

    def model_call(self, messages, system_prompt="", abort=False):
        """One model call over the given context."""
        options = {name: value for name, value in self.options.items() if name in CallOptions.__annotations__}
        # The hook is called on this event loop, so the call begins after it is aborted here.
        options.setdefault("before_run", lambda prompts: None)
        run = agent_loop.stream_complete(self.model, messages, system_prompt=system_prompt, tools=self.tools, **options)
        if abort:
            run.abort()
        return run

    async def finish(self, run):
        """Reads a run to its end."""
        events, raised = [], None
        try:
            async for event in run:
                fields = event.to_dict() | {"run_id": "run"}
                if event.type == "subagent_event":
                    fields["event"]["run_id"] = "run"
                events.append(fields)
        except AgentError as error:
            raised = error
        try:
            result = await run.result()
        except AgentError as error:
            result = error.result
            assert error is raised, "the end of the events raises the error of the result"
        assert (raised is None) == (result.outcome != "error")
        # `agent_end` has the messages.
        fields = {name: value for name, value in result.to_dict().items() if name != "messages"}
        self.runs.append({"events": events, "result": fields})
        return {"outcome": result.outcome}

    def subscribe(self, place):
        listener, number = self.listeners[place], itertools.count(1)

        def heard(event):
            if not contains(event.to_dict(), listener.get("on")):
                return None
            seen = next(number)
            return self.behave(listener["do"], None, event) if listener.get("nth", seen) == seen else None

        self.subscribed[place] = self.agent.subscribe(heard)

    def tools_of(self, given):
        """The tools of an agent, those that run agents last."""
        tools = [self.tool(one) for one in given.get("tools", [])]
        for one in given.get("subagents", []):
            own = ("model", "spec", "options", "tools", "subagents", "handoff")
            model = {"provider": "scripted", "id": "scenario", "script": one["model"], **one.get("spec", {})}
            agent = Agent(model, tools=self.tools_of(one), **one.get("options", {}))
            make = agent.as_handoff if one.get("handoff") else agent.as_tool
            tools.append(make(**{name: value for name, value in one.items() if name not in own}))
        return tools

    def tool(self, given):
        fields = dict(given)
        calls, prepares, approves = Behaviours(fields.pop("calls")), fields.pop("prepare", None), fields.pop("approve", None)

        async def execute(arguments, context):
            return await self.behave(calls.next(), None, context)

        if prepares is not None:
            behaviours = Behaviours(prepares)

            async def prepare(arguments, context):
                return await self.behave(behaviours.next(), arguments, context)

            fields["prepare_arguments"] = prepare
        if approves is not None:
            decisions = Behaviours(approves)

            async def approve(arguments, context):
                return await self.behave(decisions.next(), None, context)

            fields["needs_approval"] = approve
        # Behaviours end by themselves, as in languages that cannot cancel a function.
        return Tool(execute=execute, cancel_mode="token", **fields)

    def hook(self, name, behaviours):
        async def asked(given, context):
            fields = {FIELD[name]: plain(given)} if name in FIELD else plain(given)
            if name == "on_payload":
                self.requests.append(fields["payload"])
            if behaviours is None:
                return None
            hidden = ("payload", "messages") if name == "after_run" else ("payload",)
            self.inputs.append({"hook": name, "input": {key: value for key, value in fields.items() if key not in hidden}})
            # The message objects themselves, which the library takes back unchanged.
            return await self.behave(behaviours.next(), given if name in CHANGES_MESSAGES else None, context)

        async def polled(context):
            self.inputs.append({"hook": name, "input": {}})
            return await self.behave(behaviours.next(), None, context)

        return polled if name in WITHOUT_INPUT else asked

    def link(self, behaviours):
        async def link(call, next):
            return await self.behave(behaviours.next(), None, call, next)

        return link

    async def behave(self, behaviour, value, actor, rest=None):
        """Takes the actions in order. Returns `value` unless an action returns another."""
        for action in behaviour:
            name, given = only(action)
            match name, actor:
                case "return", _:
                    return given
                case "throw", _:
                    raise CallbackError(given)
                case "never", _:
                    await asyncio.Event().wait()
                case "sleep_ms", MiddlewareCall(context=context) | (ToolContext() | HookContext() as context):
                    try:
                        await context.sleep(given)
                    except asyncio.CancelledError:
                        # An abandoned callback is cancelled in Python, too; its behaviour goes on.
                        if not context.is_cancelled:
                            raise
                case "update", ToolContext():
                    actor.update(given)
                case "suspend", ToolContext():
                    raise actor.suspend(given)
                case "log_key", ToolContext():
                    self.log.append(f"run/{actor.idempotency_key.partition('/')[2]}")
                case "next", MiddlewareCall():
                    value = await rest(None if given is True else given["arguments"])
                case "keep_last" | "append" | "roles", HookContext():
                    value = changed(value, name, given)
                case "log", agent_loop.Event():
                    self.log.append(given.replace("$type", actor.type))
                case "log", _:
                    self.log.append(given)
                case "gate", _:
                    try:
                        await self.until(lambda given=given: given in self.gates)
                    except asyncio.CancelledError:
                        # As above.
                        if not getattr(actor, "is_cancelled", False):
                            raise
                        await self.until(lambda given=given: given in self.gates)
                case "subscribe" | "unsubscribe", _:
                    (place,) = [place for place, listener in enumerate(self.listeners) if listener.get("name") == given]
                    if name == "subscribe":
                        self.subscribe(place)
                    else:
                        self.subscribed.pop(place).unsubscribe()
                case _:
                    try:
                        await self.act(name, given)
                    except AgentError as error:
                        self.log.append(f"{name}: {error.kind}")
        return value

    async def act(self, name, given):
        """The actions of every actor."""
        agent = self.agent
        match name:
            case "steer" | "follow_up" | "append_message" | "replace_messages":
                getattr(agent, name)(given)
            case "log_steer" | "log_follow_up":
                method = name.removeprefix("log_")
                self.log.append(f"{method}: {getattr(agent, method)(given)}")
            case (
                "abort"
                | "stop_after_turn"
                | "clear_steering_queue"
                | "clear_follow_up_queue"
                | "clear_all_queues"
                | "clear_messages"
                | "reset"
            ):
                getattr(agent, name)()
            case "forget":
                agent.forget(given)
            case "set":
                agent.set_options(**given)
            case "wait_for_idle":
                await agent.wait_for_idle()
            case "log_queued":
                self.log.append(f"queued: {compact(agent.has_queued_messages())}")
            case "log_state":
                now = state(agent)
                message, error = now["streaming_message"], now["error"]
                fields = [now["is_streaming"], message and message["content"], now["pending_tool_calls"], error and error["kind"]]
                self.log.append(f"{len(now['messages'])} messages, {', '.join(map(compact, fields))}")
            case "open":
                self.gates.add(given)
            case "wait_log":
                await self.until(lambda: given in self.log)
            # In callbacks, where they are refused.
            case "prompt":
                agent.stream(given)
            case "resume":
                agent.stream_resume()
            case "resume_if_queued":
                agent.stream_resume_if_queued()
            case _:
                raise ValueError(f"unknown action {name!r}")

    async def until(self, done):
        """Waits, in real time, for another actor."""
        while not done():
            await asyncio.sleep(0.001)


def only(action):
    """The name of an action and its value."""
    ((name, given),) = action.items()
    return name, given


def changed(messages, how, given):
    """The list of messages that a hook returns."""
    if how == "keep_last":
        return messages[max(len(messages) - given, 0) :]
    if how == "append":
        return [*messages, *given]
    return [
        {"role": given[one.role], "content": [{"type": "text", "text": one.data["text"]}], "timestamp": 0}
        if one.role in given
        else one
        for one in messages
    ]
