"""Makes a transcript fit a model: any transcript, for any model. It runs before every request by itself; here it is for transcripts
from elsewhere, and to look at one before it is used.

```python
from agent_loop import Agent, doctor

repaired = doctor.repair(messages, "anthropic/claude-sonnet-4-5")
for repair in repaired.repairs:
    print(repair.message_index, repair.text)
agent = Agent("anthropic/claude-sonnet-4-5", messages=repaired.messages)
```
"""

from ._native import Repair, Repaired, check, repair

__all__ = ["Repair", "Repaired", "check", "repair"]
