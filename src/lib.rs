//! Endless keeps, for every session of a coding agent, a bottle: the conversation word for word,
//! and one line in place of each piece of tool traffic.
//!
//! Modules in reading order:
//!
//! - [`text`]: privacy, one-line values, measures, times. Pure.
//! - [`transcript`]: a host's lines become entries that no host owns. Pure.
//! - [`session`]: entries folded into a session. Pure.
//! - [`observation`]: one line in place of each piece of tool traffic. Pure.
//! - [`bottle`]: a session as Markdown, and back. Pure.
//! - [`mod@pointer`]: the short text that hands a bottle to the next context. Pure.
//! - [`clock`]: the time, for everything that is not pure.
//! - [`config`], [`paths`]: the environment, `config.toml`, and where everything lies.
//! - [`sources`]: transcripts found and read.
//! - [`store`]: `endless.db`: the owner, known files, what is forgotten or archived.
//! - [`files`]: bottles written whole, and the archive.
//! - [`deliver`]: one print of a pointer: the right to it, its copy, its text.
//! - [`engine`]: what the service knows and wants done next. Pure.
//! - [`daemon`]: the service: one loop, workers, socket, signals.
//! - [`client`]: asks the service, quickly or not at all.
//! - [`install`]: the service's unit, with systemd or launchd.
//! - [`cli`]: the commands; the only printing is in `cli/output.rs`.
pub mod bottle;
pub mod cli;
pub mod client;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod deliver;
pub mod engine;
pub mod files;
pub mod install;
pub mod observation;
pub mod paths;
pub mod pointer;
pub mod session;
pub mod sources;
pub mod store;
pub mod text;
pub mod transcript;
