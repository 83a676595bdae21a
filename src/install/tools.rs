//! Runs the machine's own tools: `systemctl`, `loginctl`, `launchctl`.
//!
//! Invariant: only the commands `install`, `uninstall` and `doctor` start them; beside them Endless
//! starts nothing but itself (`run --detach`). A tool is looked up on `PATH`, gets no input,
//! and what it prints is data.

use std::{
    ffi::OsString,
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::config::Environment;

/// Where tools are where `PATH` says nothing.
const USUAL: &str = "/usr/bin:/bin:/usr/sbin:/sbin";
/// Where systemd has the runtime folders of users.
const RUN: &str = "/run/user";

/// The machine's tools.
#[derive(Debug)]
pub struct Tools {
    path: OsString,
    /// The user's runtime folder, where the environment does not name it (`sudo -u`, `su`).
    runtime: Option<PathBuf>,
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'static str,
    /// What it is called with.
    pub arguments: &'a [&'a str],
}

impl fmt::Display for Call<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.tool, self.arguments.join(" "))
    }
}

/// What a tool said.
#[derive(Debug)]
pub struct Said {
    /// It succeeded.
    pub done: bool,
    /// On stdout.
    pub text: String,
    /// The last line on stderr that is not empty.
    pub trouble: String,
}

impl Tools {
    /// The tools that this environment has.
    pub fn new(environment: &Environment) -> Self {
        let runtime = Path::new(RUN).join(rustix::process::geteuid().as_raw().to_string());
        let is_missing = environment.runtime_dir.is_none() && runtime.is_dir();
        Self {
            path: environment.programs.path.clone().unwrap_or_else(|| USUAL.into()),
            runtime: Some(runtime).filter(|_| is_missing),
        }
    }

    /// The file of a tool, if there is one.
    pub fn find(&self, tool: &str) -> Option<PathBuf> {
        let folders = std::env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(tool)).find(|file| is_program(file))
    }

    /// Runs a tool to its end.
    pub fn run(&self, call: Call<'_>) -> io::Result<Said> {
        let file = self.find(call.tool).ok_or_else(|| {
            io::Error::new(io::ErrorKind::NotFound, format!("there is no {} on PATH", call.tool))
        })?;
        let mut command = Command::new(file);
        command.args(call.arguments).stdin(Stdio::null());
        // Plain words, on one page.
        command.env("LC_ALL", "C").env("SYSTEMD_COLORS", "0").env("SYSTEMD_PAGER", "");
        if let Some(runtime) = &self.runtime {
            command.env("XDG_RUNTIME_DIR", runtime);
        }
        let output = command.output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        let trouble = text(&output.stderr);
        let trouble = trouble.lines().last().unwrap_or("it did not say why").to_owned();
        Ok(Said { done: output.status.success(), text: text(&output.stdout), trouble })
    }
}

fn is_program(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
