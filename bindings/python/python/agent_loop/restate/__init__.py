"""Agents on Restate: conversations that survive their process, on several machines (`pip install agent-loop[restate]`).

```python
import restate
from agent_loop import tool
from agent_loop.restate import restate_agent

@tool
async def weather(city: str) -> str:
    \"\"\"The weather in a city.\"\"\"
    return f"rain in {city}"

assistant = restate_agent("assistant", "anthropic/claude-sonnet-4-5", tools=[weather])
app = restate.app([assistant])  # hypercorn app:app
```

See `docs/scale.md`.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("restate") is None:
    raise ImportError("agent_loop.restate needs the SDK of Restate: pip install agent-loop[restate]", name="restate")

from .agent import restate_agent  # noqa: E402
from .tool_step import RestateContext  # noqa: E402

__all__ = ["RestateContext", "restate_agent"]
