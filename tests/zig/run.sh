#!/bin/sh
# Plays a part of the scenarios from Zig: run.sh PREFIX
#
# PREFIX is where libagent is installed. Zig itself comes as examples/zig/build.sh says. The last line counts: N passed, N failed, N skipped.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -ne 1 ]; then
    echo "usage: run.sh PREFIX" >&2
    exit 2
fi
sh "$root/examples/zig/build.sh" "$1" "$here/scenarios.zig"
exec "$root/target/zig/scenarios" "$root/tests/scenarios"
