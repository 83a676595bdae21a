//! Finds transcripts and reads them: whole, their heads, or the one record behind a line. Reads
//! claude-mem's database.
//!
//! Invariant: nothing is opened but regular files, for reading only, and never through a link in
//! the last component; every text that leaves here has passed the privacy function and holds no
//! control character. Refuses: to decide what a bottle shows.

pub mod bodies;
pub mod claude_mem;
pub mod heads;
pub mod live;
pub mod load;
pub mod transcripts;
pub mod value;

use std::{error::Error, fmt};

use endless_watchers::TailError;

use crate::text::{line::normalise, privacy};

/// A file could not be read.
#[derive(Debug)]
pub struct ReadError(pub TailError);

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "failed to {}", self.0)
    }
}

impl Error for ReadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

impl From<TailError> for ReadError {
    fn from(error: TailError) -> Self {
        Self(error)
    }
}

/// A text without its private parts and without control characters.
fn clean(text: &str) -> String {
    normalise(&privacy::strip(text).text).into_owned()
}
