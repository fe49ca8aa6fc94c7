#!/bin/sh
# Builds the plugins: build.sh INCLUDE FOLDER. INCLUDE is the folder with agent_plugin.h; the libraries are written to FOLDER.
#
# Those in C need a C compiler. Those in Zig are built if ZIG names one (examples/zig/build.sh installs one from PyPI).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 2 ]; then
    echo "usage: build.sh INCLUDE FOLDER" >&2
    exit 2
fi
include=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)

for source in "$here"/*.c; do
    ${CC:-cc} -std=c99 -O2 -Wall -Wextra -shared -fPIC -I"$include" "$source" -o "$folder/$(basename "$source" .c).so"
done
if [ -n "${ZIG:-}" ]; then
    $ZIG translate-c -lc -DAGENT_PLUGIN_PLAIN "$include/agent_plugin.h" >"$folder/agent_plugin.zig"
    for source in "$here"/*.zig; do
        $ZIG build-lib -dynamic -O ReleaseSafe -fstrip -lc \
            --dep agent_plugin -Mroot="$source" -Magent_plugin="$folder/agent_plugin.zig" \
            --name "$(basename "$source" .zig)" -femit-bin="$folder/$(basename "$source" .zig).so"
    done
fi
