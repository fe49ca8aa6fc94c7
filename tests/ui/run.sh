#!/bin/sh
# What a browser gets of every scenario, checked by the clients' own packages: run.sh CARGO TEST … (the command that tests
# agent-loop). npm's packages are fetched when package.json changed; bindings/python/tests-servers has its page from them, too.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
frames=$here/../../target/ui-frames
rm -rf "$frames"
mkdir -p "$frames"
UI_FRAMES=$(cd "$frames" && pwd)
export UI_FRAMES
"$@" --test scenarios > "$frames/log" 2>&1 || { cat "$frames/log"; exit 1; }
cd "$here"
if [ ! node_modules/.package-lock.json -nt package.json ]; then
    npm install --no-audit --no-fund --no-package-lock
    touch node_modules/.package-lock.json
fi
node --test
