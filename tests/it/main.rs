//! The one integration-test binary.
mod corpus;
mod oracle;
