//! `endless run`: the service.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use tracing_subscriber::fmt::MakeWriter;

use super::{
    failure::{Exit, Failure},
    output,
};
use crate::{
    client::Client,
    config::{Config, Environment},
    daemon::{self, Ended},
};

/// A log file is begun anew at this size; the one before is kept.
const LOG_BYTES: u64 = 1 << 20;
/// How long a detached service may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(10);

/// Run the service: every live session's bottle is kept current, until Ctrl-C.
///
/// It watches the transcripts of Claude Code, reads what is new, and writes the bottles into the
/// state folder. `endless status` tells in a second terminal how it is; `endless install service`
/// has it started at every login. A second service in the same state folder says so and ends.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Signals:
  TERM, INT   write what is unwritten and end; a second one ends at once
  HUP         read config.toml again

Exit status: 0 ended or already running, 1 failed, 75 the binary was replaced, start it again,
130 a second Ctrl-C ended it at once.")]
pub(super) struct Run {
    /// Go on in the background; the log goes to logs/service.log
    #[arg(long)]
    detach: bool,
    /// Write the log to this file, of at most 1 MB, and keep the one before
    #[arg(long, value_name = "FILE", conflicts_with = "detach")]
    log: Option<PathBuf>,
}

impl Run {
    pub(super) fn run(self, environment: &Environment) -> Result<(), Failure> {
        let config = Config::load(environment)?;
        if self.detach && config.enabled {
            return detach(&config, environment);
        }
        // Whatever is made from here on is for nobody else.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        self.log_to(environment)?;
        // One that finds another at work has nothing to watch.
        if Client::connect(&config.paths, PATIENCE).is_err() {
            introduce(&config);
        }
        let executable = environment.programs.executable.clone();
        match daemon::run(&config, executable, || Config::load(environment))? {
            Ended::Stopped => Ok(()),
            Ended::SwitchedOff => {
                output::note(
                    "endless is switched off (`endless config` tells where): nothing is done",
                );
                Ok(())
            }
            Ended::AlreadyRunning(holder) => {
                output::note(&format!(
                    "a service runs already: pid {} on {}, version {}; `endless status` shows it",
                    holder.pid, holder.host, holder.version
                ));
                Ok(())
            }
            Ended::Replaced => Err(Failure::ended(Exit::Replaced)),
            Ended::LostLock => Err(Failure::failed(
                "the state folder was deleted or replaced while the service ran; start it again",
            )),
        }
    }

    fn log_to(&self, environment: &Environment) -> Result<(), Failure> {
        let log = tracing_subscriber::fmt().with_target(false).with_ansi(false);
        let set = match &self.log {
            None => tracing::subscriber::set_global_default(log.with_writer(output::log).finish()),
            Some(path) => {
                let file = LogFile::open(environment.absolute(path))?;
                tracing::subscriber::set_global_default(log.with_writer(file).finish())
            }
        };
        set.map_err(Failure::failed)
    }
}

/// Says where it looks, since a machine may have no transcripts yet.
fn introduce(config: &Config) {
    for candidate in &config.candidates {
        let there = candidate.join("projects").is_dir();
        let state = if there { "watching" } else { "waiting for" };
        tracing::info!("{state} {}", candidate.join("projects").display());
    }
    tracing::info!("bottles go to {}", config.paths.bottles.display());
}

/// Starts the service as a process of its own and waits until it answers.
fn detach(config: &Config, environment: &Environment) -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    if Client::connect(&config.paths, PATIENCE).is_ok() {
        output::note("a service runs already; `endless status` shows it");
        return Ok(());
    }
    crate::files::prepare(&config.paths)?;
    let program = environment.programs.executable.clone();
    let program = program.ok_or_else(|| Failure::failed("the path of this program is unknown"))?;
    let log = config.paths.logs.join("service.log");
    let mut child = Command::new(program)
        .args(["run", "--log"])
        .arg(&log)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()?;
    let until = Instant::now() + PATIENCE;
    while Client::connect(&config.paths, PATIENCE).is_err() {
        let ended = child.try_wait()?;
        if ended.is_some() || Instant::now() > until {
            let path = log.display();
            return Err(Failure::failed(format_args!("the service did not start; see {path}")));
        }
        thread::sleep(PAUSE);
    }
    output::print(&format!("the service runs: pid {}, log {}\n", child.id(), log.display()))
}

/// A log that is begun anew when it is large; the one before is kept beside it.
struct LogFile {
    path: PathBuf,
    file: Mutex<(File, u64)>,
}

impl LogFile {
    fn open(path: PathBuf) -> Result<Self, Failure> {
        let file = append(&path)?;
        let length = file.metadata()?.len();
        Ok(Self { path, file: Mutex::new((file, length)) })
    }
}

fn append(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).mode(0o600).open(path)
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut guard = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (file, length) = &mut *guard;
        if *length > LOG_BYTES {
            let mut old = self.path.clone().into_os_string();
            old.push(".1");
            fs::rename(&self.path, old)?;
            (*file, *length) = (append(&self.path)?, 0);
        }
        let written = file.write(bytes)?;
        *length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
