"""The measured programs, the benchmark server, and a call of the one while the other runs."""

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
# The profile of the Rust programs; docs/performance.md has figures of `release`.
PROFILE = os.environ.get("BENCH_PROFILE", "release")
BUILT = TARGET / PROFILE
BENCH = TARGET / "bench"


@dataclass
class Program:
    """A measured program: how it is run, what it needs, and its targets."""

    name: str
    command: list
    needs: list
    cpu_limit: float | None = None  # times the floor; None: not one of our languages, without targets
    memory_limit: int | None = None  # kB per concurrent run
    options: tuple = ()  # after those of the protocol
    concurrent: bool = True  # whether it is in the concurrency table too
    copies: dict = field(default_factory=dict)  # files put in place before it runs
    cwd: Path = ROOT
    problem: str | None = None

    def missing(self):
        return next((path for path in self.needs if not path.exists()), None)


PROGRAMS = [
    Program("floor", [BUILT / "bench-floor"], [BUILT / "bench-floor"]),
    Program(
        "floor-spawned",
        [BUILT / "bench-floor"],
        [BUILT / "bench-floor"],
        options=("--spawned",),
        concurrent=False,  # concurrent runs are spawned anyway
    ),
    Program("handwritten", [BUILT / "bench-handwritten"], [BUILT / "bench-handwritten"]),
    Program("rust", [BUILT / "bench-rust"], [BUILT / "bench-rust"], 2.5, 80),
    Program("c", [BENCH / "bench-c"], [BENCH / "bench-c"], 2.5, 80),
    Program(
        "python",
        [BENCH / "venv/bin/python", ROOT / "benches/python/bench.py"],
        [ROOT / "benches/python/bench.py", BENCH / "venv/bin/python"],
        4.5,
        100,
    ),
    Program(
        "node",
        ["node", "bench.mjs"],
        [ROOT / "benches/node/bench.mjs", BENCH / "node/node_modules/agent-loop"],
        4.5,
        100,
        # Node searches packages next to the importing file.
        copies={ROOT / "benches/node/bench.mjs": BENCH / "node/bench.mjs"},
        cwd=BENCH / "node",
    ),
]


class Broken(Exception):
    """A program broke the protocol."""


class Server:
    """The benchmark server, for as long as the `with` lasts."""

    def __init__(self, built=BUILT):
        self.program = built / "bench-server"

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            sys.exit("bench-server did not start")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def stats(self):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.url + "/stats", timeout=10) as response:
            return json.load(response)


def call(program, arguments, **variables):
    """Runs a program once, with variables of the environment, and returns the JSON line that it prints."""
    command = [*program.command, *arguments, *program.options]
    environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    environment |= variables
    # The C program finds libagent.so.<abi> in its own folder.
    environment["LD_LIBRARY_PATH"] = os.pathsep.join([str(BENCH), str(BUILT)])
    for source, copy in program.copies.items():
        shutil.copyfile(source, copy)
    try:
        done = subprocess.run(
            command, cwd=program.cwd, env=environment, capture_output=True, text=True, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Broken(f"{program.name} {' '.join(arguments)}: {error}") from error
    line = done.stdout.strip().splitlines()[-1:] or [""]
    try:
        if done.returncode == 0:
            return json.loads(line[0])
    except json.JSONDecodeError:
        pass
    problem = (done.stderr.strip() or done.stdout.strip() or "no output")[-800:]
    raise Broken(f"{program.name} {' '.join(arguments)}: exit code {done.returncode}: {problem}")


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def machine():
    model = next(
        (line.split(":", 1)[1].strip() for line in read("/proc/cpuinfo").splitlines() if line.startswith("model name")),
        platform.processor() or "unknown processor",
    )
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "load": [round(load, 2) for load in os.getloadavg()],
    }


def read(path):
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def more_files():
    """Raises the limit of open files, for a thousand connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, enough), hard))


def peers():
    """Other libraries to compare with: programs in target/bench/peers that understand the command line of README.md."""
    found = sorted((BENCH / "peers").glob("*")) if (BENCH / "peers").is_dir() else []
    return [Program(path.stem, [path], [path]) for path in found if path.is_file() and os.access(path, os.X_OK)]
