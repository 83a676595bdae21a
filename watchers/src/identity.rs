//! Tells whether a path still shows the file that was read before.
//!
//! A path is only a name: the file under it may be replaced, and a freed inode is soon used again.
//! So a file is known by device, inode and a fingerprint of its first bytes. The fingerprint says
//! how many bytes it covers: a file shorter than the prefix keeps its identity while it grows.
//!
//! Invariant: appending never changes an identity. Refuses: to notice a change after the prefix
//! (the tailer's business), and to keep the bytes themselves (they may be private).

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// How many first bytes of a file count for its identity.
pub const PREFIX_LENGTH: u16 = 256;

/// A hash of some bytes, with their number. Stable over versions: it may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// How many bytes were hashed.
    pub length: u16,
    /// Their FNV-1a hash, 64 bits.
    pub hash: u64,
}

impl Fingerprint {
    /// The fingerprint of no bytes.
    pub const EMPTY: Self = Self { length: 0, hash: 0xcbf2_9ce4_8422_2325 };

    /// The fingerprint of the first bytes, at most `limit` of them.
    pub fn of_first(bytes: &[u8], limit: u16) -> Self {
        let mut fingerprint = Self::EMPTY;
        fingerprint.extend(bytes, limit);
        fingerprint
    }

    /// The fingerprint of the last bytes, at most `limit` of them.
    pub fn of_last(bytes: &[u8], limit: u16) -> Self {
        Self::of_first(&bytes[bytes.len().saturating_sub(limit.into())..], limit)
    }

    /// Counts in the bytes that follow, until `limit` bytes are covered.
    pub fn extend(&mut self, bytes: &[u8], limit: u16) {
        let room = limit.saturating_sub(self.length);
        for byte in bytes.iter().take(room.into()) {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            self.length += 1;
        }
    }

    /// Whether `bytes` begin with the bytes that this is the fingerprint of.
    pub fn begins(&self, bytes: &[u8]) -> bool {
        bytes
            .get(..self.length.into())
            .is_some_and(|first| Self::of_first(first, self.length) == *self)
    }
}

/// What one look at an open file shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHead {
    /// The device that holds the file.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its first bytes, at most [`PREFIX_LENGTH`].
    pub prefix: Vec<u8>,
}

impl FileHead {
    /// Looks at an open file; where the file stands for further reads is not moved.
    pub fn read(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let mut prefix = vec![0; PREFIX_LENGTH.into()];
        let got = fill_at(file, &mut prefix, 0)?;
        prefix.truncate(got);
        Ok(Self { device: metadata.dev(), inode: metadata.ino(), length: metadata.len(), prefix })
    }

    /// The identity by which this file is known from now on.
    pub fn identity(&self) -> FileIdentity {
        FileIdentity {
            device: self.device,
            inode: self.inode,
            prefix: Fingerprint::of_first(&self.prefix, PREFIX_LENGTH),
        }
    }
}

/// By what a file is known again; see the module header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileIdentity {
    /// The device that holds the file.
    pub device: u64,
    /// Its inode there.
    pub inode: u64,
    /// Its first bytes, as far as they were seen.
    pub prefix: Fingerprint,
}

/// Why a file is not the one that was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityChange {
    /// Another device or inode: the path names another file.
    OtherFile,
    /// The same inode with other, or fewer, first bytes: rewritten, or the inode was used again.
    OtherBytes,
}

impl FileIdentity {
    /// Reads the identity of an open file.
    pub fn read(file: &File) -> io::Result<Self> {
        FileHead::read(file).map(|head| head.identity())
    }

    /// How the file seen `now` differs from this one; `None` if it is the same, perhaps grown.
    pub fn change(&self, now: &FileHead) -> Option<IdentityChange> {
        if (self.device, self.inode) != (now.device, now.inode) {
            Some(IdentityChange::OtherFile)
        } else if !self.prefix.begins(&now.prefix) {
            Some(IdentityChange::OtherBytes)
        } else {
            None
        }
    }

    /// Counts in `bytes`, which stand at `position` of the file, so far as they carry the prefix on.
    pub(crate) fn extend(&mut self, position: u64, bytes: &[u8]) {
        let known = u64::from(self.prefix.length).checked_sub(position);
        let fresh = known.and_then(|known| bytes.get(usize::try_from(known).ok()?..));
        self.prefix.extend(fresh.unwrap_or_default(), PREFIX_LENGTH);
    }
}

/// Reads at `offset` until `buffer` is full or the file ends; returns how many bytes came.
pub(crate) fn fill_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(got) => filled += got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(inode: u64, bytes: &[u8]) -> FileHead {
        let prefix = bytes[..bytes.len().min(PREFIX_LENGTH.into())].to_vec();
        FileHead { device: 1, inode, length: bytes.len() as u64, prefix }
    }

    fn check(before: &FileHead, now: &FileHead, expect: Option<IdentityChange>) {
        assert_eq!(before.identity().change(now), expect);
    }

    #[test]
    fn a_growing_file_keeps_its_identity() {
        check(&head(7, b""), &head(7, b"abc"), None);
        check(&head(7, b"abc"), &head(7, b"abcdef"), None);
        check(&head(7, &[b'x'; 255]), &head(7, &[b'x'; 5000]), None);
        check(&head(7, &[b'x'; 256]), &head(7, &[b'x'; 5000]), None);
    }

    #[test]
    fn other_inode_or_other_first_bytes_are_another_file() {
        check(&head(7, b"abc"), &head(8, b"abc"), Some(IdentityChange::OtherFile));
        check(&head(7, b"abc"), &head(7, b"abX"), Some(IdentityChange::OtherBytes));
        check(&head(7, b"abc"), &head(7, b"ab"), Some(IdentityChange::OtherBytes));
        check(&head(7, b"abc"), &head(7, b""), Some(IdentityChange::OtherBytes));
    }

    #[test]
    fn extending_in_any_steps_gives_the_prefix_of_the_whole() {
        let bytes: Vec<u8> = (0..600u16).map(|n| n as u8).collect();
        for step in [1, 7, 255, 256, 257, 600] {
            let mut identity = head(7, b"").identity();
            for (index, chunk) in bytes.chunks(step).enumerate() {
                identity.extend((index * step) as u64, chunk);
            }
            assert_eq!(identity, head(7, &bytes).identity());
        }
    }

    #[test]
    fn extending_skips_what_the_prefix_already_covers() {
        let mut identity = head(7, b"abcdef").identity();
        identity.extend(3, b"de");
        assert_eq!(identity, head(7, b"abcdef").identity());
        identity.extend(3, b"defgh");
        assert_eq!(identity, head(7, b"abcdefgh").identity());
    }

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(Fingerprint::of_first(b"foobar", 6).hash, 0x8594_4171_f739_67e8);
        assert_eq!(Fingerprint::of_last(b"..foobar", 6), Fingerprint::of_first(b"foobar", 6));
    }
}
