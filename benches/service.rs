//! P2 to P8, P10: the service and its hooks as they run, the real binary in a home of its own.
//!
//! Every case starts services of its own and ends them. Times are those of whoever looks at the
//! files; processor time and memory are the kernel's own figures (`/proc`), so Linux only.
//!
//! `cargo bench --bench service -- P2 P10` runs these alone.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod generate;
mod service {
    pub(crate) mod appended;
    pub(crate) mod busy;
    pub(crate) mod home;
    pub(crate) mod hooks;
    pub(crate) mod idle;
    pub(crate) mod live;
    pub(crate) mod rows;
    pub(crate) mod started;
}
#[expect(dead_code, reason = "what is only for those who measure the library")]
mod support;

use std::fs;

use anyhow::Result;

use service::{appended, busy, hooks, idle, live, started};

type Case = fn() -> Result<()>;

const CASES: [(&str, &str, Case); 8] = [
    ("P2", "from a line appended to the bottle renamed", appended::run),
    ("P3", "hooks while the service runs", hooks::with_service),
    ("P4", "a hook with nothing to do", hooks::nothing),
    ("P5", "a hook without a service", hooks::alone),
    ("P6", "from the start to the first answer", started::run),
    ("P7", "memory of live sessions", live::run),
    ("P8", "idle", idle::run),
    ("P10", "many sessions at once", busy::run),
];

fn main() -> Result<()> {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, what, case) in CASES {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            println!("{name}: {what} (load {})", load());
            case()?;
        }
    }
    Ok(())
}

/// How busy the machine is.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// A line of the table.
fn row(what: &str, figure: &str, goal: &str) {
    println!("  {what:<58} {figure:>44}   {goal}");
}
