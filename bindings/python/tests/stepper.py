"""Plays the tape of a scenario, a line of tests/scenarios/steps.jsonl, with a loop that is stepped. See docs/scenarios.md."""

from agent_loop import Loop


class Stepper:
    """A run that is played: its actions and its events."""

    def __init__(self, tape, saves):
        self.run, self.saves, self.now_ms = Loop(**tape["options"]), saves, tape["at_ms"]
        self.timer_ms, self.is_over, self.actions, self.events = None, False, [], []
        for entry in tape["inputs"]:
            events = entry["events"]
            self.poll_until(entry["at_ms"], entry.get("at_once") and (lambda events=events: len(self.events) == events))
            assert len(self.events) == events, entry
            self.run.handle(entry["input"])
        self.poll_until(None, lambda: self.is_over)

    def poll_until(self, at_ms, is_enough):
        """Lets the loop go on until this time, or until it is enough."""
        while not (is_enough and is_enough()):
            if self.poll():
                continue
            if self.now_ms == at_ms:
                return
            timer = [] if self.timer_ms is None or self.timer_ms <= self.now_ms else [self.timer_ms]
            self.now_ms = min(timer + ([] if at_ms is None else [at_ms]))

    def poll(self):
        action = self.run.poll(self.now_ms)
        if action is None:
            return False
        match action:
            case {"type": "event", "event": event}:
                self.events.append(event)
            case {"type": "set_timer", "at_ms": at_ms}:
                self.timer_ms = at_ms
            case {"type": "done"}:
                self.is_over = True
        self.actions.append(action)
        if self.saves:
            self.run = Loop.load(self.run.save())
        return True
