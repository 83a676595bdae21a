//! May the agent read this file? Only its own bottle, its copies, and those of a linked parent.
//!
//! The file must be named as a pointer names it, or with the links of the state folder resolved, and
//! must be a plain file there: a way through other links or `..` may lead elsewhere by the time
//! that the host reads. Refuses everything else by saying nothing: then the host asks the person.
use std::{fs, path::Path, time::Instant};

use super::{alone::Alone, ask, patience, payload::Payload};
use crate::{
    config::Config,
    engine::{hook::HookKind, request::Reply},
    paths::SessionId,
};

pub(super) fn is_allowed(
    config: &Config,
    payload: &Payload,
    file: &str,
    troubles: &mut Vec<String>,
) -> bool {
    let began = Instant::now();
    let Some(owner) = owner(config, Path::new(file)) else { return false };
    if owner == payload.session {
        return true;
    }
    let event = HookKind::Permission { parent: owner.to_string() };
    let patience = patience(&event);
    match ask(config, payload, &event, "", patience.service) {
        Ok(Reply::Allowed(allowed)) => return allowed,
        Ok(other) => troubles.push(format!("the service answered {other:?}")),
        Err(super::ClientError::Down) => {}
        Err(error) => troubles.push(error.to_string()),
    }
    let left = patience.whole.saturating_sub(began.elapsed());
    Alone::new(config, payload, event, String::new()).links_to(&owner, left)
}

/// The session whose bottle or copy the file is.
fn owner(config: &Config, file: &Path) -> Option<SessionId> {
    let name = file.file_name()?.to_str()?.strip_suffix(".md")?;
    let (id, copy) = match name.split_once('@') {
        Some((id, n)) => (id, Some(n.parse::<u32>().ok()?)),
        None => (name, None),
    };
    let id: SessionId = id.parse().ok()?;
    let bottles = &config.paths.bottles;
    let real = fs::canonicalize(bottles).ok()?;
    let expected = match copy {
        Some(n) => real.join(format!("{id}@{n}.md")),
        None => real.join(format!("{id}.md")),
    };
    let is_named = expected.file_name() == file.file_name()
        && file.parent().is_some_and(|folder| folder == bottles || folder == real);
    let is_plain = || fs::symlink_metadata(&expected).is_ok_and(|data| data.is_file());
    (is_named && is_plain()).then_some(id)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::config::{Environment, Overrides, Programs};

    fn config(home: &Path) -> Config {
        let environment = Environment {
            home: Some(home.to_owned()),
            endless_home: Some(home.join("state")),
            claude_config_dir: None,
            claude_mem_data_dir: None,
            folder: Some(home.to_owned()),
            runtime_dir: None,
            notify_socket: None,
            zone: crate::text::time::Zone::utc(),
            overrides: Overrides::default(),
            programs: Programs::default(),
        };
        Config::load(&environment).unwrap()
    }

    #[test]
    fn only_bottles_and_copies_have_an_owner() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        let config = config(home);
        let bottles = &config.paths.bottles;
        fs::create_dir_all(&config.paths.archive).unwrap();
        let secret = home.join("secret.md");
        for name in ["a.md", "a@2.md", "a@x.md", "a.txt", "archive/1-a.md", "../../secret.md"] {
            fs::write(bottles.join(name), "").unwrap();
        }
        symlink(&secret, bottles.join("l.md")).unwrap();
        symlink(&config.paths.home, home.join("link")).unwrap();
        let owner = |file: &Path| owner(&config, file).map(|id| id.to_string());
        for name in ["a.md", "a@2.md"] {
            assert_eq!(owner(&bottles.join(name)).as_deref(), Some("a"), "{name}");
        }
        for way in ["link/bottles/a.md", "state/../state/bottles/a.md"] {
            assert_eq!(owner(&home.join(way)), None, "{way}");
        }
        for name in [
            "../bottles/a.md",
            "archive/../a.md",
            "a@+2.md",
            "a@02.md",
            "a@x.md",
            "a.txt",
            "archive/1-a.md",
            "../../secret.md",
            "l.md",
            "missing.md",
            "",
            "a.md/../../../secret.md",
        ] {
            assert_eq!(owner(&bottles.join(name)), None, "{name}");
        }
        // The state folder itself may be a link.
        let mut linked = config.clone();
        linked.paths = crate::paths::Paths::new(home.join("link"));
        for folder in [home.join("link"), fs::canonicalize(&config.paths.home).unwrap()] {
            let file = folder.join("bottles/a.md");
            assert!(super::owner(&linked, &file).is_some(), "{}", file.display());
        }
        assert_eq!(owner(Path::new("a.md")), None);
        assert_eq!(owner(&secret), None);
    }
}
