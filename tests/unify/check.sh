#!/bin/sh
# Whether what is built while developing shares its dependencies: no selection of packages asks for other features of a crate than
# all packages together do (Cargo.toml beside this says why).
set -eu

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is selected, one crate with its features a line; our own packages are built once in any case.
selected() {
    cargo tree --locked --prefix none -f '{p} {f}' "$@" | sed 's/ (\*)$//; s/ (proc-macro)//' | grep -v '^agent-' | sort -u
}

selected --workspace -e normal,build,dev > "$work/all"
astray=0
alone() {
    selected -e normal,build "$@" > "$work/alone"
    if ! comm -23 "$work/alone" "$work/all" > "$work/other" || [ -s "$work/other" ]; then
        echo "tests/unify: cargo build $* builds these once more, with other features;" \
             "add what is missing to tests/unify/Cargo.toml:" >&2
        cat "$work/other" >&2
        astray=1
    fi
}
alone -p agent-loop-examples -p agent-loop -p agent-loop-unify
alone -p agent-loop-ffi -p agent-loop -p agent-loop-unify
alone -p agent-mock -p agent-loop -p agent-loop-unify
alone -p agent-loop-python --features agent-loop-python/unify
alone -p agent-loop-node --features agent-loop-node/unify
exit $astray
