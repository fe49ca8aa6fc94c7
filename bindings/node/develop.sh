#!/bin/sh
# Builds the package in place, and lets the examples find it: develop.sh [PROFILE]
#
# PROFILE is cargo's (ci unless given). npm's packages are fetched when the lock file changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
profile=${1:-ci}
cd "$here"

if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --no-audit --no-fund
    touch node_modules/.package-lock.json
fi
npm run --silent build:native -- "$profile" unify
npm run --silent build:js

mkdir -p "$here/../../examples/node/node_modules"
ln -sfn ../../../bindings/node "$here/../../examples/node/node_modules/agent-loop"
