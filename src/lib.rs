//! Endless keeps, for every session of a coding agent, a bottle: the conversation word for word,
//! and one line in place of each piece of tool traffic.
pub mod bottle;
pub mod observation;
pub mod session;
pub mod text;
pub mod transcript;
