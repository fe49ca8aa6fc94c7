"""The LLM agent loop: prompt → model stream → tools → next turn.

```python
import asyncio
from agent_loop import Agent, TextDelta, tool

@tool
async def add(a: float, b: float) -> float:
    \"\"\"Add two numbers.\"\"\"
    return a + b

async def main():
    agent = Agent("anthropic/claude-sonnet-4-5", tools=[add])
    async with agent.stream("What is 1.5 and 2.25?") as run:
        async for event in run:
            match event:
                case TextDelta(delta=text):
                    print(text, end="", flush=True)

asyncio.run(main())
```
"""

from ._native import (
    VERSION as __version__,
    AfterToolCall,
    AgentEnd,
    AgentStart,
    AssistantMessage,
    BeforeToolCall,
    ContentBlock,
    Cost,
    CustomMessage,
    Diagnostic,
    Event,
    Failure,
    ImageBlock,
    Message,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    ModelRequest,
    OpaqueBlock,
    PartialResult,
    Payload,
    Raw,
    ResponseHead,
    Retry,
    RunResult,
    Subscription,
    TextBlock,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOutput,
    ToolResultMessage,
    TurnEnd,
    TurnStart,
    TurnSummary,
    Undelivered,
    Usage,
    UserMessage,
    models,
)
from . import transcript
from .agent import Agent
from .errors import (
    # <generated: imports of errors>
    AbortedError,
    AgentConnectionError,
    AgentError,
    AgentIOError,
    AgentTimeoutError,
    AuthenticationError,
    BusyError,
    CallbackError,
    ContextOverflowError,
    InvalidArgumentError,
    InvalidRequestError,
    InvalidStateError,
    LimitError,
    NotFoundError,
    OverloadedError,
    PanicError,
    PermissionDeniedError,
    ProtocolError,
    ProviderError,
    QuotaError,
    RateLimitedError,
    ServerError,
    StreamTruncatedError,
    TlsError,
    # </generated>
)
from .hooks import HookContext
from .middleware import MiddlewareCall
from .provider import ModelContext
from .runs import Run
from .stateless import Context, resume, run
from .tool_context import ToolContext
from .tools import Tool, tool

__all__ = [
    "__version__",
    "AfterToolCall",
    "Agent",
    "AgentEnd",
    "AgentStart",
    "AssistantMessage",
    "BeforeToolCall",
    "ContentBlock",
    "Context",
    "Cost",
    "CustomMessage",
    "Diagnostic",
    "Event",
    "Failure",
    "HookContext",
    "ImageBlock",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "MiddlewareCall",
    "ModelContext",
    "ModelRequest",
    "models",
    "OpaqueBlock",
    "PartialResult",
    "Payload",
    "Raw",
    "ResponseHead",
    "resume",
    "Retry",
    "Run",
    "run",
    "RunResult",
    "Subscription",
    "TextBlock",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingBlock",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "Tool",
    "tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolContext",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolOutput",
    "ToolResultMessage",
    "transcript",
    "TurnEnd",
    "TurnStart",
    "TurnSummary",
    "Undelivered",
    "Usage",
    "UserMessage",
    # <generated: exports of errors>
    "AbortedError",
    "AgentConnectionError",
    "AgentError",
    "AgentIOError",
    "AgentTimeoutError",
    "AuthenticationError",
    "BusyError",
    "CallbackError",
    "ContextOverflowError",
    "InvalidArgumentError",
    "InvalidRequestError",
    "InvalidStateError",
    "LimitError",
    "NotFoundError",
    "OverloadedError",
    "PanicError",
    "PermissionDeniedError",
    "ProtocolError",
    "ProviderError",
    "QuotaError",
    "RateLimitedError",
    "ServerError",
    "StreamTruncatedError",
    "TlsError",
    # </generated>
]
