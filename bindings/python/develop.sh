#!/bin/sh
# Builds the package into a virtual environment with what its tests need: develop.sh VENV [PROFILE]
#
# PROFILE is cargo's (ci unless given). The environment is made once; the package is what the sources are now.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ]; then
    echo "usage: develop.sh VENV [PROFILE]" >&2
    exit 2
fi
venv=$1
profile=${2:-ci}

if ! cmp -s "$here/requirements-dev.txt" "$venv/requirements-dev.txt"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements-dev.txt"
    cp "$here/requirements-dev.txt" "$venv/requirements-dev.txt"
fi
VIRTUAL_ENV=$(cd "$venv" && pwd)
export VIRTUAL_ENV
cd "$here"
"$VIRTUAL_ENV/bin/maturin" develop --quiet --locked --profile "$profile"
