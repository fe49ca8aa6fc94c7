"""Refuses to be imported in a subinterpreter, before the native module is: that has one runtime for the process, which the end of
a subinterpreter would close, and it would serve only the interpreter that has imported it first."""

from __future__ import annotations

from typing import Any

interpreters: Any
try:
    import _interpreters as interpreters  # type: ignore[import-not-found, no-redef, unused-ignore]  # Python 3.13
except ImportError:
    try:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found, no-redef, unused-ignore]
    except ImportError:
        interpreters = None

if interpreters is not None and interpreters.get_current() != interpreters.get_main():
    raise ImportError(
        "agent_loop cannot be imported in a subinterpreter; import it in the main one, or use processes "
        "(under mod_wsgi: WSGIApplicationGroup %{GLOBAL})"
    )
