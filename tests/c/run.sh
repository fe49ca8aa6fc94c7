#!/bin/sh
# Tests libagent from C: run.sh [TARGET_DIR]
#
# TARGET_DIR is where cargo put libagent and agent-mock (target/ci unless given):
#   cargo build --profile ci -p agent-loop-ffi -p agent-mock
#
# Runs the header alone in three languages; each test_<noun>.c plain; these and the scenarios under AddressSanitizer and valgrind;
# the examples, built with pkg-config against the files that ffi/install.sh installs. Tests whose tools are missing are skipped,
# with a message. The last line counts: N passed, N failed, N skipped.
# With the variable ONLY, only the tests run whose names contain it, plain; the scenarios are built.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
target=${1:-$root/target/ci}
mock=${AGENT_MOCK:-$target/agent-mock}
work=$root/target/c-tests
prefix=$work/prefix
CC=${CC:-cc}
CXX=${CXX:-c++}
passed=0 failed=0 skipped=0

for built in "$target/libagent.a" "$mock"; do
    if [ ! -e "$built" ]; then
        echo "run.sh: $built is missing; build it with: cargo build --profile ci -p agent-loop-ffi -p agent-mock" >&2
        exit 2
    fi
done
rm -rf "$work"
mkdir -p "$work"
"$root/ffi/install.sh" "$prefix" "$target" || exit 2

has() { command -v "$1" >/dev/null 2>&1; }
limit=$(if has timeout; then echo timeout 900; fi)
pass() { passed=$((passed + 1)); echo "  ok     $1"; }
fail() { failed=$((failed + 1)); echo "  FAILED $1"; }
skip() { skipped=$((skipped + 1)); echo "  skipped: $1"; }

# check NAME COMMAND...: one test, whose output is printed only if it fails.
check() {
    name=$1
    shift
    if "$@" >"$work/output" 2>&1; then
        pass "$name"
    else
        fail "$name"
        sed 's/^/    /' "$work/output"
    fi
}

# suite NAME COMMAND...: a program that counts its own tests. One that crashes or hangs counts as one more failure.
suite() {
    echo "$1"
    shift
    $limit "$@" >"$work/output" 2>&1
    code=$?
    cat "$work/output"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)*$/\1 \2 \4/p' "$work/output" | tail -n 1)
    set -- ${counts:-0 0} 0
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
    if [ "$code" -ne 0 ] && [ "$2" -eq 0 ]; then
        fail "it ended with $code"
    fi
}

# ---- the header alone -----------------------------------------------------------------------------------------------------
echo "agent.h alone"
warnings="-Wall -Wextra -Wpedantic -Werror"
echo '#include <agent.h>' >"$work/alone.c"
cp "$work/alone.c" "$work/alone.cc"
for standard in c99 c11; do
    check "$standard" "$CC" -std=$standard $warnings -I"$prefix/include" -fsyntax-only "$work/alone.c"
done
if has "$CXX"; then
    check c++17 "$CXX" -std=c++17 $warnings -I"$prefix/include" -fsyntax-only "$work/alone.cc"
else
    skip "the header in C++: $CXX is not installed"
fi

echo "agent_plugin.h alone"
echo '#include <agent_plugin.h>' >"$work/plugin_alone.c"
cp "$work/plugin_alone.c" "$work/plugin_alone.cc"
check c99 "$CC" -std=c99 $warnings -I"$prefix/include" -fsyntax-only "$work/plugin_alone.c"
if has "$CXX"; then
    check c++17 "$CXX" -std=c++17 $warnings -I"$prefix/include" -fsyntax-only "$work/plugin_alone.cc"
fi

