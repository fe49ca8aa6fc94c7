"""A chat with `useChat` of the AI SDK, served by FastAPI: text, tools, approvals, edits, stop, and a reload in mid-answer.

    npm install && npm run build
    uvicorn app:app

The page is page.jsx, which the same server in Node (app.mjs) has, too.
"""

from typing import Any

from agent_loop import Agent, AgentError, BusyError, InvalidArgumentError, InvalidStateError, tool
from agent_loop.ui import UiRequest
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

app = FastAPI()
agents: dict[str, Agent] = {}  # in a real application, sessions of a store


@tool
async def weather(city: str) -> dict[str, Any]:
    """The weather in a city."""
    if city == "Atlantis":
        raise ValueError("no station at 10.0.0.7")
    return {"city": city, "sky": "rain"}


@tool(needs_approval=True)
async def book(city: str) -> str:
    """Books a journey to a city."""
    return f"booked {city}"


def agent_of(id: str | None) -> Agent:
    """The agent of a conversation. Check in your application whose it is."""
    if not id:
        raise InvalidArgumentError("the request has no id of a conversation")
    if id not in agents:
        agents[id] = Agent("anthropic/claude-sonnet-4-5", tools=[weather, book])
    return agents[id]


@app.post("/api/chat")
async def chat(request: Request) -> Response:
    asked = UiRequest.from_ai_sdk(await request.body())
    agent = agent_of(asked.id)
    await agent.wait_for_idle()  # the run that was stopped may still be ending
    return agent.stream_ui(asked).to_ui_message_stream(asked, resumable=True).to_response()


@app.get("/api/chat/{id}")
async def messages(id: str) -> list[dict[str, Any]]:
    return agent_of(id).to_ui_messages(resume=True)


@app.get("/api/chat/{id}/stream")
async def reconnect(id: str) -> Response:
    stream = agent_of(id).resume_ui()
    return Response(status_code=204) if stream is None else stream.to_response()


@app.post("/api/chat/{id}/stop", status_code=204)
async def stop(id: str) -> None:
    agent_of(id).abort()


@app.exception_handler(AgentError)
async def refused(request: Request, error: AgentError) -> Response:
    return JSONResponse({"error": error.message}, 409 if isinstance(error, (BusyError, InvalidStateError)) else 400)


app.mount("/", StaticFiles(directory="public", html=True))
