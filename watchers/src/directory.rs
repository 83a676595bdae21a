//! Looks at paths and folders. The only place that asks the disk.
//!
//! Invariant: nothing is opened but folders, no link is followed, and an error is never taken for
//! an absence: what can't be looked at may still be there.
//! Refuses: to remember anything.

use std::ffi::OsString;
use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use crate::folder::{FolderIdentity, Look, Stamp};

/// Looks at a path where a file may stand.
pub(crate) fn look(path: &Path) -> io::Result<Look> {
    Ok(match metadata(path)? {
        None => Look::Missing,
        Some(metadata) if metadata.is_file() => Look::File(stamp(&metadata)?),
        Some(_) => Look::Other,
    })
}

pub(crate) fn stamp(metadata: &Metadata) -> io::Result<Stamp> {
    Ok(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: metadata.modified()?,
    })
}

/// Looks at a path where a folder may stand: which one it is, and when its entries changed.
pub(crate) fn look_at_folder(path: &Path) -> io::Result<Option<(FolderIdentity, SystemTime)>> {
    let Some(metadata) = metadata(path)?.filter(Metadata::is_dir) else { return Ok(None) };
    let (device, inode) = (metadata.dev(), metadata.ino());
    let identity = FolderIdentity { device, inode, born: metadata.created().ok() };
    Ok(Some((identity, metadata.modified()?)))
}

/// All entries of a folder, or an error.
pub(crate) fn list(path: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        match entry.file_type() {
            Ok(kind) => found.push((entry.file_name(), kind)),
            Err(error) if is_absence(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What is at `path` itself; `None` if nothing is.
pub(crate) fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The name of the file system that holds `path`, if it is of a kind that does not report changes
/// made elsewhere: by another machine, or by the host of a virtual one.
#[cfg(target_os = "linux")]
pub fn silent_kind(path: &Path) -> Option<&'static str> {
    // The magic numbers of statfs(2); the field is signed on some targets, hence the mask.
    let magic = rustix::fs::statfs(path).ok()?.f_type as u64 & 0xffff_ffff;
    match magic {
        0x6969 => Some("NFS"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        0x517b | 0xff53_4d42 | 0xfe53_4d42 => Some("SMB"),
        0x5346_4846 => Some("WSL drvfs"),
        0x00c3_6400 => Some("Ceph"),
        0x5346_414f | 0x6b41_4653 => Some("AFS"),
        0x786f_4256 => Some("vboxsf"),
        0x0bd0_0bd0 => Some("Lustre"),
        _ => None,
    }
}

/// As on Linux, by the file system's name.
#[cfg(target_os = "macos")]
pub fn silent_kind(path: &Path) -> Option<&'static str> {
    const KINDS: [&str; 7] = ["nfs", "smbfs", "afpfs", "webdav", "macfuse", "osxfuse", "virtiofs"];
    let found = rustix::fs::statfs(path).ok()?.f_fstypename;
    let found = found.map(|byte| byte as u8);
    KINDS.into_iter().find(|kind| found.split(|byte| *byte == 0).next() == Some(kind.as_bytes()))
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn silent_kind(_: &Path) -> Option<&'static str> {
    None
}
