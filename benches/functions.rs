//! The single steps, by criterion: a line of each kind parsed, a session laid out, rendered, and
//! its bottle read back.
//!
//! `cargo bench --bench functions -- render` runs those whose name has `render` in it.
mod generate;
mod support;

use std::{collections::BTreeMap, hint::black_box, time::Duration};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use endless::{
    bottle::{read_back, render_grown},
    transcript::{Host, parse_line},
};

use support::{MB, SEED, bottle, measures, megabytes, options, read, words, write_transcript};

criterion_group! {
    name = all;
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = lines, sessions
}
criterion_main!(all);

/// A line of median length of each kind.
fn lines(criterion: &mut Criterion) {
    let mut bytes = Vec::new();
    let size = if measures() { 20 * MB } else { MB };
    generate::transcript(&mut bytes, size, SEED, true).expect("a vector takes all");
    let mut kinds: BTreeMap<String, Vec<&[u8]>> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        kinds.entry(kind(line)).or_default().push(line);
    }
    let mut group = criterion.benchmark_group("parse_line");
    for (kind, mut lines) in kinds {
        lines.sort_by_key(|line| line.len());
        let line = lines[lines.len() / 2];
        group.throughput(Throughput::Bytes(line.len() as u64));
        group.bench_with_input(BenchmarkId::new(kind, line.len()), line, |bencher, line| {
            bencher.iter(|| {
                parse_line(Host::ClaudeCode, black_box(line), 0, &mut |line| drop(black_box(line)));
            });
        });
    }
    group.finish();
}

/// What a line is, by its message's content or by its type.
fn kind(line: &[u8]) -> String {
    let line: serde_json::Value =
        serde_json::from_str(&String::from_utf8_lossy(line).replace("\\ud83d\"", "\""))
            .expect("made-up lines are JSON");
    let content = &line["message"]["content"];
    let block = &content[0];
    let name = match block["type"].as_str() {
        Some("tool_use") => format!("call {}", block["name"].as_str().unwrap_or_default()),
        Some("tool_result") => match line["toolUseResult"]["type"].as_str() {
            Some("image") => "result image".to_owned(),
            Some(_) => "result Read".to_owned(),
            None if line["toolUseResult"].get("stdout").is_some() => "result Bash".to_owned(),
            None if line["toolUseResult"].get("prompt").is_some() => "result Task".to_owned(),
            None => "result Edit".to_owned(),
        },
        Some(kind) => kind.to_owned(),
        None if content.is_string() => "prompt".to_owned(),
        None => line["type"].as_str().unwrap_or_default().to_owned(),
    };
    name.replace("__", ".")
}

/// A session of 50 MB. Rates are per byte of the bottle.
fn sessions(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let size = if measures() { 50 * MB } else { MB };
    let path = write_transcript(folder.path().join("transcript"), size, true).expect("a file");
    let session = read(&path).expect("a transcript");
    let old = bottle(&session);
    let (text, settled) = (old.text, old.settled.expect("a session without a source beside it"));
    let size = megabytes(&path).expect("a file");
    let name = format!(
        "{size:.0} MB with {:.2} MB of words to {:.2} MB",
        words(&session) as f64 / MB as f64,
        text.len() as f64 / MB as f64
    );
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("layout", |bencher| bencher.iter(|| black_box(session.layout())));
    group.bench_function("render", |bencher| bencher.iter(|| black_box(bottle(&session))));
    group.bench_function("render_grown", |bencher| {
        let grown = |old| render_grown(&session, &options(), &settled, old);
        bencher.iter_batched(|| text.clone(), |old| black_box(grown(old)), BatchSize::LargeInput);
    });
    group.bench_function("read_back", |bencher| bencher.iter(|| black_box(read_back(&text))));
    group.finish();
}
