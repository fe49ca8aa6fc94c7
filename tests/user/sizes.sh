#!/bin/sh
# What each feature costs: the size of the stripped program with all features, and what is saved without each.
set -eu

cd "$(dirname "$0")"
CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target/user}
export CARGO_TARGET_DIR
cp ../../Cargo.lock Cargo.lock

all="tls-native-roots tls-bundled-roots google bedrock catalogue http2 gzip"

size() {
    ${CARGO:-cargo} build --quiet --release --no-default-features --features "$1" >&2
    wc -c < "$CARGO_TARGET_DIR/release/agent-loop-user"
}

full=$(size "$all")
echo "all features: $full bytes"
for feature in $all; do
    rest=$(echo "$all" | tr ' ' '\n' | grep -v "^$feature\$" | tr '\n' ' ')
    echo "$feature: $((full - $(size "$rest"))) bytes"
done
echo "no features: $(size '') bytes"
