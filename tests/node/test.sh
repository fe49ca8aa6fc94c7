#!/bin/sh
# Runs the tests of this folder; the Node package must have been built. npm's packages are fetched when the lock file changed.
set -eu

cd "$(dirname "$0")"
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
    npm ci --no-audit --no-fund
    touch node_modules/.package-lock.json
fi
npm test
