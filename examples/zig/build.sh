#!/bin/sh
# Builds the Zig examples, or other programs, against an installed libagent: build.sh PREFIX [SOURCE]...
#
# The programs are written to target/zig. Zig is installed from PyPI, into a virtual environment under target/zig-venv, unless ZIG
# names one. The first build takes a minute or two: Zig builds its translator of C headers, and caches it in target/zig-cache.
#
# BUILD_ZIG=1 builds with build.zig, as your own project would; the first time Zig also builds its build system.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
target=$(cd "$here/../.." && pwd)/target
if [ $# -lt 1 ]; then
    echo "usage: build.sh PREFIX [SOURCE]..." >&2
    exit 2
fi
prefix=$(cd "$1" && pwd)
shift
version=0.17.1

if [ -z "${ZIG:-}" ]; then
    venv=$target/zig-venv
    if [ "$(cat "$venv/version" 2>/dev/null)" != "$version" ]; then
        echo "installing ziglang $version into $venv"
        rm -rf "$venv"
        python3 -m venv "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check "ziglang==$version"
        echo "$version" >"$venv/version"
    fi
    ZIG="$venv/bin/python -m ziglang"
fi
export ZIG_GLOBAL_CACHE_DIR="$target/zig-cache/global"
export ZIG_LOCAL_CACHE_DIR="$target/zig-cache/local"

if [ -n "${BUILD_ZIG:-}" ]; then
    cd "$here"
    exec $ZIG build --prefix-exe-dir "$target/zig" -Dagent="$prefix"
fi

mkdir -p "$target/zig"
$ZIG translate-c -lc "$prefix/include/agent.h" >"$target/zig/agent.zig.new"
mv "$target/zig/agent.zig.new" "$target/zig/agent.zig"
if [ $# -eq 0 ]; then
    set -- "$here"/*.zig
fi
for source in "$@"; do
    name=$(basename "$source" .zig)
    if [ "$name" != build ]; then
        $ZIG build-exe --dep agent -Mroot="$source" -Magent="$target/zig/agent.zig" -L "$prefix/lib" \
            -rpath "$prefix/lib" -lagent -lc --name "$name" -femit-bin="$target/zig/$name"
    fi
done
