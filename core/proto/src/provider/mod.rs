//! Who serves a model: its name, address and wire format. Vendors are data ([`known`]), not code.

pub mod catalogue;
mod compact;
pub mod known;
mod served;
pub mod sign_in;
#[cfg(test)]
mod tests;

pub use self::catalogue::models;
pub use self::served::{Served, completed};
