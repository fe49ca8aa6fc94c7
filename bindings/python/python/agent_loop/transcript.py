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

`read_history` reads a history that was stored, by this library or another program. The functions need no event loop and
no network, and may be called from any thread.
"""

from ._native import Repair, Repaired, check, read_history, recent, repair

__all__ = ["Repair", "Repaired", "check", "read_history", "recent", "repair"]