# What test_plugin.c loads: the examples, odd plugins, and what is none.
PLUGINS=$work/plugins
export PLUGINS
mkdir "$PLUGINS"
plugin="$CC -std=c99 $warnings -shared -fPIC -I$prefix/include"
for example in "$root"/examples/plugin/*.c; do
    name=$(basename "$example" .c)
    check "the plugin $name compiles" $plugin "$example" -o "$PLUGINS/$name.so"
done
for odd in good newer_abi larger_table no_info no_register unlinked silent fails twice hooked; do
    way=ODD_$(echo "$odd" | tr a-z A-Z)
    check "the odd plugin $odd compiles" $plugin -D"$way" "$here/plugins/odd.c" -o "$PLUGINS/$odd.so"
done
if [ -e "$root/target/plugins/shout.so" ]; then
    cp "$root/target/plugins/shout.so" "$PLUGINS"
else
    skip "the plugin in Zig: target/plugins/shout.so is missing; make build-zig builds it"
fi
echo "no library" >"$PLUGINS/text.so"
head -c 4096 "$PLUGINS/good.so" >"$PLUGINS/cut.so"

# ---- the tests ------------------------------------------------------------------------------------------------------------
mkfifo "$work/stdin"
"$mock" "$here/server.json" <"$work/stdin" >"$work/url" &
exec 9>"$work/stdin" # agent-mock ends when this is closed
until [ -s "$work/url" ]; do sleep 0.1; done
AGENT_MOCK_URL=$(cat "$work/url")
export AGENT_MOCK_URL

if has python3; then
    mkfifo "$work/resets"
    mkdir "$work/certificates"
    python3 "$here/reset_server.py" "$work/certificates" <"$work/resets" >"$work/reset_ports" &
    exec 8>"$work/resets" # it ends when this is closed
    until [ -s "$work/reset_ports" ]; do sleep 0.1; done
    RESET_PORTS=$(cat "$work/reset_ports") RESET_CA=$work/certificates/ca.pem
    export RESET_PORTS RESET_CA
    case $RESET_PORTS in *" 0") skip "resets over TLS: openssl is not installed" ;; esac
else
    skip "resets of connections: python3 is not installed"
fi

nouns="error text json json_writing runtime log process model custom_model tool middleware hook agent listener steering message
    subagent run waiting_thread stateless_run recording loop suspension event store custom_store session agent_session follow
    output builtin mcp plugin manual"
flags="-std=c11 -D_GNU_SOURCE $warnings -g -I$prefix/include -L$prefix/lib -Wl,-rpath,$prefix/lib -pthread"

# build SOURCE OUTPUT FLAGS...
build() {
    source=$here/$1.c
    output=$2
    shift 2
    "$CC" $flags "$@" "$source" -lagent -o "$output"
}

if [ -n "${ONLY:-}" ]; then
    nouns=$(for noun in $nouns; do grep -q "$ONLY" "$here/test_$noun.c" && echo "$noun"; done)
fi
STEPS=$root/tests/scenarios/steps.jsonl # too slow under valgrind
export STEPS
for noun in $nouns; do
    if build "test_$noun" "$work/test_$noun" -O1; then
        suite "test_$noun" "$work/test_$noun"
    else
        fail "test_$noun does not compile"
    fi
done
unset STEPS
compare="python3 $root/tests/scenarios/expected.py c"
# With the messages of OpenTelemetry itself.
python=$root/target/python-venv/bin/python
traces() { AGENT_SCENARIOS=$work/scenarios "$python" -m pytest -q -p no:cacheprovider "$root/tests/otlp"; }
# `make test` itself runs them plain, and counts them for each language.
build scenarios "$work/scenarios" -O1 || fail "scenarios does not compile"
if "$python" -c "import opentelemetry.proto, pytest" 2>/dev/null; then
    check "spans by OTLP" traces
else
    skip "spans by OTLP: opentelemetry-proto is not installed in target/python-venv"
fi
[ -n "${ONLY:-}" ] || check "scenarios with sessions" env SESSIONS=1 $compare "$work/scenarios" -- "$root"/tests/scenarios/*/

# ---- the installed files --------------------------------------------------------------------------------------------------
echo "install"
calculator=$root/examples/c/calculator.c
model=$(cat "$root/tests/scenarios/calculator/model.json")

# plays PROGRAM: the calculator, as it was built, plays its scenario.
plays() { "$1" "$model" | diff "$here/calculator.txt" -; }

found_c2_static_programs_link() {
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    # What the tests build is not the released library: it has functions for terminals, too, which nothing here uses and static
    # C libraries lack.
    "$CC" -std=c99 -static "$calculator" $(pkg-config --static --cflags --libs libagent) -Wl,--gc-sections -o "$work/static" &&
        plays "$work/static" &&
        "$CC" -std=c99 "$calculator" $(pkg-config --cflags libagent) "$prefix/lib/libagent.a" \
            $(sed -n 's/^Libs.private: //p' "$prefix/lib/pkgconfig/libagent.pc") -o "$work/mixed" &&
        plays "$work/mixed"
}

