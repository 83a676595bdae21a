//! Reads a payload from stdin, within a time.
//!
//! A host may leave stdin open, so the end of the object counts, not the end of the file. Refuses:
//! payloads over 16 MiB.
use std::{
    io,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// How long a payload may take to come.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of a payload.
const LONGEST: usize = 16 << 20;
/// Bytes of a read.
const CHUNK: usize = 64 * 1024;

/// What came: a whole JSON value, or whatever there was when the time was over.
///
/// # Errors
/// Where it can't be read, or is too long.
pub fn read(input: impl AsFd, patience: Duration) -> io::Result<Vec<u8>> {
    let until = Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    while wait(&input, until)? {
        match rustix::io::read(&input, &mut chunk) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(error) => return Err(error.into()),
        }
        if bytes.len() > LONGEST {
            return Err(io::Error::other("the payload is too long"));
        }
        if is_whole(&bytes) {
            break;
        }
    }
    Ok(bytes)
}

/// Whether something can be read before the time is over.
fn wait(input: &impl AsFd, until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let left = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut inputs = [PollFd::new(input, PollFlags::IN)];
        match poll(&mut inputs, Some(&left)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a whole JSON object has come. Looked at only where the last byte may end one.
fn is_whole(bytes: &[u8]) -> bool {
    bytes.trim_ascii_end().last() == Some(&b'}')
        && serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::net::UnixStream, thread};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn the_end_of_the_object_counts_or_the_end_of_the_file_or_the_time() {
        let (mut host, hook) = UnixStream::pair().unwrap();
        host.write_all(b"{\"a\":{}}").unwrap();
        assert_eq!(read(&hook, LONG).unwrap(), b"{\"a\":{}}");
        // In parts, each of which ends like an object.
        let writer = thread::spawn(move || {
            for part in ["{\"a\":\"}", "}\",\"b\"", ":{}}  \n"] {
                host.write_all(part.as_bytes()).unwrap();
            }
            host
        });
        assert_eq!(read(&hook, LONG).unwrap().trim_ascii_end(), b"{\"a\":\"}}\",\"b\":{}}");
        let mut host = writer.join().unwrap();
        host.write_all(b"{\"a\":").unwrap();
        assert!(read(&hook, Duration::from_millis(30)).unwrap().ends_with(b"{\"a\":"));
        host.write_all(b"no").unwrap();
        drop(host);
        assert_eq!(read(&hook, LONG).unwrap(), b"no");
    }

    #[test]
    fn a_payload_that_never_ends_is_refused() {
        let (mut host, hook) = UnixStream::pair().unwrap();
        thread::spawn(move || while host.write_all(&[b'{'; 1 << 16]).is_ok() {});
        assert!(read(&hook, LONG).is_err());
    }
}
