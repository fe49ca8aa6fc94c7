#!/bin/sh
# Runs the tests of this folder, or the files of tests that are given; the Node package must have been built. npm's packages are
# fetched when a lock file changed.
set -eu

cd "$(dirname "$0")"
for folder in . next; do
    if [ ! "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ]; then
        (cd "$folder" && npm ci --no-audit --no-fund)
        touch "$folder/node_modules/.package-lock.json"
    fi
done
npm test -- "$@"
