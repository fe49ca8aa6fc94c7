"""How tests are run: `async def` tests on a fresh event loop each, asyncio's own or `--loop uvloop`."""

import asyncio
import inspect
import sys
from pathlib import Path

import pytest

# How a result is compared with what is expected.
sys.path.append(str(Path(__file__).resolve().parents[3] / "tests/scenarios"))


def pytest_addoption(parser):
    parser.addoption("--loop", choices=["asyncio", "uvloop"], default="asyncio", help="whose event loop async tests run on")


def pytest_configure(config):
    if config.getoption("--loop") == "uvloop":
        pytest.importorskip("uvloop", reason="uvloop is not installed; pip install -r requirements-dev.txt")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    test = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
    if pyfuncitem.config.getoption("--loop") == "uvloop":
        import uvloop

        uvloop.run(limited(test))
    else:
        asyncio.run(limited(test))
    return True


async def limited(test):
    """Fails a test that hangs."""
    await asyncio.wait_for(test, 60)
