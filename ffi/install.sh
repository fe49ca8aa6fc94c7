#!/bin/sh
# Installs libagent: install.sh PREFIX [TARGET_DIR]
#
# TARGET_DIR is where cargo put the library (default: target/release). DESTDIR is prepended to PREFIX, as packagers expect.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
if [ $# -lt 1 ]; then
    echo "usage: install.sh PREFIX [TARGET_DIR]" >&2
    exit 2
fi
prefix=${DESTDIR:-}$1
place=$1
target=${2:-$root/target/release}

version=$(sed -n 's/^#define AGENT_VERSION "\(.*\)"$/\1/p' "$root/include/agent.h")
abi=$(sed -n 's/^#define AGENT_ABI_VERSION \([0-9]*\)$/\1/p' "$root/include/agent.h")
if [ ! -e "$target/libagent.a" ]; then
    echo "install.sh: $target has no libagent; build it with: cargo build --release -p agent-loop-ffi" >&2
    exit 1
fi

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
install -m 644 "$root/include/agent.h" "$prefix/include/agent.h"
install -m 644 "$target/libagent.a" "$prefix/lib/libagent.a"
sed "s/@VERSION@/$version/" "$here/libagent.pc.in" > "$prefix/lib/pkgconfig/libagent.pc"

# Under its full name, with a link for the loader and one for the linker. A running program may have the old file mapped:
# install(1) creates a new one.
case $(uname -s) in
Darwin)
    full=libagent.$version.dylib
    soname=libagent.$abi.dylib
    link=libagent.dylib
    built=$target/libagent.dylib
    ;;
*)
    full=libagent.so.$version
    soname=libagent.so.$abi
    link=libagent.so
    built=$target/libagent.so
    ;;
esac
install -m 755 "$built" "$prefix/lib/$full"
ln -sf "$full" "$prefix/lib/$soname"
ln -sf "$soname" "$prefix/lib/$link"

# Builds of this repository install into target/ and need no instructions.
case $(cd "$prefix" && pwd) in "$root"/target/*) exit 0 ;; esac

if [ -z "${DESTDIR:-}" ]; then
    place=$(cd "$prefix" && pwd)
fi
echo "installed libagent $version in ${DESTDIR:-}$place:"
echo "  include/agent.h"
echo "  lib/$full, with the links $soname and $link"
echo "  lib/libagent.a"
echo "  lib/pkgconfig/libagent.pc"
echo "To build a program with it:"
case $place in
/usr | /usr/local)
    echo "  cc program.c \$(pkg-config --cflags --libs libagent)"
    echo "If the loader does not find the library, run ldconfig once, as root."
    ;;
*)
    echo "  export PKG_CONFIG_PATH=$place/lib/pkgconfig"
    echo "  cc program.c \$(pkg-config --cflags --libs libagent) -Wl,-rpath,$place/lib"
    ;;
esac
