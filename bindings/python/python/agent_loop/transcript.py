"""Transcript repair: makes any transcript valid for a model.

The engine repairs the transcript before every model call; an agent's messages stay unchanged. Use this module for transcripts
from elsewhere, or to see what a model would be sent.

```python
from agent_loop import Agent, transcript

repaired = transcript.repair(messages, "anthropic/claude-sonnet-4-5")
for repair in repaired.repairs:
    print(repair.message_index, repair.text)
agent = Agent("anthropic/claude-sonnet-4-5", messages=repaired.messages)
```

`read_history` reads a history that was stored, by this library or another program. `from_openai`, `from_anthropic` and the like
read the messages of other formats, `to_openai` and the like write them, and both report what was not carried over:

```python
read = transcript.from_openai(messages)
agent = Agent("anthropic/claude-sonnet-4-5", system_prompt=read.system_prompt, messages=read.messages)
written = transcript.to_openai(agent.messages, system_prompt=agent.system_prompt)
print(written.messages, written.losses)
```

The functions need no event loop and no network, and may be called from any thread.
"""

from ._native import (
    Exported,
    Imported,
    Loss,
    Repair,
    Repaired,
    check,
    estimate_tokens,
    export_messages,
    read_history,
    recent,
    repair,
)
from .conversion import (
    from_ai_sdk,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
    from_pi,
    import_messages,
    to_ai_sdk,
    to_anthropic,
    to_gemini,
    to_openai,
    to_openai_responses,
    to_pi,
)

__all__ = [
    "Exported",
    "Imported",
    "Loss",
    "Repair",
    "Repaired",
    "check",
    "estimate_tokens",
    "export_messages",
    "from_ai_sdk",
    "from_anthropic",
    "from_gemini",
    "from_openai",
    "from_openai_responses",
    "from_pi",
    "import_messages",
    "read_history",
    "recent",
    "repair",
    "to_ai_sdk",
    "to_anthropic",
    "to_gemini",
    "to_openai",
    "to_openai_responses",
    "to_pi",
]
