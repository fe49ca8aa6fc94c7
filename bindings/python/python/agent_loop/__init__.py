"""The LLM agent loop: prompt → model stream → tools → next turn.

```python
import asyncio
from agent_loop import Agent, TextDelta, tool

@tool
async def add(a: float, b: float) -> float:
    \"\"\"Add two numbers.\"\"\"
    return a + b

async def main() -> None:
    agent = Agent("anthropic/claude-sonnet-4-5", tools=[add])
    async with agent.stream("What is 1.5 and 2.25?") as run:
        async for event in run:
            match event:
                case TextDelta(delta=text):
                    print(text, end="", flush=True)

asyncio.run(main())
```
"""

from . import interpreter as _interpreter  # before all others
from . import at_exit as _at_exit  # before the native module; see there
from ._native import (
    VERSION as __version__,
    AssistantMessage,
    AudioBlock,
    ContentBlock,
    Cost,
    CustomMessage,
    DocumentBlock,
    ImageBlock,
    Message,
    ModelRequest,
    OpaqueBlock,
    PartialResult,
    RunResult,
    Subscription,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolOutput,
    ToolResultMessage,
    SuspendedCall,
    Undelivered,
    Usage,
    UserMessage,
    models,
    # <generated: imports of hook inputs>
    AfterToolCall,
    ApprovalRequest,
    BeforeToolCall,
    Failure,
    InterruptedCall,
    McpElicitation,
    McpSampling,
    McpSignIn,
    NextRequest,
    Payload,
    ResponseHead,
    TurnSummary,
    # </generated>
    # <generated: imports of events>
    AgentEnd,
    AgentStart,
    Diagnostic,
    Event,
    MessageEnd,
    MessageStart,
    MessageUpdate,
    Raw,
    Retry,
    SubagentEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingDelta,
    ThinkingEnd,
    ThinkingStart,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolCallSuspended,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    TurnEnd,
    TurnStart,
    # </generated>
)
from . import transcript
from .agent import Agent
from .answers import ApiKeyHeaders, ToolDecision, ToolOverride, ToolResult, TurnChange, TurnContext
from .codes import DIAGNOSTIC_CODES, LOG_CODES, LOSS_CODES, REPAIR_CODES
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
    DamagedError,
    InvalidArgumentError,
    InvalidRequestError,
    InvalidStateError,
    LimitError,
    NewerVersionError,
    NotFoundError,
    OverloadedError,
    PanicError,
    PermissionDeniedError,
    ProtocolError,
    ProviderError,
    QuotaError,
    RateLimitedError,
    ReplayError,
    ServerError,
    StreamTruncatedError,
    TlsError,
    # </generated>
)
from .hooks import HookContext
from .loop import Loop
from .middleware import MiddlewareCall, Next
from .model_call import complete, complete_sync, stream_complete, stream_complete_sync
from .output import Output
from .provider import ModelContext
from .program import AgentSpec, main as main  # not in __all__: programs have a function of that name
from .recording import replay
from .runs import Run
from .session import (
    CallProgress,
    Follow,
    InterruptedRun,
    OpenCall,
    OpenSession,
    SalvagedSession,
    Session,
    SessionInfo,
)
from .stateless import Context, resume, run
from .steps import LoopAction, LoopInput
from .store import SessionPage, Store
from .store_backend import HeldLease, LeaseRequest, StoreBackend
from .tool_context import Suspension, ToolContext
from .tools import Tool, tool

__all__ = [
    "__version__",
    "DIAGNOSTIC_CODES",
    "LOG_CODES",
    "LOSS_CODES",
    "REPAIR_CODES",
    "Agent",
    "AgentSpec",
    "ApiKeyHeaders",
    "AssistantMessage",
    "AudioBlock",
    "CallProgress",
    "complete",
    "complete_sync",
    "ContentBlock",
    "Context",
    "Cost",
    "CustomMessage",
    "DocumentBlock",
    "Follow",
    "HeldLease",
    "HookContext",
    "ImageBlock",
    "InterruptedRun",
    "LeaseRequest",
    "Loop",
    "LoopAction",
    "LoopInput",
    "Message",
    "MiddlewareCall",
    "ModelContext",
    "ModelRequest",
    "models",
    "Next",
    "OpaqueBlock",
    "OpenCall",
    "OpenSession",
    "Output",
    "PartialResult",
    "replay",
    "resume",
    "Run",
    "run",
    "RunResult",
    "SalvagedSession",
    "Session",
    "SessionInfo",
    "SessionPage",
    "Store",
    "StoreBackend",
    "stream_complete",
    "stream_complete_sync",
    "Subscription",
    "TextBlock",
    "ThinkingBlock",
    "Tool",
    "tool",
    "ToolCall",
    "Suspension",
    "ToolContext",
    "ToolDecision",
    "ToolOutput",
    "ToolOverride",
    "ToolResult",
    "ToolResultMessage",
    "transcript",
    "SuspendedCall",
    "TurnChange",
    "TurnContext",
    "Undelivered",
    "Usage",
    "UserMessage",
    # <generated: exports of hook inputs>
    "AfterToolCall",
    "ApprovalRequest",
    "BeforeToolCall",
    "Failure",
    "InterruptedCall",
    "McpElicitation",
    "McpSampling",
    "McpSignIn",
    "NextRequest",
    "Payload",
    "ResponseHead",
    "TurnSummary",
    # </generated>
    # <generated: exports of events>
    "AgentEnd",
    "AgentStart",
    "Diagnostic",
    "Event",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Raw",
    "Retry",
    "SubagentEvent",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingStart",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallStart",
    "ToolCallSuspended",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "TurnEnd",
    "TurnStart",
    # </generated>
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
    "DamagedError",
    "InvalidArgumentError",
    "InvalidRequestError",
    "InvalidStateError",
    "LimitError",
    "NewerVersionError",
    "NotFoundError",
    "OverloadedError",
    "PanicError",
    "PermissionDeniedError",
    "ProtocolError",
    "ProviderError",
    "QuotaError",
    "RateLimitedError",
    "ReplayError",
    "ServerError",
    "StreamTruncatedError",
    "TlsError",
    # </generated>
]
