"""A run for a browser: the AI SDK's UI message stream, which `useChat` and assistant-ui read, and AG-UI.

```py
@app.post("/api/chat")
async def chat(request: Request) -> Response:
    asked = UiRequest.from_ai_sdk(await request.body())
    run = agents[asked.id].stream_ui(asked)
    return run.to_ui_message_stream(asked).to_response()
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Self, Unpack

    from ._native import Loss, Message
    from .runs import Run

__all__ = ["UiOptions", "UiRequest", "UiRequestOptions", "UiStream"]

# A comment, which browsers skip.
KEEP_ALIVE = ": keep-alive\n\n"


class UiOptions(TypedDict, total=False):
    """The options of a stream for a browser."""

    show_errors: bool
    """Whether the texts of errors are sent, of failed tools, too. They may name addresses, files and accounts of the server.
    Default: false."""
    error_text: str
    """What the browser gets in place of an error's text. Default: `An error occurred.`"""
    reasoning: bool
    """Whether thinking is sent. Default: true."""
    signatures: bool
    """Whether the signatures of thinking, texts and calls are sent: who keeps the history in the browser needs them there.
    Default: true."""
    usage: bool
    """Whether the tokens of the run are sent. Default: true."""
    subagents: bool
    """Whether it is sent what subagents write and which tools they call. Default: false."""
    keep_alive_ms: int
    """After how many milliseconds without anything to send a comment is sent, so that no proxy closes the connection; 0: none.
    Default: 15,000."""
    client_tools: list[str]
    """Tools that the browser runs: it is not asked to approve their calls, but for their outputs. Default: none."""
    message_id: str
    """The id of the message in the browser (AI SDK). Default: the browser makes one."""
    thread_id: str
    """The id of the conversation (AG-UI). Default: that of the request, else the run's."""
    run_id: str
    """The id of the run that the browser knows (AG-UI). Default: that of the request, else the run's own."""


class UiRequestOptions(TypedDict, total=False):
    """What a server lets a browser decide."""

    client_tools: list[str]
    """Tools that the browser runs: a call of any other tool takes no result of it. Default: none."""
    edit_arguments: bool
    """Whether a call may be approved with other arguments than those that were asked for (AG-UI). Default: false."""
    open_calls: bool
    """Whether calls may be approved that have no result and do not wait: those of an agent that has the request's `history`, and
    of one whose messages were stored without the calls that wait. Default: false."""
    keep_messages: bool
    """Whether the conversation stays as it is: no message is edited, and no answer is made anew. Default: false."""


class UiRequest:
    """The request of a browser. What is in it may be anything that somebody has sent.

    An agent that has the conversation already takes nothing of it but what the user has sent and decided. With
    `Agent(..., messages=request.history)` the browser keeps the conversation, and may have written all of it: what was answered,
    what tools have returned, and which calls wait with which arguments.
    """

    __slots__ = ("_native",)

    def __init__(
        self, protocol: str, body: str | bytes | dict[str, Any], **options: Unpack[UiRequestOptions]
    ) -> None:
        """Reads the body of a request: its text, or what `json.loads` makes of it. `protocol` is `ai_sdk` or `ag_ui`.

        Raises `InvalidArgumentError` for what is no such request, and for a wrong option."""
        if isinstance(body, (bytes, bytearray, memoryview)):
            try:
                body = bytes(body).decode()
            except UnicodeDecodeError as error:
                raise InvalidArgumentError(f"the request: {error}") from None
        self._native = _native.UiRequest.read(protocol, body, options)

    @classmethod
    def from_ai_sdk(cls, body: str | bytes | dict[str, Any], **options: Unpack[UiRequestOptions]) -> Self:
        """Reads a request of `useChat`: `{id, messages, trigger, messageId}`. See `UiRequest`."""
        return cls("ai_sdk", body, **options)

    @classmethod
    def from_ag_ui(cls, body: str | bytes | dict[str, Any], **options: Unpack[UiRequestOptions]) -> Self:
        """Reads a request of AG-UI: its `RunAgentInput`. See `UiRequest`."""
        return cls("ag_ui", body, **options)

    @property
    def id(self) -> str | None:
        """The conversation: `id` of the AI SDK, `threadId` of AG-UI. Check in your application whose it is."""
        return self._native.id

    @property
    def run_id(self) -> str | None:
        """The id of the run (AG-UI)."""
        return self._native.run_id

    @property
    def message_id(self) -> str | None:
        """The message that is to be answered anew, or that was edited (AI SDK)."""
        return self._native.message_id

    @property
    def is_regenerate(self) -> bool:
        """Whether the last answer is to be made anew."""
        return self._native.is_regenerate

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation before the prompt, as the browser has it, without a system prompt."""
        return self._native.history

    @property
    def prompt(self) -> Message | None:
        """What the user has sent; None if the request answers calls."""
        return self._native.prompt

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What of the messages was not carried over."""
        return self._native.losses

    def __repr__(self) -> str:
        return repr(self._native)


