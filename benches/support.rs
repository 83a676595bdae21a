//! What the benches share.
use std::{
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use anyhow::Result;
use endless::{
    bottle::{Bottle, Options, render},
    session::Session,
    text::time::{Moment, Zone},
    transcript::{Host, parse_line},
};
use endless_watchers::{JsonlTailer, TailEvent};

use crate::generate;

/// A million bytes.
pub(crate) const MB: u64 = 1_000_000;
/// The seed of every transcript.
pub(crate) const SEED: u64 = 1;

/// Whether to measure. `cargo bench` says so; `cargo test` runs a bench only to see that it works.
pub(crate) fn measures() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Writes a made-up transcript.
pub(crate) fn write_transcript(path: PathBuf, bytes: u64, images: bool) -> io::Result<PathBuf> {
    let mut out = BufWriter::new(File::create(&path)?);
    generate::transcript(&mut out, bytes, SEED, images)?;
    Ok(path)
}

/// Reads a transcript as the program does.
pub(crate) fn read(path: &Path) -> Result<Session> {
    let mut session = Session::new("bench", Host::ClaudeCode);
    JsonlTailer::new(path).read(&mut |event| match event {
        TailEvent::Line { offset, bytes } => {
            parse_line(Host::ClaudeCode, bytes, offset, &mut |line| session.fold_line(line));
        }
        TailEvent::TooLong { .. } => session.fold_too_long(),
        TailEvent::Reset { .. } => {}
    })?;
    Ok(session)
}

/// Bytes of all words of a session.
pub(crate) fn words(session: &Session) -> usize {
    let layout = session.layout();
    let rewound = layout.rewound.iter().flat_map(|stretch| &stretch.messages);
    layout.messages().chain(rewound).map(|message| message.text.len()).sum()
}

/// Renders a session at a fixed time.
pub(crate) fn bottle(session: &Session) -> Bottle {
    render(session, &options())
}

/// What the rendering depends on beside the session.
pub(crate) fn options() -> Options {
    Options { zone: Zone::utc(), rendered: Moment(0), earlier: None, observed: None }
}

/// The length of a file in MB.
pub(crate) fn megabytes(path: &Path) -> io::Result<f64> {
    Ok(fs::metadata(path)?.len() as f64 / MB as f64)
}
