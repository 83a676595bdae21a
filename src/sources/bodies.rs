//! The whole input and output of tool calls, read back from the transcript.
//!
//! The session keeps where the records of a call stand; they are read again, and must still hold
//! the call: a transcript that was rewritten gives a refusal, never another call's output. Each
//! record is read and walked once, however many of the calls stand in it.
//! Output that the host persisted is read from `<session-id>/tool-results/` beside the transcript
//! and from nowhere else, whatever the record names.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use endless_watchers::{TailError, open_regular, read_range};

use super::{ReadError, clean, load::Loaded, value::Value};
use crate::{
    paths::is_name,
    session::ledger::ToolCall,
    text::{line::normalise, privacy},
    transcript::{
        Place,
        claude_code::placeholder,
        json::{Members, Raw},
    },
};

const PERSISTED: &str = "<persisted-output>";
const PERSISTED_END: &str = "</persisted-output>";
const SAVED_TO: &str = "Full output saved to: ";

/// The bodies of some calls.
#[derive(Debug, Default)]
pub struct Bodies {
    bodies: BTreeMap<u32, Body>,
    /// The records that were read for them.
    pub records: usize,
}

/// What is behind the line of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// What the tool was called with.
    pub input: Value,
    /// What it gave; none while it runs, and where it was stopped.
    pub output: Option<Output>,
}

/// What a tool gave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The text, images as placeholders.
    pub text: String,
    /// Where it comes from if not from the record, or why it is not the whole output.
    pub note: Option<String>,
}

/// Why a call could not be read back.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The record is not what the session was made from.
    #[error(
        "the transcript was rewritten and no longer holds the call {call} where it was; try again"
    )]
    Rewritten {
        /// The host's id of the call.
        call: String,
    },
    /// The transcript could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Bodies {
    /// The body of the call with this index in the ledger, if it was asked for.
    pub fn get(&self, index: u32) -> Option<&Body> {
        self.bodies.get(&index)
    }

    fn body(&mut self, index: u32) -> &mut Body {
        self.bodies.entry(index).or_insert(Body { input: Value::Null, output: None })
    }
}

/// Reads the bodies of the calls of this session that have these indexes in the ledger.
pub fn read_bodies(loaded: &Loaded, indexes: &BTreeSet<u32>) -> Result<Bodies, BodyError> {
    let calls = loaded.session.ledger().calls();
    let nameless = nameless(calls);
    let mut bodies = Bodies::default();
    for (place, asked) in by_record(calls, indexes) {
        let first = asked.first().map_or("", |(call, _)| loaded.session.text(call.id));
        let record = Record::read(loaded, place, first)?;
        let blocks = Blocks::of(&record.bytes);
        bodies.records += 1;
        for (call, index) in asked {
            let id = loaded.session.text(call.id);
            let rewritten = || BodyError::Rewritten { call: id.to_owned() };
            if call.input == place {
                let nth = nameless.get(&index).copied().unwrap_or_default();
                let input = blocks.input(id, nth).ok_or_else(rewritten)?;
                bodies.body(index).input = input;
            }
            if call.result == Some(place) {
                let output = blocks.output(id, &record, loaded).ok_or_else(rewritten)?;
                bodies.body(index).output = Some(output);
            }
        }
    }
    Ok(bodies)
}

