#!/bin/sh
# Builds the package in place, into a virtual environment that is made if need be: develop.sh [VENV [PROFILE]]
#
# VENV is target/python-venv unless given, PROFILE cargo's (ci unless given). pip is asked again when the requirements change.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../target/python-venv}
profile=${2:-ci}

[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
venv=$(cd "$venv" && pwd)
if ! cmp -s "$here/requirements-dev.txt" "$venv/requirements-dev.txt"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/requirements-dev.txt"
    cp "$here/requirements-dev.txt" "$venv/requirements-dev.txt"
fi
VIRTUAL_ENV=$venv "$venv/bin/maturin" develop --quiet --locked --features unify --profile "$profile" \
  --manifest-path "$here/Cargo.toml"
