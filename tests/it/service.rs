//! The service: the real binary in a home of its own, and what a person or a machine does to it.
//!
//! After each test's deeds the bottle equals a cold render of the same bytes, byte for byte but
//! for `rendered:`.
mod clock;
mod database;
pub(crate) mod disk;
mod ending;
mod kills;
mod odd;
mod owner;
mod requests;
mod roots;
mod transcripts;
mod triggers;
