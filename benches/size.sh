#!/bin/sh
# Whether what is shipped (profile release, stripped) is small enough. The engine alone, which is the C library without its
# default features (ffi/Cargo.toml: stores, MCP, streams for browsers, sign-in to clouds …), has at most 8,000,000 bytes; what is
# shipped, with them, has at most 15,000,000 as the C library, and 17,500,000 as a module of Python or Node, which has the program
# `agent`, too. That by itself has at most 15,000,000.
#
# size.sh builds them; in target/release is then the C library as it is shipped. Exit code 0: they are, or skipped (another system
# than the one that the limits are for); 1: one is larger.
set -eu

cd "$(dirname "$0")/.."
case $(uname -sm) in
"Linux x86_64") ;;
*) echo "size: skipped, the limits are for Linux on x86-64"; exit 0 ;;
esac
# An earlier glibc does not load packed relocations: packaging/linker leaves them as they are, 345 kB.
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.//p')
if [ "${glibc:-0}" -lt 36 ]; then
    echo "size: skipped, the limits are for glibc 2.36 and later"
    exit 0
fi

out=target/release
failed=0

# measure LIMIT WHAT FILE
measure() {
    size=$(($(wc -c < "$3")))
    echo "size: $2 has $size bytes, of at most $1"
    if [ "$size" -gt "$1" ]; then
        echo "size: $2 is too large; docs/performance.md says what the engine consists of" >&2
        failed=1
    fi
}

# First the engine, so that the library that stays is the one that is shipped, with its list of libraries: ffi/build.sh.
libraries=$out/libagent.libs.all
[ ! -e "$libraries" ] || mv "$libraries" "$libraries.shipped"
sh ffi/build.sh --no-default-features
measure 8000000 "the engine (libagent.so without its default features)" $out/libagent.so
[ ! -e "$libraries.shipped" ] || mv "$libraries.shipped" "$libraries"
sh ffi/build.sh
measure 15000000 "the C library (libagent.so)" $out/libagent.so

cargo build --locked --release -p agent-loop-python
measure 17500000 "the Python module" $out/lib_native.so
cargo build --locked --release -p agent-loop-node
measure 17500000 "the Node module" $out/libagent_loop_node.so
cargo build --locked --release -p agent-loop-cli
measure 15000000 "the program (agent)" $out/agent
exit $failed
