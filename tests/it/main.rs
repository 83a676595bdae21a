//! The one integration-test binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod corpus;
mod oracle;
mod parser;
mod words;
