#!/bin/sh
# Whether agent-loop builds without warnings with no feature and with each feature alone, and whether a program of a user builds
# on it: without the feature `__bindings`, which everything else here has. That program is tests/user, and README.md's with the
# dependencies that README.md and docs/install.md name.
set -eu

cd "$(dirname "$0")/../.."

# With agent-loop-unify, so that what `make lint` has checked already serves here.
alone() {
    echo "tests/features: agent-loop with ${1:-no features}"
    cargo clippy --locked --quiet --profile ci -p agent-loop -p agent-loop-unify --lib --no-default-features --features "$1" \
        -- -D warnings
}
alone ""
sed -n '/^\[features\]/,/^\[dependencies\]/s/^\([a-z][a-z0-9-]*\) = .*/\1/p' core/Cargo.toml | grep -v '^default$' |
    while read -r feature; do alone "$feature"; done

echo "tests/features: a user's program"
cp Cargo.lock tests/user/Cargo.lock
export CARGO_TARGET_DIR="$PWD/target/user"
cd tests/user
# Built and not only checked: so the dependencies serve all of these, and the examples that `make test-servers` builds.
cargo build --quiet --all-targets
cargo test --quiet --features schema
cargo build --quiet --no-default-features
cd ../..

# The first block of a language on a page.
block() {
    awk -v fence="\`\`\`$2" '$0 == fence { on = 1; next } on && /^```/ { exit } on' "$1"
}

# The program of one page, its first block of the kind that is given, with the dependencies that a page names.
of_a_page() {
    echo "tests/features: the program of $1 with the dependencies of $3"
    crate="target/user/of-a-page"
    rm -rf "$crate"
    mkdir -p "$crate/src"
    printf '[package]\nname = "of-a-page"\nedition = "2024"\n\n[workspace]\n\n' > "$crate/Cargo.toml"
    block "$3" toml | sed "s|…/agent-loop/core|$PWD/core|" >> "$crate/Cargo.toml"
    block "$1" "$2" > "$crate/src/main.rs"
    cp Cargo.lock "$crate/Cargo.lock"
    grep -q '^agent-loop = ' "$crate/Cargo.toml"
    grep -q '^async fn main' "$crate/src/main.rs"
    (cd "$crate" && cargo build --quiet)
}
of_a_page README.md rust README.md
of_a_page README.md rust docs/install.md
of_a_page core/README.md rust,ignore README.md
