#!/bin/sh
# Whether agent-loop builds without warnings with no feature and with each feature alone, and whether a program of a user builds
# on it: without the feature `__bindings`, which everything else here has.
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
cargo check --quiet --all-targets
cargo test --quiet --features schema
cargo check --quiet --no-default-features