/// The records that hold inputs and results of these calls, with the calls that each is read for.
fn by_record<'c>(
    calls: &'c [ToolCall],
    indexes: &BTreeSet<u32>,
) -> impl Iterator<Item = (Place, Vec<(&'c ToolCall, u32)>)> {
    let mut records = BTreeMap::new();
    for index in indexes {
        let Some(call) = calls.get(*index as usize) else { continue };
        let result = call.result.filter(|result| *result != call.input);
        for place in [Some(call.input), result].into_iter().flatten() {
            let key = (place.source, place.offset, place.length);
            records.entry(key).or_insert_with(|| (place, Vec::new())).1.push((call, *index));
        }
    }
    records.into_values()
}

/// Of the calls without an id, which of its record each is, by its index: they stand together.
fn nameless(calls: &[ToolCall]) -> HashMap<u32, usize> {
    let (mut nameless, mut before) = (HashMap::new(), None);
    for (index, call) in (0..).zip(calls).filter(|(_, call)| call.id.is_empty()) {
        let nth = match before {
            Some((place, nth)) if place == call.input => nth + 1,
            _ => 0,
        };
        nameless.insert(index, nth);
        before = Some((call.input, nth));
    }
    nameless
}

/// The bytes of one record.
struct Record<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
}

impl<'a> Record<'a> {
    fn read(loaded: &'a Loaded, place: Place, call: &str) -> Result<Self, BodyError> {
        let rewritten = || BodyError::Rewritten { call: call.to_owned() };
        let path = loaded.files.get(usize::from(place.source)).ok_or_else(rewritten)?;
        match read_range(path, place.offset, u64::from(place.length)) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(TailError::OutOfRange { .. }) => Err(rewritten()),
            Err(error) => Err(BodyError::Read(error.into())),
        }
    }
}

/// The blocks of a record, by the id of the call that each names.
#[derive(Default)]
struct Blocks<'r> {
    calls: HashMap<String, Vec<Members<'r>>>,
    results: HashMap<String, Members<'r>>,
    /// The host's own record of the output, where it can be of one result only.
    detail: Option<Raw<'r>>,
}

impl<'r> Blocks<'r> {
    fn of(record: &'r [u8]) -> Self {
        let row = members(Raw(record));
        let content = row.get("message").and_then(|message| message.member("content"));
        let mut blocks = Self::default();
        let mut results = 0;
        for block in content.map(Raw::elements).unwrap_or_default() {
            let block = members(block);
            let kind = block.text("type");
            let id = |key: &str| clean(&block.text(key).unwrap_or_default());
            match kind.as_deref() {
                Some("tool_use") => blocks.calls.entry(id("id")).or_default().push(block),
                Some("tool_result") => {
                    results += 1;
                    // A repeated result changes nothing.
                    blocks.results.entry(id("tool_use_id")).or_insert(block);
                }
                _ => {}
            }
        }
        blocks.detail = row.get("toolUseResult").filter(|_| results == 1);
        blocks
    }

    /// What the call was called with; of several calls with this id the n-th.
    fn input(&self, call: &str, nth: usize) -> Option<Value> {
        let input = self.calls.get(call)?.get(nth)?.get("input");
        Some(input.map_or(Value::Null, Value::read))
    }

    fn output(&self, call: &str, record: &Record<'_>, loaded: &Loaded) -> Option<Output> {
        let given = self.results.get(call)?.get("content");
        if let Some(text) = given.and_then(only_text)
            && let Some(persisted) = persisted(&text)
        {
            return Some(persisted.output(record.path, loaded.id.as_str()));
        }
        let mut text = given.map(content).unwrap_or_default();
        if text.trim().is_empty() {
            text = self.detail.map(host_output).unwrap_or_default();
        }
        Some(Output { text: shown(&text), note: None })
    }
}

