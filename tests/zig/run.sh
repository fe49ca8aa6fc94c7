#!/bin/sh
# Plays a subset of the scenarios from Zig: run.sh PREFIX
#
# PREFIX is where libagent is installed. examples/zig/build.sh describes where Zig comes from. The last line counts: N passed,
# N failed, N skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -ne 1 ]; then
    echo "usage: run.sh PREFIX" >&2
    exit 2
fi
sh "$root/examples/zig/build.sh" "$1" "$here/scenarios.zig"
exec "$root/target/zig/scenarios" "$root/tests/scenarios"
