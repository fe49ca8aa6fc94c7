#!/bin/sh
# All tests of the package that develop.sh built: test.sh [VENV]. Arguments after it go to pytest.
#
# -X dev and -W error: what Python itself notices (coroutines never awaited, resources left open) fails the test.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../target/python-venv}
[ $# -eq 0 ] || shift

"$venv/bin/python" -X dev -W error -m pytest "$here/tests" "$@"

# Once more on the other common event loop, without the tests that start programs of their own or read types.
if "$venv/bin/python" -c "import uvloop" 2>/dev/null; then
    "$venv/bin/python" -X dev -m pytest "$here/tests" --loop uvloop --ignore "$here/tests/test_exit.py" \
        --ignore "$here/tests/test_process.py" --ignore "$here/tests/test_types.py" "$@"
else
    echo "skipped: the tests on uvloop, which is not installed"
fi
