#!/bin/sh
# The package's tests, its types against the built module, and its tests once more on uvloop: test.sh VENV
#
# VENV is what develop.sh made.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
python=$(cd "$1" && pwd)/bin/python
cd "$here"

code=0
"$python" -X dev -m pytest tests || code=1
"$python" -m pytest tests --loop uvloop || code=1
echo "types: stubtest"
if "$python" -m mypy.stubtest agent_loop._native; then
    echo "1 passed, 0 failed, 0 skipped"
else
    echo "0 passed, 1 failed, 0 skipped"
    code=1
fi
exit $code
