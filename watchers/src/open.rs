//! Opens files that others name, safely.
//!
//! Payloads and folders may name anything. Only a regular file is opened, for reading only, and a
//! symbolic link in the last component is not followed. The path is looked at before it is opened,
//! since opening alone can wake the writer of a FIFO or start a device; the open file is looked at
//! again, since the path may have changed in between. `O_NONBLOCK`: nothing hangs in that gap.
//!
//! Invariant: a file that comes from here is regular. Refuses: to judge folders above the last
//! component (the caller knows its roots).

use std::fmt;
use std::fs::{self, File, FileType};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use crate::identity::fill_at;
use crate::lines::MAX_LINE_BYTES;

/// Why a file could not be read. Every message reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum TailError {
    /// Nothing has that name.
    #[error("find {path}")]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path names something that is never opened.
    #[error("open {path}: it is a {kind}, not a regular file")]
    NotRegular {
        /// The path asked for.
        path: PathBuf,
        /// What stands there.
        kind: FileKind,
    },
    /// The system did not open the file.
    #[error("open {path}")]
    Open {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system did not read the open file.
    #[error("read {path}")]
    Read {
        /// The path asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before the range does: it was cut or replaced.
    #[error("read {length} bytes at {offset} of {path}: the file ends before")]
    OutOfRange {
        /// The path asked for.
        path: PathBuf,
        /// Where the range starts.
        offset: u64,
        /// How long it is.
        length: u64,
    },
    /// The range is longer than any line that is kept.
    #[error("read {length} bytes of {path} at once: the limit is {MAX_LINE_BYTES}")]
    RangeTooLong {
        /// The path asked for.
        path: PathBuf,
        /// How long the range is.
        length: u64,
    },
}

/// What stands at a path, when it is not a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A directory.
    Directory,
    /// A symbolic link, whatever it points to.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device, or something unheard of.
    Device,
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Directory => "directory",
            Self::Symlink => "symbolic link",
            Self::Fifo => "named pipe",
            Self::Socket => "socket",
            Self::Device => "device",
        })
    }
}

impl FileKind {
    /// `None` for a regular file.
    fn of(file_type: FileType) -> Option<Self> {
        if file_type.is_file() {
            None
        } else if file_type.is_dir() {
            Some(Self::Directory)
        } else if file_type.is_symlink() {
            Some(Self::Symlink)
        } else if file_type.is_fifo() {
            Some(Self::Fifo)
        } else if file_type.is_socket() {
            Some(Self::Socket)
        } else {
            Some(Self::Device)
        }
    }
}

/// Opens a regular file for reading; anything else at `path` is refused without being opened.
pub fn open_regular(path: &Path) -> Result<File, TailError> {
    let named = fs::symlink_metadata(path).map_err(|source| open_error(path, source))?;
    refuse_special(path, named.file_type())?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()));
    let file = match opened {
        Ok(descriptor) => File::from(descriptor),
        // The path became a link after the look at it.
        Err(Errno::LOOP) => return Err(not_regular(path, FileKind::Symlink)),
        Err(error) => return Err(open_error(path, error.into())),
    };
    let held = file.metadata().map_err(|source| open_error(path, source))?;
    refuse_special(path, held.file_type())?;
    Ok(file)
}

/// Reads `length` bytes at `offset` of a regular file: all of them, or an error.
///
/// A range over [`MAX_LINE_BYTES`], or past the end of the file, is refused before room is made.
pub fn read_range(path: &Path, offset: u64, length: u64) -> Result<Vec<u8>, TailError> {
    let wanted = usize::try_from(length).ok().filter(|wanted| *wanted <= MAX_LINE_BYTES);
    let Some(wanted) = wanted else {
        return Err(TailError::RangeTooLong { path: path.to_owned(), length });
    };
    let file = open_regular(path)?;
    let held = file.metadata().map_err(|source| read_error(path, source))?;
    let out_of_range = || TailError::OutOfRange { path: path.to_owned(), offset, length };
    let end = offset.checked_add(length).ok_or_else(out_of_range)?;
    if end > held.len() {
        return Err(out_of_range());
    }
    let mut bytes = vec![0; wanted];
    let got = fill_at(&file, &mut bytes, offset).map_err(|source| read_error(path, source))?;
    if got < wanted { Err(out_of_range()) } else { Ok(bytes) }
}

pub(crate) fn read_error(path: &Path, source: io::Error) -> TailError {
    TailError::Read { path: path.to_owned(), source }
}

fn refuse_special(path: &Path, file_type: FileType) -> Result<(), TailError> {
    FileKind::of(file_type).map_or(Ok(()), |kind| Err(not_regular(path, kind)))
}

fn not_regular(path: &Path, kind: FileKind) -> TailError {
    TailError::NotRegular { path: path.to_owned(), kind }
}

fn open_error(path: &Path, source: io::Error) -> TailError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => TailError::Missing { path },
        _ => TailError::Open { path, source },
    }
}
