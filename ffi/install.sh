#!/bin/sh
# Installs libagent as it was built, or removes it: install.sh [--uninstall] PREFIX [TARGET_DIR]
#
# TARGET_DIR is where the library was built (target/release unless given). Variables, as packagers know them:
#   LIBDIR       the libraries and pkgconfig/libagent.pc (PREFIX/lib)
#   INCLUDEDIR   agent.h (PREFIX/include)
#   DOCDIR       the licences of agent-loop and of what it contains, and libagent.supp for valgrind (PREFIX/share/doc/libagent)
#   DESTDIR      is put before each of them
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
uninstall=
if [ "${1:-}" = --uninstall ]; then
    uninstall=yes
    shift
fi
if [ $# -lt 1 ]; then
    echo "usage: install.sh [--uninstall] PREFIX [TARGET_DIR]" >&2
    exit 2
fi
case $1 in
/*) prefix=$1 ;;
*) prefix=$PWD/$1 ;;
esac
target=${2:-$root/target/release}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
docdir=${DOCDIR:-$prefix/share/doc/libagent}
for place in "$libdir" "$includedir" "$docdir"; do
    case $place in
    /*) ;;
    *) echo "install.sh: $place is not an absolute path" >&2; exit 2 ;;
    esac
done

version=$(sed -n 's/^#define AGENT_VERSION "\(.*\)"$/\1/p' "$root/include/agent.h")
abi=$(sed -n 's/^#define AGENT_ABI_VERSION \([0-9]*\)$/\1/p' "$root/include/agent.h")

# The library has its full name, with a link for the loader and one for the linker.
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

if [ -n "$uninstall" ]; then
    cd / # a folder that is removed may be the current one
    rm -f "${DESTDIR:-}$includedir/agent.h" "${DESTDIR:-}$includedir/agent_plugin.h" \
        "${DESTDIR:-}$libdir/pkgconfig/libagent.pc" "${DESTDIR:-}$libdir/libagent.a" \
        "${DESTDIR:-}$libdir/$link" "${DESTDIR:-}$libdir/$soname" "${DESTDIR:-}$libdir/$full" \
        "${DESTDIR:-}$docdir/LICENSE-MIT" "${DESTDIR:-}$docdir/LICENSE-APACHE" "${DESTDIR:-}$docdir/THIRD-PARTY-NOTICES.txt" \
        "${DESTDIR:-}$docdir/libagent.supp"
    rmdir "${DESTDIR:-}$docdir" 2>/dev/null || true # others may have put files there
    exit 0
fi

if [ ! -e "$target/libagent.a" ]; then
    echo "install.sh: there is no libagent in $target; build it first: make lib" >&2
    exit 1
fi

# What a program that is linked with libagent.a needs besides. ffi/build.sh has it from the compiler; the tests' library is built
# together with other crates, without that list, and needs what the standard library needs.
if [ -e "$target/libagent.libs" ]; then
    libraries=$(cat "$target/libagent.libs")
else
    libraries="-lutil -lrt -lpthread -lm -ldl"
fi

# below FOLDER: a folder of the prefix as pkg-config reads it, so that the whole tree may be moved; any other as it is.
below() {
    case $1 in
    "$prefix"/*) echo "\${prefix}/${1#"$prefix"/}" ;;
    *) echo "$1" ;;
    esac
}
case $libdir in
"$prefix"/*) up=$(echo "${libdir#"$prefix"/}/pkgconfig" | sed 's|[^/][^/]*|..|g') up="\${pcfiledir}/$up" ;;
*) up=$prefix ;;
esac

mkdir -p "${DESTDIR:-}$includedir" "${DESTDIR:-}$libdir/pkgconfig" "${DESTDIR:-}$docdir"
sed -e "s|@VERSION@|$version|" -e "s|@PREFIX@|$up|" -e "s|@LIBDIR@|$(below "$libdir")|" \
    -e "s|@INCLUDEDIR@|$(below "$includedir")|" -e "s|@LIBRARIES@|$libraries|" "$here/libagent.pc.in" \
    > "${DESTDIR:-}$libdir/pkgconfig/libagent.pc"
# A running program may have the old file mapped: install(1) creates a new one.
install -m 644 "$root/include/agent.h" "${DESTDIR:-}$includedir/agent.h"
install -m 644 "$root/include/agent_plugin.h" "${DESTDIR:-}$includedir/agent_plugin.h"
install -m 644 "$target/libagent.a" "${DESTDIR:-}$libdir/libagent.a"
install -m 755 "$built" "${DESTDIR:-}$libdir/$full"
ln -sf "$full" "${DESTDIR:-}$libdir/$soname"
ln -sf "$soname" "${DESTDIR:-}$libdir/$link"
install -m 644 "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$root/THIRD-PARTY-NOTICES.txt" "$here/libagent.supp" \
    "${DESTDIR:-}$docdir"

# Builds of this repository install into target/ and need no instructions.
case $prefix in "$root"/target/*) exit 0 ;; esac

echo "installed libagent $version:"
echo "  ${DESTDIR:-}$includedir/agent.h"
echo "  ${DESTDIR:-}$includedir/agent_plugin.h"
echo "  ${DESTDIR:-}$libdir/$full, with the links $soname and $link"
echo "  ${DESTDIR:-}$libdir/libagent.a"
echo "  ${DESTDIR:-}$libdir/pkgconfig/libagent.pc"
echo "  ${DESTDIR:-}$docdir: the licences, and libagent.supp for valgrind"
echo "To build a program with it:"
case $libdir in
/usr/lib* | /usr/local/lib*)
    echo "  cc program.c \$(pkg-config --cflags --libs libagent)"
    echo "If the loader does not find the library, run ldconfig once, as root."
    ;;
*)
    echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig"
    echo "  cc program.c \$(pkg-config --cflags --libs libagent) -Wl,-rpath,$libdir"
    ;;
esac
