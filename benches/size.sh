#!/bin/sh
# Whether the C library as it is shipped (profile release, stripped) has at most 8,000,000 bytes.
#
# size.sh [LIBRARY]; exit code 0: it has, or skipped (another system than the one that the limit is for); 1: it is larger.
set -eu

limit=8000000
library=${1:-$(dirname "$0")/../target/release/libagent.so}

case $(uname -sm) in
"Linux x86_64") ;;
*) echo "size: skipped, the limit is for Linux on x86-64"; exit 0 ;;
esac
# An earlier glibc does not load packed relocations: ffi/build.rs leaves them as they are, 345 kB.
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc 2\.//p')
if [ "${glibc:-0}" -lt 36 ]; then
    echo "size: skipped, the limit is for glibc 2.36 and later"
    exit 0
fi

size=$(($(wc -c < "$library")))
echo "size: $library has $size bytes, of at most $limit"
if [ "$size" -gt "$limit" ]; then
    echo "size: too large; docs/performance.md says what it consists of" >&2
    exit 1
fi
