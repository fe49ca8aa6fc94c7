#!/bin/sh
# All tests of the package that develop.sh built: test.sh [VENV]. Arguments after it go to pytest.
#
# -X dev: what Python itself notices (coroutines never awaited, resources left open) is an error.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../target/python-venv}
[ $# -eq 0 ] || shift

exec "$venv/bin/python" -X dev -W error -m pytest "$here/tests" "$@"
