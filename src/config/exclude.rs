//! Which folders are kept out: the patterns of `exclude`, and files named `.endless-ignore`.
//!
//! A pattern is matched against a folder and each folder above it, so that what lies inside an
//! excluded folder is excluded too. In a pattern `*` is any run of characters within one part of
//! the path, `?` is one character of it, and a part `**` is any number of parts.
//!
//! Invariant: matching is pure and takes time proportional to pattern times path. Refuses: paths
//! that are not absolute; nothing is known of where they lie.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// The file that keeps a project's sessions out.
const IGNORE: &str = ".endless-ignore";

/// What keeps sessions out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excluded {
    patterns: Vec<Vec<String>>,
}

impl Excluded {
    /// These patterns, all absolute. Hosts name folders without links, so a pattern stands for the
    /// real folder too.
    pub(super) fn new(patterns: &[PathBuf]) -> Self {
        let mut all: Vec<_> = patterns.iter().map(|pattern| parts(pattern)).collect();
        all.extend(patterns.iter().filter_map(|pattern| Some(parts(&real(pattern)?))));
        all.dedup();
        Self { patterns: all }
    }

    /// Whether sessions of this folder are kept out.
    pub fn is_excluded(&self, folder: &Path) -> bool {
        folder.is_absolute() && (self.matches(folder) || is_ignored(folder))
    }

    /// Whether a pattern fits the folder or one above it.
    fn matches(&self, folder: &Path) -> bool {
        let folder = parts(folder);
        let fits = |pattern: &Vec<String>| {
            (0..=folder.len()).any(|length| fits_parts(pattern, &folder[..length]))
        };
        self.patterns.iter().any(fits)
    }
}

/// Whether a file in the folder, or in one above it, keeps sessions out.
fn is_ignored(folder: &Path) -> bool {
    folder.ancestors().any(|folder| fs::symlink_metadata(folder.join(IGNORE)).is_ok())
}

/// The names of a path.
fn parts(path: &Path) -> Vec<String> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
        _ => None,
    });
    names.collect()
}

/// A pattern with the links resolved in front of its first wildcard, where that changes it.
fn real(pattern: &Path) -> Option<PathBuf> {
    let is_plain = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?']);
    let plain: PathBuf = pattern.components().take_while(is_plain).collect();
    let rest: PathBuf = pattern.components().skip_while(is_plain).collect();
    let real = fs::canonicalize(&plain).ok().filter(|real| *real != plain)?;
    Some(real.join(rest))
}

/// Whether a list of patterns fits a list of names, all of both.
fn fits_parts(pattern: &[String], names: &[String]) -> bool {
    let fits = |pattern: &String, name: &String| {
        let (pattern, name): (Vec<_>, Vec<_>) = (pattern.chars().collect(), name.chars().collect());
        fits(&pattern, &name, |part| *part == '*', |part, char| *part == '?' || part == char)
    };
    self::fits(pattern, names, |part| part == "**", fits)
}

/// Whether a pattern fits a text. Of several runs (`*`) only the last one need ever be made longer.
fn fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_run: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut reached, mut run) = (0, 0, None);
    while reached < text.len() {
        match pattern.get(at) {
            Some(part) if is_run(part) => {
                run = Some((at + 1, reached));
                at += 1;
            }
            Some(part) if is_one(part, &text[reached]) => {
                at += 1;
                reached += 1;
            }
            _ => {
                let Some((after, from)) = run else { return false };
                run = Some((after, from + 1));
                at = after;
                reached = from + 1;
            }
        }
    }
    pattern[at..].iter().all(is_run)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    fn matches(pattern: &str, folder: &str) -> bool {
        Excluded::new(&[pattern.into()]).matches(Path::new(folder))
    }

    #[test]
    fn a_pattern_fits_a_folder_and_what_lies_inside() {
        for (pattern, yes, no) in [
            (
                "/no/a",
                &["/no/a", "/no/a/b/c", "/no/a/"][..],
                &["/no", "/no/ab", "/no/b/a", "/"][..],
            ),
            ("/no/a/**", &["/no/a", "/no/a/b", "/no/a/b/c"], &["/no", "/no/ab"]),
            ("/no/*", &["/no/a", "/no/a/b"], &["/no", "/na/b"]),
            ("/no/*/x", &["/no/a/x", "/no/a/x/y"], &["/no/x", "/no/a/b/x"]),
            ("/no/**/x", &["/no/x", "/no/a/x", "/no/a/b/x/y"], &["/no/a", "/x"]),
            ("/**/secret*", &["/secret", "/a/b/secrets/c"], &["/a/my-secret"]),
            ("/no/a?c-*-z", &["/no/abc--z", "/no/aéc-1-2-z"], &["/no/ac-1-z", "/no/abc-1-z2"]),
            ("/**", &["/", "/a"], &[]),
            ("/", &["/", "/a/b"], &[]),
            ("/no/a**b", &["/no/ab", "/no/axyb"], &["/no/a/b"]),
            ("/no/[a]", &["/no/[a]"], &["/no/a"]),
        ] {
            for folder in yes {
                assert!(matches(pattern, folder), "{pattern} {folder}");
            }
            for folder in no {
                assert!(!matches(pattern, folder), "{pattern} {folder}");
            }
        }
        assert!(!Excluded::default().is_excluded(Path::new("/no/a")));
        assert!(!Excluded::new(&["/**".into()]).is_excluded(Path::new("a")));
        assert!(!Excluded::new(&["/**".into()]).is_excluded(Path::new("")));
    }

    #[test]
    fn many_runs_take_no_time() {
        assert!(!matches(&format!("/{}b", "*a".repeat(200)), &format!("/{}", "a".repeat(5_000))));
        let deep = "/a".repeat(500);
        assert!(!matches(&format!("{}/b", "/**/a".repeat(100)), &deep));
    }

    #[test]
    fn a_link_in_a_pattern_stands_for_the_real_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        let excluded = Excluded::new(&[root.join("link/x*/**")]);
        assert!(excluded.is_excluded(&root.join("link/x1")));
        assert!(excluded.is_excluded(&root.join("real/x1/y")));
        assert!(!excluded.is_excluded(&root.join("real/y")));
    }

    #[test]
    fn a_file_keeps_its_folder_out_and_all_inside() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a").join(IGNORE), "").unwrap();
        let excluded = Excluded::default();
        for (inside, expected) in
            [("a", true), ("a/b", true), ("a/gone/since", true), ("", false), ("ab", false)]
        {
            assert_eq!(excluded.is_excluded(&folder.path().join(inside)), expected, "{inside}");
        }
    }

    /// The plain definition, slow.
    fn plain(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            (['*', rest @ ..], _) => (0..=text.len()).any(|at| plain(rest, &text[at..])),
            (['?', rest @ ..], [_, text @ ..]) => plain(rest, text),
            ([one, rest @ ..], [char, text @ ..]) => one == char && plain(rest, text),
            ([], []) => true,
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_its_definition(pattern in "[ab*?]{0,7}", text in "[ab]{0,8}") {
            let (pattern, text): (Vec<_>, Vec<_>) =
                (pattern.chars().collect(), text.chars().collect());
            let quick =
                fits(&pattern, &text, |part| *part == '*', |part, char| *part == '?' || part == char);
            prop_assert_eq!(quick, plain(&pattern, &text));
        }
    }
}
