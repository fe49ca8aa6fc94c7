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
    AgentEnd,
    AgentStart,
    AssistantMessage,
    ContentBlock,
    Cost,
    CustomMessage,
    Diagnostic,
    Event,
    ImageBlock,
    Message,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    OpaqueBlock,
    PartialResult,
    Raw,
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
    Usage,
    UserMessage,
)
from .agent import Agent
from .errors import (
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
)
from .run import Run
from .tools import Tool, ToolContext, tool

__all__ = [
    "__version__",
    "AbortedError",
    "Agent",
    "AgentConnectionError",
    "AgentEnd",
    "AgentError",
    "AgentIOError",
    "AgentStart",
    "AgentTimeoutError",
    "AssistantMessage",
    "AuthenticationError",
    "BusyError",
    "CallbackError",
    "ContentBlock",
    "ContextOverflowError",
    "Cost",
    "CustomMessage",
    "Diagnostic",
    "Event",
    "ImageBlock",
    "InvalidArgumentError",
    "InvalidRequestError",
    "InvalidStateError",
    "LimitError",
    "Message",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "NotFoundError",
    "OpaqueBlock",
    "OverloadedError",
    "PanicError",
    "PartialResult",
    "PermissionDeniedError",
    "ProtocolError",
    "ProviderError",
    "QuotaError",
    "RateLimitedError",
    "Raw",
    "Retry",
    "Run",
    "RunResult",
    "ServerError",
    "StreamTruncatedError",
    "Subscription",
    "TextBlock",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingBlock",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "TlsError",
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
    "TurnEnd",
    "TurnStart",
    "Usage",
    "UserMessage",
]
