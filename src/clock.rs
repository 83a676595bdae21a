//! The clock, for everything that is not pure: those who decide are told the time.
use std::time::{SystemTime, UNIX_EPOCH};

use crate::text::time::Moment;

/// Now. A clock before 1970 counts as 1970.
pub fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
