#!/bin/sh
# Builds what run.py measures, as it is shipped (release): the C library and its program, the Python package in a virtual
# environment, the npm package in a folder of its own. run.py itself builds the Rust programs.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/target/bench
mkdir -p "$out/node"
cd "$root"

sh ffi/build.sh
cargo build --locked --release -p agent-loop-benches --config 'profile.release.package.agent-loop.opt-level="s"'
ln -sf ../release/libagent.so "$out/libagent.so.0"
${CC:-cc} -std=c11 -O2 -Wall -Wextra -pthread -Iinclude benches/c/bench.c -Ltarget/release -lagent -o "$out/bench-c"

[ -x "$out/venv/bin/python" ] || python3 -m venv "$out/venv"
"$out/venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps ./bindings/python

make node
cd "$out/node"
[ -e package.json ] || npm init --yes >/dev/null
npm install --no-save --no-audit --no-fund "$root"/bindings/node/agent-loop-*.tgz
