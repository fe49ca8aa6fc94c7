//! Nothing but its dependencies, see `Cargo.toml`.
