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
    event_ids: bool
    """Whether each event has an id, by which a client that has lost its connection goes on. Default: whether the stream is
    `resumable`."""
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
    """What was sent of a run, for pages that come later. It reads the run whether a page reads or not."""

    __slots__ = ("comments", "error", "frames", "is_over", "more", "reading", "run", "sent")

    def __init__(self, run: Run, frames: _native.UiFrames) -> None:
        import asyncio

        self.run: Run[Any] = run
        self.frames: _native.UiFrames = frames
        self.sent: list[str] = []
        self.comments: int = 0
        self.is_over: bool = False
        self.error: Exception | None = None
        self.more: asyncio.Event = asyncio.Event()
        self.reading: asyncio.Task[None] = asyncio.ensure_future(self._read())

    def after(self, last_event_id: str | None) -> tuple[int, str]:
        """Where a page goes on that has all up to this frame: how many pieces it has, and the rest of the last one of them. From
        the beginning if no frame has this id."""
        for index, piece in enumerate(self.sent):
            if last_event_id is not None and (rest := _native.ui_frames_after(piece, last_event_id)) is not None:
                return index + 1, rest
        return 0, ""

    async def _read(self) -> None:
        try:
            while (text := await self.run._read_ui(self.frames)) is not None:
                if text == KEEP_ALIVE:
                    self.comments += 1
                else:
                    self.sent.append(text)
                self._wake()
        except Exception as error:
            # Of a run whose errors are raised: each reader gets it.
            self.error = error
        finally:
            self.is_over = True
            self._wake()

    def _wake(self) -> None:
        """Wakes the readers that have all there was."""
        import asyncio

        self.more.set()
        self.more = asyncio.Event()


class UiStream:
    """A run as the body of a response: an async iterator of texts, each of one or more server-sent events.

    It takes the place of the run's own iterator. When the task that reads it is cancelled, as servers do when the client has
    left, the run is aborted, as it is when the last reference to the stream is dropped. A stream that is `resumable` leaves the
    run alone: it goes on, and `Agent.resume_ui` has it again, from its beginning or from where a client has left.
    """

    __slots__ = ("_at", "_comments", "_frames", "_replay", "_rest", "run")

    def __init__(
        self, run: Run, protocol: str, request: UiRequest | None, options: UiOptions, resumable: bool = False
    ) -> None:
        self.run: Run[Any] = run
        """The run, to abort it or to wait for its result."""
        self._replay: Replay | None = None
        self._at, self._rest, self._comments = 0, "", 0
        if resumable:
            options = {"event_ids": True, **options}
        try:
            self._frames = _native.UiFrames(protocol, options, None if request is None else request._native)
        except BaseException:
            # Nobody else would end it: the handler of a request fails here.
            run.abort()
            raise
        run._native.keep_events()
        if resumable:
            self._replay = Replay(run, self._frames)
            # What goes on with a message that a page has is no message for another page.
            if request is not None and request.prompt is not None:
                run._agent._replay = self._replay

    @classmethod
    def _again(cls, replay: Replay, last_event_id: str | None) -> Self:
        """One more reader of a run, from its beginning, or after the frame with this id."""
        stream = cls.__new__(cls)
        stream.run, stream._frames, stream._replay, stream._comments = replay.run, replay.frames, replay, replay.comments
        stream._at, stream._rest = replay.after(last_event_id)
        return stream

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response, by their names in lower case."""
        return self._frames.headers

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        import asyncio

        if self._replay is not None:
            return await self._next_of(self._replay)
        try:
            text = await self.run._read_ui(self._frames)
        except asyncio.CancelledError:
            self.run.abort()
            raise
        if text is None:
            raise StopAsyncIteration
        return text

    async def _next_of(self, replay: Replay) -> str:
        """The next frames of a run that others may read, too; a comment while there are none for long."""
        if self._rest:
            text, self._rest = self._rest, ""
            return text
        while self._at == len(replay.sent):
            if replay.is_over:
                raise StopAsyncIteration if replay.error is None else replay.error
            if self._comments != replay.comments:
                self._comments = replay.comments
                return KEEP_ALIVE
            await replay.more.wait()
        text, self._at = "".join(replay.sent[self._at :]), len(replay.sent)
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
