//! The engine and model servers: HTTP, faults, recorded loops.

mod bedrock;
mod context;
mod faults;
mod keys;
mod loops;
mod network;
mod stepping;
mod support;
mod tokens;
mod wire;

use support::*;
