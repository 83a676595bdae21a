//! A path in a hook's payload: a hint at a transcript that the watcher has not told yet.
//!
//! Invariant: what is taken from it lies in a watched folder, as the watcher would name it, and is a
//! regular file with the session's own name. Refuses everything else, without opening it.
use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    engine::{event::FileSeen, hook::HookEvent},
    paths::SessionId,
    text::time::Moment,
};

/// The transcript at which a hook hints, as it is now.
pub(super) fn hinted(hook: &HookEvent, roots: &[PathBuf]) -> Option<FileSeen> {
    let id: SessionId = hook.session.parse().ok()?;
    let path = as_watched(Path::new(hook.path.as_deref()?), roots)?;
    if SessionId::of_file(&path).as_ref() != Some(&id) {
        return None;
    }
    let data = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let since = data.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    let modified = Moment(i64::try_from(since.as_millis()).ok()?);
    Some(FileSeen { id, path, length: data.len(), modified, unchanged: false })
}

/// `<root>/<project>/<id>.jsonl`, by the name that the root has here.
fn as_watched(path: &Path, roots: &[PathBuf]) -> Option<PathBuf> {
    if path.extension()? != "jsonl" {
        return None;
    }
    let (name, project) = (path.file_name()?, path.parent()?);
    let folder = project.parent()?;
    let is_root = |root: &&PathBuf| {
        root.as_path() == folder
            || fs::canonicalize(root).is_ok_and(|real| Some(real) == fs::canonicalize(folder).ok())
    };
    let root = roots.iter().find(is_root)?;
    let project = root.join(project.file_name()?);
    let is_folder = fs::symlink_metadata(&project).is_ok_and(|data| data.is_dir());
    is_folder.then(|| project.join(name))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_transcript_in_a_watched_folder_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (root, other) = (folder.join("root"), folder.join("other"));
        for project in [root.join("-p"), other.join("-p")] {
            fs::create_dir_all(&project).unwrap();
            fs::write(project.join("a.jsonl"), "x").unwrap();
        }
        symlink(&root, folder.join("link")).unwrap();
        symlink(other.join("-p/a.jsonl"), root.join("-p/l.jsonl")).unwrap();
        symlink(other.join("-p"), root.join("-l")).unwrap();
        fs::create_dir(root.join("-p/d.jsonl")).unwrap();
        let roots = [root.clone()];
        let hint = |session: &str, path: &str| {
            let path = Some(folder.join(path).display().to_string());
            let hook = HookEvent { session: session.to_owned(), path, ..HookEvent::default() };
            hinted(&hook, &roots).map(|seen| seen.path)
        };
        let path = root.join("-p/a.jsonl");
        assert_eq!(hint("a", "root/-p/a.jsonl"), Some(path.clone()));
        assert_eq!(hint("a", "link/-p/a.jsonl"), Some(path));
        for (session, path) in [
            ("b", "root/-p/a.jsonl"),
            ("../a", "root/-p/a.jsonl"),
            ("a", "other/-p/a.jsonl"),
            ("a", "root/a.jsonl"),
            ("a", "root/-p/x/a.jsonl"),
            ("a", "root/-l/a.jsonl"),
            ("l", "root/-p/l.jsonl"),
            ("d", "root/-p/d.jsonl"),
            ("a", "root/-q/a.jsonl"),
        ] {
            assert_eq!(hint(session, path), None, "{session} {path}");
        }
    }
}
