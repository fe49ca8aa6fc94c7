#!/usr/bin/env python3
"""Run a command beside a Secret Service: with_server.py -- COMMAND ARGS...

The service is GNOME's keyring, unlocked, with its data in a folder that is removed at the end, on a D-Bus of its own. Both end
with the command, whose exit code this returns. Where they are not installed, it says so, and what it prints counts as one test
that was skipped. Debian's packages are `gnome-keyring` and `dbus`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NEEDED = "dbus-run-session", "gnome-keyring-daemon"
# The password of the keyring is a line of standard input. The daemon goes on in the background and says where it listens.
SESSION = 'printf "password\\n" | gnome-keyring-daemon --unlock --components=secrets > /dev/null && exec "$@"'


def main(arguments):
    command = arguments[arguments.index("--") + 1:]
    if missing := [program for program in NEEDED if shutil.which(program) is None]:
        print(f"skipped: the keyring: {' and '.join(missing)} not installed; Debian: apt-get install gnome-keyring dbus")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        runtime = Path(folder, "runtime")
        runtime.mkdir(mode=0o700)
        own = {"XDG_DATA_HOME": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/config", "XDG_RUNTIME_DIR": str(runtime)}
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "GNOME_KEYRING_CONTROL")}
        session = ["dbus-run-session", "--", "sh", "-c", SESSION, "sh", *command]
        return subprocess.run(session, env=environment | own, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
