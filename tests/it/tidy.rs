//! Rules of the house that are tests: layering, module headers, size guides.
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The folders and files whose code is pure: it names no I/O, clock, thread, channel or database.
const PURE: &[&str] = &[
    "src/text",
    "src/text.rs",
    "src/transcript",
    "src/transcript.rs",
    "src/session",
    "src/session.rs",
    "src/observation",
    "src/observation.rs",
    "src/bottle",
    "src/bottle.rs",
    "src/pointer",
    "src/pointer.rs",
    "src/engine",
    "src/engine.rs",
    "src/client/hook/payload.rs",
    "src/install/hooks/edit",
    "src/install/hooks/edit.rs",
    "src/install/hooks/events.rs",
    "src/install/hooks/jsonc.rs",
    "watchers/src/lines.rs",
];

/// What pure code never names.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "std::sync::mpsc",
    "std::io",
    "Instant",
    "SystemTime",
    "::now()",
    "tokio",
    "rusqlite",
    "notify::",
    "crossbeam",
    "rustix",
    "tempfile",
    "println!",
    "eprintln!",
];

/// Who may name whom: a module and the sibling modules it must not import.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "text",
        &[
            "transcript",
            "session",
            "observation",
            "bottle",
            "pointer",
            "engine",
            "store",
            "sources",
            "files",
            "client",
            "daemon",
            "install",
            "cli",
            "config",
            "paths",
        ],
    ),
    (
        "transcript",
        &[
            "session",
            "observation",
            "bottle",
            "pointer",
            "engine",
            "store",
            "sources",
            "files",
            "client",
            "daemon",
            "install",
            "cli",
            "config",
            "paths",
        ],
    ),
    (
        "session",
        &[
            "observation",
            "bottle",
            "pointer",
            "engine",
            "store",
            "sources",
            "files",
            "client",
            "daemon",
            "install",
            "cli",
            "config",
            "paths",
        ],
    ),
    (
        "observation",
        &[
            "bottle", "pointer", "engine", "store", "sources", "files", "client", "daemon",
            "install", "cli", "config", "paths",
        ],
    ),
    (
        "bottle",
        &[
            "pointer", "engine", "store", "sources", "files", "client", "daemon", "install", "cli",
            "config", "paths",
        ],
    ),
    (
        "pointer",
        &[
            "engine", "store", "sources", "files", "client", "daemon", "install", "cli", "config",
            "paths",
        ],
    ),
    (
        "engine",
        &["deliver", "store", "sources", "files", "client", "daemon", "install", "cli", "config"],
    ),
    (
        "store",
        &["deliver", "engine", "sources", "files", "client", "daemon", "install", "cli", "config"],
    ),
    (
        "sources",
        &["bottle", "pointer", "engine", "store", "files", "client", "daemon", "install", "cli"],
    ),
    ("files", &["deliver", "engine", "store", "sources", "client", "daemon", "install", "cli"]),
    ("deliver", &["sources", "client", "daemon", "install", "cli", "config"]),
    ("client", &["daemon", "install", "cli"]),
    ("daemon", &["client", "install", "cli"]),
    ("install", &["cli", "daemon"]),
];

/// The size guides; see CONTRIBUTING.md. Only the hard limits fail.
const FILE_MEDIAN: usize = 150;
const FILE_MAX: usize = 500;
const FUNCTION_P95: usize = 40;
const FUNCTION_MAX: usize = 80;

struct Source {
    path: String,
    /// Without the tests at its end.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["src", "watchers/src"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let source = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default().to_owned();
        let path = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        Source { path, code }
    };
    files.into_iter().map(source).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn code_lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn pure_modules_name_no_io_clock_thread_channel_or_database() {
    let mut found = Vec::new();
    for source in sources() {
        let is_pure =
            |pure: &&str| source.path == **pure || source.path.starts_with(&format!("{pure}/"));
        if !PURE.iter().any(is_pure) {
            continue;
        }
        for line in code_lines(&source.code) {
            found.extend(
                IMPURE
                    .iter()
                    .filter(|name| line.contains(**name))
                    .map(|name| format!("{}: {name}", source.path)),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn modules_import_only_what_is_below_them() {
    let mut found = Vec::new();
    for source in sources() {
        let Some(inside) = source.path.strip_prefix("src/") else { continue };
        let module = inside.split(['/', '.']).next().unwrap_or_default();
        let Some((_, above)) = LAYERS.iter().find(|(name, _)| *name == module) else { continue };
        for name in *above {
            let imports =
                [format!("crate::{name}::"), format!("crate::{name};"), format!("crate::{{{name}")];
            let nested = format!("    {name}::");
            if imports.iter().any(|import| source.code.contains(import))
                || source.code.contains("use crate::{")
                    && source.code.lines().any(|line| line.starts_with(&nested))
            {
                found.push(format!("{} imports {name}", source.path));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let bare: Vec<String> = sources()
        .into_iter()
        .filter(|source| !source.code.starts_with("//!"))
        .map(|source| source.path)
        .collect();
    assert!(bare.is_empty(), "no `//!` header: {}", bare.join(", "));
}

#[test]
fn only_the_output_module_prints() {
    for source in sources() {
        let prints = ["println!", "eprintln!", "print!(", "eprint!(", "stdout()", "stderr()"];
        let found =
            code_lines(&source.code).any(|line| prints.iter().any(|print| line.contains(print)));
        assert!(!found || source.path == "src/cli/output.rs", "{} prints", source.path);
    }
}

#[test]
fn nothing_is_left_to_do() {
    for source in sources() {
        for mark in ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("] {
            assert!(!source.code.contains(mark), "{}: {mark}", source.path);
        }
    }
}

#[test]
fn files_and_functions_keep_to_the_size_guides() {
    let sources = sources();
    let mut files: Vec<(usize, &str)> =
        sources.iter().map(|source| (source.code.lines().count(), source.path.as_str())).collect();
    let mut functions: Vec<(usize, String)> = sources.iter().flat_map(functions).collect();
    files.sort_unstable();
    functions.sort_unstable();
    let median = files[files.len() / 2].0;
    let p95 = functions[functions.len() * 95 / 100].0;
    let (longest_file, longest_function) =
        (&files[files.len() - 1], &functions[functions.len() - 1]);
    println!(
        "files: {} (median {median} of {FILE_MEDIAN} lines, longest {longest_file:?} of {FILE_MAX}); \
         functions: {} (p95 {p95} of {FUNCTION_P95}, longest {longest_function:?} of {FUNCTION_MAX})",
        files.len(),
        functions.len(),
    );
    assert!(longest_file.0 <= FILE_MAX, "{longest_file:?} is over {FILE_MAX} lines");
    assert!(
        longest_function.0 <= FUNCTION_MAX,
        "{longest_function:?} is over {FUNCTION_MAX} lines"
    );
}

/// The length of each function: from its first line to the closing brace at the same depth.
fn functions(source: &Source) -> Vec<(usize, String)> {
    let lines: Vec<&str> = source.code.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let words = text.strip_prefix("pub(super) ").or_else(|| text.strip_prefix("pub(crate) "));
        let words = words.or_else(|| text.strip_prefix("pub ")).unwrap_or(text);
        if !words.starts_with("fn ") {
            continue;
        }
        let indent = line.len() - text.len();
        let closing = format!("{}}}", " ".repeat(indent));
        if let Some(length) = lines[start..].iter().position(|line| *line == closing) {
            found.push((length + 1, format!("{}:{}", source.path, start + 1)));
        }
    }
    found
}