fn members(raw: Raw<'_>) -> Members<'_> {
    raw.cursor().raw_members().map(|(_, members)| members).unwrap_or_default()
}

/// A tool's output without its private parts. What it says of the host's wrapper is its own words,
/// and they stay unless something else may have to go.
fn shown(text: &str) -> String {
    let rest = text.replace(PERSISTED, "").replace(PERSISTED_END, "");
    if privacy::may_hide(rest.as_bytes()) { clean(text) } else { normalise(text).into_owned() }
}

/// The text of a result that is one text and nothing else.
fn only_text(raw: Raw<'_>) -> Option<Cow<'_, str>> {
    if let Some(text) = raw.quoted() {
        return Some(text.decode());
    }
    match raw.elements()[..] {
        [block] if block.text("type").is_some_and(|kind| kind == "text") => block.text("text"),
        _ => None,
    }
}

/// The text of a result: its text blocks, and placeholders for what is none.
fn content(raw: Raw<'_>) -> String {
    if let Some(text) = raw.quoted() {
        return text.decode().into_owned();
    }
    let parts: Vec<_> = raw.elements().into_iter().filter_map(part).collect();
    parts.join("\n")
}

fn part(block: Raw<'_>) -> Option<String> {
    if let Some(text) = block.quoted() {
        return Some(text.decode().into_owned());
    }
    let kind = block.text("type")?;
    match kind.as_ref() {
        "text" => block.text("text").map(Into::into),
        "image" | "document" => Some(media(&kind, block.member("source"))),
        "tool_reference" => block.text("tool_name").map(Into::into),
        _ => Some(format!("[{kind}]")),
    }
}

fn media(kind: &str, source: Option<Raw<'_>>) -> String {
    format!("[{}]", placeholder(kind, source.unwrap_or(Raw(b"{}"))))
}

/// The host's own record of an output that the model was not shown.
fn host_output(detail: Raw<'_>) -> String {
    if let Some(text) = detail.quoted() {
        return text.decode().into_owned();
    }
    let streams = ["stdout", "stderr"].into_iter().filter_map(|key| detail.text(key));
    let streams: Vec<_> = streams.filter(|text| !text.is_empty()).collect();
    streams.join("\n")
}

/// An output of which the record holds a preview only.
struct Persisted<'a> {
    preview: &'a str,
    name: Option<&'a str>,
}

/// Only a text that is one whole wrapper counts: a tool may print words about one.
fn persisted(text: &str) -> Option<Persisted<'_>> {
    let inside = text.trim().strip_prefix(PERSISTED)?.strip_suffix(PERSISTED_END)?;
    if inside.contains(PERSISTED) || inside.contains(PERSISTED_END) {
        return None;
    }
    let preview = inside.trim();
    let saved = preview.lines().find_map(|line| Some(line.split_once(SAVED_TO)?.1.trim()));
    let name = saved.and_then(|path| path.rsplit(['/', '\\']).next());
    Some(Persisted { preview, name: name.filter(|name| is_name(name)) })
}

impl Persisted<'_> {
    fn output(&self, transcript: &Path, session: &str) -> Output {
        let Some(name) = self.name else {
            return self.preview("the record does not say where the host kept it");
        };
        let Some(folder) = results_folder(transcript, session) else {
            return self.preview(&format!("there is no {session}/tool-results/{name}"));
        };
        match read_whole(&folder.join(name)) {
            Ok(bytes) => Output {
                text: shown(&String::from_utf8_lossy(&bytes)),
                note: Some(format!(
                    "the record holds a preview only; this is {session}/tool-results/{name}, where \
                     the host kept the whole output"
                )),
            },
            Err(error) => self.preview(&ReadError(error).to_string()),
        }
    }

    fn preview(&self, why: &str) -> Output {
        let note = clean(&format!("only the host's preview, the full output is gone: {why}"));
        Output { text: shown(self.preview), note: Some(note) }
    }
}

/// The folder of persisted outputs, if it and the folder above it are folders and no links.
fn results_folder(transcript: &Path, session: &str) -> Option<PathBuf> {
    let own = transcript.parent()?.join(session);
    let results = own.join("tool-results");
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|data| data.is_dir());
    (is_folder(&own) && is_folder(&results)).then_some(results)
}

fn read_whole(path: &Path) -> Result<Vec<u8>, TailError> {
    let file = open_regular(path)?;
    let length = file.metadata().map_or(0, |data| data.len());
    drop(file);
    read_range(path, 0, length)
}

#[cfg(test)]
mod tests;
