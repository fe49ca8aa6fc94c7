#!/bin/sh
# Builds libagent as it is shipped: build.sh [CARGO_ARGUMENT...], such as --target aarch64-unknown-linux-gnu
#
# In target/release (with --target TRIPLE in target/TRIPLE/release) are then
#   libagent.so, or .dylib   the shared library, stripped
#   libagent.so.debug        its debug symbols, on Linux: debuggers find them beside the library, or by its build id
#   libagent.a               the static library
#   libagent.libs            the system's libraries that a program linked with libagent.a needs, in the linker's words
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$root/target/release
triple=
for argument in "$@"; do
    case $argument in
    --target) triple=next ;;
    --target=*) triple=${argument#--target=} ;;
    *) [ "$triple" != next ] || triple=$argument ;;
    esac
done
[ -z "$triple" ] || out=$root/target/$triple/release
mkdir -p "$out"
cd "$root"

# Panics and the debug symbols name places in sources. They say where in the project, not on which machine.
places="--remap-path-prefix=$root=agent-loop --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates"
sysroot=$(rustc --print sysroot)
places="$places --remap-path-prefix=$sysroot=rust"

# Calls store their arguments and do not push them: each push is a row of the unwind tables. 20 kB of the library.
codegen=
case ${triple:-$(rustc -vV | sed -n 's/^host: //p')} in
x86_64-*) codegen=-Cllvm-args=-no-x86-call-frame-opt ;;
esac

# Without its default features it is for those who need it small: no stores, no MCP, no sign-in to clouds, no authorities but the
# system's. Frame pointers make the unwind tables shorter, 190 kB; marked functions are inlined where all others of their size
# are, and not beyond, 250 kB; and some crates are built for size, ours and those of a request for the smallest. It costs a third
# more instructions: docs/performance.md.
smaller=
case " $* " in
*" --no-default-features "*)
    smaller="-Cforce-frame-pointers=yes -Cllvm-args=-inlinehint-threshold=70"
    for crate in agent-loop-ffi agent-loop-proto form_urlencoded http idna indexmap percent-encoding reqwest url; do
        set -- "$@" --config "profile.release.package.$crate.opt-level=\"z\""
    done
    for crate in futures-util httparse hyper serde_json; do
        set -- "$@" --config "profile.release.package.$crate.opt-level=\"s\""
    done
    ;;
# 3 % less time a delta, for 380 kB.
*) set -- "$@" --config 'profile.release.package.agent-loop.opt-level="s"' ;;
esac

RUSTFLAGS="${RUSTFLAGS:-} $places $smaller" CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none \
    CFLAGS="${CFLAGS:-} -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}/registry/src=crates" \
    cargo rustc --locked --release -p agent-loop-ffi "$@" -- $codegen --print native-static-libs="$out/libagent.libs.all"

# The list stays from the build before if nothing had to be compiled.
# Not libgcc_s, which has no static form: compilers add what of it a program needs, also with -static.
tr ' ' '\n' < "$out/libagent.libs.all" | grep -vx -e -lgcc_s -e -lc | paste -sd ' ' - > "$out/libagent.libs"

# Into new files: cargo keeps links of what it built, which has all symbols.
objcopy=${OBJCOPY:-objcopy}
library=$out/libagent.so
if [ -e "$library" ] && command -v "$objcopy" >/dev/null; then
    "$objcopy" --only-keep-debug --compress-debug-sections "$library" "$library.debug"
    "$objcopy" --strip-all --add-gnu-debuglink="$library.debug" "$library" "$library.new"
    mv "$library.new" "$library"
    "$objcopy" --strip-debug "$out/libagent.a" "$out/libagent.a.new"
    mv "$out/libagent.a.new" "$out/libagent.a"
fi
