#!/bin/sh
# The tests with web servers, against the package that develop.sh built: test-servers.sh [VENV]. Arguments after it go to pytest.
#
# VENV has the packages of requirements-servers.txt and is made if need be: target/python-servers-venv unless given.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../target/python-servers-venv}
[ $# -eq 0 ] || shift

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
if ! cmp -s "$here/requirements-servers.txt" "$venv/requirements-servers.txt"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements-servers.txt"
    cp "$here/requirements-servers.txt" "$venv/requirements-servers.txt"
fi
PYTHONPATH="$here/python" "$venv/bin/python" -X dev -m pytest "$here/tests-servers" "$@"
