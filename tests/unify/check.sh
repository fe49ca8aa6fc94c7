#!/bin/sh
# Whether what is built while developing shares its dependencies: no selection of packages asks for other features of a crate than
# all packages together do (Cargo.toml beside this says why).
set -eu

cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is selected, one crate with its features a line; our own packages are built once in any case.
selected() {
    # Not in a pipe, which would hide its failure.
    cargo tree --locked --prefix none -f '{p} {f}' "$@" > "$work/tree"
    sed 's/ (\*)$//; s/ (proc-macro)//' "$work/tree" | grep -v '^agent-' | sort -u > "$work/selected"
}

selected --workspace -e normal,build,dev
mv "$work/selected" "$work/all"
astray=0
alone() {
    selected -e normal,build "$@"
    comm -23 "$work/selected" "$work/all" > "$work/other"
    if [ -s "$work/other" ]; then
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