class Replay:
    """What was sent of a run, for pages that come later. It reads on when one of its readers has all that there is."""

    __slots__ = ("frames", "is_over", "pieces", "reading", "run")

    def __init__(self, run: Run, frames: _native.UiFrames) -> None:
        self.run: Run[Any] = run
        self.frames: _native.UiFrames = frames
        self.pieces: list[str] = []
        self.is_over: bool = False
        self.reading: asyncio.Task[str | None] | None = None

    async def read(self, at: int) -> str | None:
        """A piece by its place; None after the last one, and a comment while there is none."""
        import asyncio

        while at >= len(self.pieces):
            if self.is_over:
                return None
            if self.reading is None:
                self.reading = asyncio.ensure_future(self._read())
            # A reader that leaves takes nothing from the others.
            text = await asyncio.shield(self.reading)
            if text == KEEP_ALIVE:
                return text
        return self.pieces[at]

    async def _read(self) -> str | None:
        try:
            text = await self.run._read_ui(self.frames)
            if text is None:
                self.is_over = True
            elif text != KEEP_ALIVE:
                self.pieces.append(text)
            return text
        finally:
            self.reading = None


class UiStream:
    """A run as the body of a response: an async iterator of texts, each of one or more server-sent events.

    It takes the place of the run's own iterator. When the task that reads it is cancelled, as servers do when the client has
    left, the run is aborted, as it is when the last reference to the stream is dropped. A stream that is `resumable` leaves the
    run alone: `Agent.resume_ui` has it again, from its beginning.
    """

    __slots__ = ("_at", "_frames", "_replay", "run")

    def __init__(
        self, run: Run, protocol: str, request: UiRequest | None, options: UiOptions, resumable: bool = False
    ) -> None:
        self.run: Run[Any] = run
        """The run, to abort it or to wait for its result."""
        self._replay: Replay | None = None
        self._at = 0
        try:
            self._frames = _native.UiFrames(protocol, options, None if request is None else request._native)
        except BaseException:
            # Nobody else would end it: the handler of a request fails here.
            run.abort()
            raise
        if resumable:
            self._replay = Replay(run, self._frames)
            # What goes on with a message that a page has is no message for another page.
            if request is not None and request.prompt is not None:
                run._agent._replay = self._replay

    @classmethod
    def _again(cls, replay: Replay) -> Self:
        """One more reader of a run, from its beginning."""
        stream = cls.__new__(cls)
        stream.run, stream._frames, stream._replay, stream._at = replay.run, replay.frames, replay, 0
        return stream

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response, by their names in lower case."""
        return self._frames.headers

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        import asyncio

        try:
            text = await (self.run._read_ui(self._frames) if self._replay is None else self._replay.read(self._at))
        except asyncio.CancelledError:
            if self._replay is None:
                self.run.abort()
            raise
        if text is not None and text != KEEP_ALIVE:
            self._at += 1
        if text is None:
            raise StopAsyncIteration
        return text

    async def aclose(self) -> None:
        """Aborts the run if it is active, unless the stream is resumable, and waits until the agent is idle."""
        if self._replay is None:
            await self.run.close()

    def to_response(self, *, status_code: int = 200, headers: dict[str, str] | None = None) -> Any:
        """A `StreamingResponse` of Starlette, as FastAPI returns it; needs its package. `headers` are further ones."""
        from importlib import import_module

        # Not by `import`: it is no dependency of this package, and no type checker has to know it.
        responses = import_module("starlette.responses")
        return responses.StreamingResponse(self, status_code, headers=self.headers | (headers or {}))
