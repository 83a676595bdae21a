//! The real Claude Code client against a model of our own, on loopback; see README.md.
//!
//! `tests/client/run` gets the client and runs these; without it they are ignored.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
mod compactions;
mod deliveries;
#[path = "../it/harness.rs"]
#[expect(dead_code, reason = "what is shared with the other tests is not all needed here")]
#[expect(unused_imports, reason = "as above")]
mod harness;
mod http;
mod model;
mod pointer;
mod process;
mod proof;
mod request;
mod scene;
mod sessions;
mod turn;
mod turns;