# folders PREFIX LIBDIR INCLUDEDIR: installs below a DESTDIR, looks for the files where pkg-config says, and removes all of it.
# A prefix that contains both is moved before.
folders() {
    dest=$work/dest
    rm -rf "$dest" "$work/moved"
    DESTDIR=$dest LIBDIR=$2 INCLUDEDIR=$3 "$root/ffi/install.sh" "$1" "$target" && cp -a "$dest" "$work/moved" || return 1
    for variable in includedir libdir; do
        folder=$(PKG_CONFIG_PATH=$work/moved${2:-$1/lib}/pkgconfig pkg-config --variable=$variable libagent)
        case $folder in "$work/moved"/*) ;; *) folder=$work/moved$folder ;; esac
        test -f "$folder/agent.h" || test -f "$folder/libagent.so" || { echo "$variable: $folder"; return 1; }
    done
    DESTDIR=$dest LIBDIR=$2 INCLUDEDIR=$3 "$root/ffi/install.sh" --uninstall "$1" && test -z "$(find "$dest" ! -type d)"
}

found_c3_the_folders_of_packagers() {
    folders /opt/agent "" "" && folders /usr /usr/lib/x86_64-linux-gnu /usr/include/agent &&
        folders /opt/agent /usr/lib64 /usr/include
}

found_c4_licences_are_installed() {
    grep -q "^- ring " "$prefix/share/doc/libagent/THIRD-PARTY-NOTICES.txt" && test -s "$prefix/share/doc/libagent/LICENSE-MIT"
}

if has pkg-config; then
    for test in found_c2_static_programs_link found_c3_the_folders_of_packagers; do
        check "$test" "$test"
    done
else
    skip "what pkg-config says: it is not installed"
fi
check found_c4_licences_are_installed found_c4_licences_are_installed

finish() {
    exec 8>&- 9>&- # what reads from them ends
    wait
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
[ -z "${ONLY:-}" ] || finish

echo 'int main(void) { return 0; }' >"$work/empty.c"
if "$CC" -fsanitize=address,undefined "$work/empty.c" -o "$work/empty" 2>/dev/null && "$work/empty"; then
    for noun in $nouns; do
        build "test_$noun" "$work/asan_$noun" -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
            suite "test_$noun under AddressSanitizer" "$work/asan_$noun"
    done
    build scenarios "$work/asan_scenarios" -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
        check "scenarios under AddressSanitizer" $compare "$work/asan_scenarios" -- "$root"/tests/scenarios/*/
else
    skip "AddressSanitizer: $CC has no working one"
fi

memcheck="valgrind --quiet --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --num-callers=40
    --suppressions=$here/valgrind.supp --error-exitcode=99"
no_valgrind=
if ! has valgrind; then
    no_valgrind="it is not installed"
elif ! nm "$prefix/lib/libagent.so" 2>/dev/null | grep -q jsonschema; then
    no_valgrind="this library is stripped, so that valgrind.supp does not match; build one with --profile ci"
fi
if [ -z "$no_valgrind" ]; then
    # Without TLS: valgrind does not know all instructions of the ciphers, and takes what they write for not initialised.
    RESET_PORTS=${RESET_PORTS:-0}
    RESET_PORTS="${RESET_PORTS%% *} 0"
    for noun in $nouns; do
        suite "test_$noun under valgrind" $memcheck "$work/test_$noun"
    done
    check "scenarios under valgrind" $compare $memcheck "$work/scenarios" -- "$root"/tests/scenarios/*/
else
    skip "the tests under valgrind: $no_valgrind"
fi

# ---- the examples ---------------------------------------------------------------------------------------------------------
echo "examples"
if has pkg-config; then
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    export PKG_CONFIG_PATH
    for example in "$root"/examples/c/*.c; do
        name=$(basename "$example" .c) curl=
        if [ "$name" = curl_multi ]; then
            pkg-config --exists libcurl || { skip "curl_multi.c: libcurl's header is not installed"; continue; }
            curl=$(pkg-config --cflags --libs libcurl)
        fi
        check "$name.c compiles" "$CC" -std=c99 $warnings "$example" $(pkg-config --cflags --libs libagent) $curl \
            -Wl,-rpath,"$prefix/lib" -o "$work/$name"
    done
    check "calculator plays its scenario" sh -c '"$1" "$2" | diff "$3" -' - "$work/calculator" "$model" "$here/calculator.txt"
    check "steer changes the model's mind" sh -c '"$1" "$2" | diff "$3" -' - "$work/steer" "$(cat "$here/steer.json")" \
        "$here/steer.txt"
    check "hello greets" sh -c '"$1" openai/tiny "$AGENT_MOCK_URL/hello" | grep -q "^Hello! I am a very small model"' - \
        "$work/hello"
    # As a user has it: the library without symbols, and the installed suppressions.
    quiet_under_valgrind() {
        suppressed="valgrind --quiet --leak-check=full --error-exitcode=99
            --suppressions=$prefix/share/doc/libagent/libagent.supp"
        printf '#include <agent.h>\nint main(void)\n{\n    agent_error_t *forgotten;\n    return %s;\n}\n' \
            'agent_new(NULL, NULL, 0, NULL, &forgotten) == AGENT_OK' >"$work/forgetful.c"
        mkdir "$work/stripped" && strip -o "$work/stripped/libagent.so.0" "$prefix/lib/libagent.so" &&
            "$CC" "$work/forgetful.c" $(pkg-config --cflags --libs libagent) -o "$work/forgetful" &&
            LD_LIBRARY_PATH=$work/stripped $suppressed "$work/calculator" "$model" &&
            { LD_LIBRARY_PATH=$work/stripped $suppressed "$work/forgetful"; [ $? -eq 99 ]; }
    }
    if has valgrind && has strip; then
        check "valgrind reports what a program forgets, and no more" quiet_under_valgrind
    else
        skip "libagent.supp: valgrind or strip is not installed"
    fi
    if [ -z "$no_valgrind" ]; then
        check "calculator under valgrind: no error, no leak" $memcheck "$work/calculator" "$model"
    else
        skip "the calculator under valgrind: $no_valgrind"
    fi
else
    skip "the examples: pkg-config is not installed"
fi

finish
