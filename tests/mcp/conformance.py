#!/usr/bin/env python3
"""Runs the scenarios for clients of MCP's conformance suite: conformance.py CLIENT, within with_server.py, which installs it.

CLIENT is the program of conformance_client.rs, which connects to the address that the suite gives it. Each check of a scenario is
a test. The last line counts: N passed, N failed, N skipped. A scenario that is known to fail is skipped, and says why; one that
passes in spite of that is a failure.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

MODULES = Path(__file__).resolve().parent.parent.parent / "target/mcp/npm/node_modules"
SUITE = [MODULES / "node/bin/node", MODULES / "@modelcontextprotocol/conformance/dist/index.js"]

KNOWN = {
    "initialize": "the client begins with a version of the protocol that the suite does not know",
    "auth/2025-03-26-oauth-metadata-backcompat": "the metadata of the scenario names another service than it is of",
    "auth/client-credentials-jwt": "private keys as a program's secret are not supported",
    "auth/cross-app-access-complete-flow": "the sign-in by way of a company's service is not supported",
}


def scenarios():
    listed = subprocess.run([*SUITE, "list"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  - (\S+)", listed.partition("Client scenarios")[2], re.MULTILINE)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    passed = failed = skipped = 0
    for scenario in scenarios():
        run = [*SUITE, "client", "--command", sys.argv[1], "--scenario", scenario]
        ran = subprocess.run(run, capture_output=True, text=True, env=os.environ | {"NO_COLOR": "1"})
        output = ran.stdout + ran.stderr
        counts = re.search(r"^Passed: (\d+)/(\d+)", output, re.MULTILINE)
        done, of = (int(count) for count in counts.groups()) if counts else (0, 0)
        is_right = ran.returncode == 0 and done == of > 0
        if is_right != (scenario not in KNOWN):
            failed += max(of - done, 1)
            print(f"FAIL {scenario}: it is known to fail, and passes" if is_right else f"FAIL {scenario}\n{output}")
        elif is_right:
            passed += done
            print(f"ok {scenario}: {done}")
        else:
            skipped += 1
            print(f"skipped: {scenario}: {KNOWN[scenario]}")
    if passed + failed == 0:
        sys.exit("the suite lists no scenarios")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
