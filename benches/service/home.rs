//! A home with transcripts and a service, and what the kernel tells of the service's process.
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail, ensure};
use endless::{
    client::{CONNECT, Client, ClientError},
    engine::request::{Reply, Request, Status},
    paths::Paths,
};

const BINARY: &str = env!("CARGO_BIN_EXE_endless");
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(300);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A home that is thrown away, with its service.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    pub(crate) paths: Paths,
    service: Option<Child>,
}

impl Home {
    pub(crate) fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let paths = Paths::new(folder.path().join("state"));
        Ok(Self { folder, paths, service: None })
    }

    /// Where a transcript lies; its folder is made.
    pub(crate) fn transcript(&self, project: usize, id: &str) -> Result<PathBuf> {
        let folder = self.folder.path().join(format!(".claude/projects/-work-{project}"));
        fs::create_dir_all(&folder)?;
        Ok(folder.join(format!("{id}.jsonl")))
    }

    /// Writes as many transcripts, a month old, each a beginning of `text`.
    pub(crate) fn history(&self, count: usize, text: &[u8], sizes: &[usize]) -> Result<()> {
        for (number, size) in (0..count).zip(sizes.iter().cycle()) {
            let path = self.transcript(number / 50, &format!("history-{number}"))?;
            let end = memchr::memrchr(b'\n', &text[..*size]).context("find a line")?;
            let mut file = File::create(path)?;
            file.write_all(&text[..=end])?;
            file.set_modified(SystemTime::now() - 30 * DAY)?;
        }
        Ok(())
    }

    /// A command of the binary in this home, with another state folder.
    pub(crate) fn command(&self, state: &Path) -> Command {
        let mut command = Command::new(BINARY);
        command.env_clear().env("HOME", self.folder.path()).env("TZ", "UTC");
        command.env("ENDLESS_HOME", state).current_dir(self.folder.path());
        command
    }

    /// Another folder in this home.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        let log = File::create(self.folder("service.log"))?;
        let mut command = self.command(&self.paths.home);
        let command = command.arg("run").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.service = Some(command.spawn()?);
        Ok(())
    }

    /// Ends the service in good order.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.ask(&Request::Shutdown {})?;
        if let Some(mut service) = self.service.take() {
            ensure!(service.wait()?.success(), "the service failed");
        }
        Ok(())
    }

    pub(crate) fn ask(&self, request: &Request) -> Result<Reply, ClientError> {
        Client::connect(&self.paths, CONNECT)?.ask(request, PATIENCE)
    }

    pub(crate) fn status(&self, sync: bool) -> Result<Status> {
        match self.ask(&Request::Status { session: None, sync })? {
            Reply::Status(status) => Ok(*status),
            other => bail!("no status: {other:?}"),
        }
    }

    /// Waits until the service answers, and its status holds this.
    pub(crate) fn until(&self, holds: impl Fn(&Status) -> bool) -> Result<Status> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Ok(status) = self.status(false)
                && holds(&status)
            {
                return Ok(status);
            }
            sleep(Duration::from_millis(100));
        }
        bail!("it took too long; {:?}", self.status(false)?.totals)
    }

    /// Waits until so many hot sessions are read and their bottles written.
    pub(crate) fn until_current(&self, sessions: u64) -> Result<Status> {
        self.until(|status| {
            let is_current = |bytes: u64, covers: Option<u64>| covers == Some(bytes);
            status.totals.hot == sessions
                && status.totals.behind == 0
                && status.sessions.iter().all(|session| {
                    let covers = session.bottle.as_ref().map(|bottle| bottle.covers);
                    is_current(session.disk, covers)
                })
        })
    }

    fn pid(&self) -> Result<u32> {
        Ok(self.service.as_ref().context("there is no service")?.id())
    }

    /// Processor time that the service has taken, all threads together.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let mut sum = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.pid()?))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            let on = text.split(' ').next().context("read /proc: this needs Linux")?;
            sum += on.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(sum))
    }

    /// A size of the service's process, in MiB.
    pub(crate) fn memory(&self, key: &str) -> Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid()?))?;
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB"));
        let kilobytes: f64 = kilobytes.context("find a size in /proc")?.parse()?;
        Ok(kilobytes / 1_024.0)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(mut service) = self.service.take() {
            // It may have ended.
            service.kill().ok();
            service.wait().ok();
        }
    }
}

/// Sorted times, in milliseconds.
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut times: Vec<f64> =
            times.into_iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// The time that so many hundredths do not exceed.
    pub(crate) fn percentile(&self, hundredths: usize) -> f64 {
        let rank = (self.0.len() * hundredths).div_ceil(100).max(1);
        self.0.get(rank - 1).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn show(&self) -> String {
        let [least, middle, late, most] = [0, 50, 99, 100].map(|share| self.percentile(share));
        format!("{middle:.2} ms (min {least:.2}, p99 {late:.2}, max {most:.2})")
    }
}
