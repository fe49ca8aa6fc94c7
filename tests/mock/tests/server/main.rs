//! The mock as its clients see it: bytes on a socket.

mod answers;
mod client;
mod program;
mod recorded;
mod requests;
mod shapes;
mod spoken;
mod wire;
