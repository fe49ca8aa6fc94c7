"""Log records: what the engine reports to whoever runs the program, as records of the logger `agent_loop`.

Records of a run are logged on its event loop, in the context variables of its caller, before its result is returned. Others are
logged on a thread of the engine.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import LogRecord

logger: logging.Logger = logging.getLogger("agent_loop")
# A library prints nothing by itself.
logger.addHandler(logging.NullHandler())

LEVELS: dict[str, int] = {"error": logging.ERROR, "warn": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}


def is_debugged() -> bool:
    """Whether records of the level `debug` are wanted."""
    return logger.isEnabledFor(logging.DEBUG)


def write(record: LogRecord) -> None:
    """Logs a record, in its context variables."""
    level = LEVELS[record.level]
    if not logger.isEnabledFor(level):
        return
    if (vars := record.vars) is None:
        log(level, record)
    else:
        # A copy: what a handler sets is its own, and the context itself may be entered already.
        vars.copy().run(log, level, record)


def log(level: int, record: LogRecord) -> None:
    fields = record.fields()
    error = fields["error"]
    # What a function of the application has raised, with its traceback. Other errors have none.
    cause = None if error is None else error.__cause__
    logger.log(level, "%s", record.message, exc_info=cause, extra={"agent_loop": fields})
