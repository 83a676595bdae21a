//! What is done to text before it enters a session or leaves in a bottle. Pure.
//!
//! Every function here is total: any text gives a result, none fails, none panics.
//! The order of use is [`privacy`] first, then [`mod@line`], then [`measure`]: nothing that hides
//! private words may run on text that was already cut or escaped.

pub mod envelope;
pub mod line;
pub mod mark;
pub mod measure;
pub mod privacy;
pub mod time;

mod code;
mod pairs;
mod raw;
mod tags;
mod words;
