//! The one integration-test binary.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod claude_mem;
mod cli;
mod corpus;
mod doctor;
mod handover;
mod harness;
mod hooks;
mod install;
mod oracle;
mod parser;
mod pointer;
mod service;
mod settings;
mod status;
mod tidy;
mod words;
