//! How watching works now, in numbers and words.
//!
//! Invariant: every folder counts once, as watched or as polled. Refuses: to call it degraded when
//! the caller asked for polling.

use crate::event::WatchMode;
use crate::folder::{Folder, Watch, Why};
use crate::native::Native;

const LIMIT: &str =
    "the system's limit of watches is reached (on Linux: fs.inotify.max_user_watches)";

/// The mode that the folders come to.
pub(crate) fn count<'a>(folders: impl Iterator<Item = &'a Folder>, native: &Native) -> WatchMode {
    let mut mode = WatchMode { native: native.is_running(), ..WatchMode::default() };
    let mut reasons = Vec::new();
    for folder in folders {
        match folder.watch {
            Watch::Native => mode.watched_folders += 1,
            Watch::Polled(why) => reasons.push(why),
            Watch::Off => {}
        }
        if folder.watch != Watch::Native {
            mode.polled_folders += 1;
            mode.polled_files += folder.files();
        }
        mode.unreadable_folders += usize::from(folder.unreadable);
        mode.ignored_files += folder.ignored();
    }
    mode.degraded = degraded(reasons, native.failure());
    mode
}

/// Why folders are polled that should be watched, in words.
fn degraded(mut reasons: Vec<Why>, failure: &str) -> Option<String> {
    reasons.sort_unstable();
    let words = reasons.chunk_by(PartialEq::eq).filter_map(|same| {
        let folders = match same.len() {
            1 => "1 folder is",
            many => &format!("{many} folders are"),
        };
        match same.first()? {
            Why::Asked => None,
            Why::Limit => Some(format!("{LIMIT}: {folders} polled")),
            Why::Silent(kind) => Some(format!("{kind} hides some changes: {folders} polled")),
            Why::Failed => Some(format!("watching failed ({failure}): {folders} polled")),
        }
    });
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reasons: &[Why], expect: Option<&str>) {
        assert_eq!(degraded(reasons.to_vec(), "no room").as_deref(), expect);
    }

    #[test]
    fn each_reason_is_said_once_with_its_folders() {
        check(&[], None);
        check(&[Why::Asked, Why::Asked], None);
        check(
            &[Why::Failed, Why::Silent("9p"), Why::Failed],
            Some(
                "9p hides some changes: 1 folder is polled; watching failed (no room): 2 folders are polled",
            ),
        );
    }
}
