//! The configuration: what the file, the environment and the defaults give together.

use std::os::unix::fs::symlink;

use super::*;

fn environment(home: &Path) -> Environment {
    Environment {
        home: Some(home.to_owned()),
        endless_home: None,
        claude_config_dir: None,
        claude_mem_data_dir: None,
        folder: Some(home.join("work")),
        runtime_dir: None,
        notify_socket: None,
        zone: Zone::utc(),
        overrides: Overrides::default(),
        programs: Programs::default(),
    }
}

fn configured(text: &str) -> Result<Config, String> {
    with(text, Overrides::default())
}

fn with(text: &str, overrides: Overrides) -> Result<Config, String> {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".endless")).unwrap();
    fs::write(home.path().join(".endless/config.toml"), text).unwrap();
    let shown =
        |error: ConfigError| error.to_string().replace(&*home.path().to_string_lossy(), "~");
    Config::load(&Environment { overrides, ..environment(home.path()) }).map_err(shown)
}

#[test]
fn without_a_file_the_defaults_hold() {
    let home = tempfile::tempdir().unwrap();
    let config = Config::load(&environment(home.path())).unwrap();
    assert_eq!(config.paths.home, home.path().join(".endless"));
    assert_eq!(config.roots, Vec::<PathBuf>::new());
    let candidates = [home.path().join(".claude"), home.path().join(".config/claude")];
    assert_eq!(config.candidates, candidates);
}

#[test]
fn roots_are_resolved_and_there_once() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().canonicalize().unwrap().join("real");
    fs::create_dir_all(real.join("projects")).unwrap();
    fs::create_dir_all(home.path().join(".config")).unwrap();
    symlink(&real, home.path().join(".claude")).unwrap();
    symlink(&real, home.path().join(".config/claude")).unwrap();
    let mut environment = environment(home.path());
    assert_eq!(Config::load(&environment).unwrap().roots, [real]);
    environment.claude_config_dir = Some("../elsewhere".into());
    let config = Config::load(&environment).unwrap();
    assert_eq!(config.candidates, [home.path().join("work/../elsewhere")]);
    assert_eq!(config.roots, Vec::<PathBuf>::new());
}

#[test]
fn no_home_is_said_plainly() {
    let mut environment = environment(Path::new("/h"));
    environment.home = None;
    assert!(matches!(Config::load(&environment), Err(ConfigError::NoHome)));
    environment.endless_home = Some("state".into());
    assert!(matches!(Config::load(&environment), Err(ConfigError::NoHome)));
    environment.claude_config_dir = Some("/c".into());
    let config = Config::load(&environment).unwrap();
    assert_eq!(config.paths.home, Path::new("/h/work/state"));
}

#[test]
fn the_file_replaces_the_defaults() {
    let config = configured("roots = ['/r', '~/s']\nzone = 'Etc/GMT-2'\n").unwrap();
    assert_eq!(config.candidates[0], Path::new("/r"));
    assert!(config.candidates[1].ends_with("s"));
    assert!(config.zone.stamp(crate::text::time::Moment(0)).ends_with("+02:00"));
}

#[test]
fn errors_name_the_line_and_what_was_meant() {
    for (text, expected) in [
        ("\nroot = []\n", "line 2: unknown key `root`; did you mean `roots`?"),
        ("\"Zone\" = ''", "line 1: unknown key `Zone`; did you mean `zone`?"),
        ("page = 1", "line 1: unknown key `page`; the keys are `enabled`, `roots`, `exclude`,"),
        ("roots = ['a']", "line 1: `a` must begin with `/` or `~/`"),
        ("zone = 'Mars'", "no time zone is named `Mars`; write one like `Europe/Berlin`"),
        ("roots = 1", "invalid type: integer `1`"),
        ("\n\n[", "line 3: "),
    ] {
        let error = configured(text).unwrap_err();
        assert!(error.starts_with("~/.endless/config.toml, line "), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn numbers_and_words_have_a_range() {
    for (text, expected) in [
        ("\nmemory_mb = 15", "line 2: `memory_mb` is 15, and may be 16 to 65536"),
        ("memory_mb = 99999999999", "`memory_mb` is 99999999999, and may be 16 to 65536"),
        ("idle_minutes = -1", "line 1: `idle_minutes` is -1, and may be 1 to 10080"),
        ("hot_minutes = 0", "`hot_minutes` is 0, and may be 1 to 1440"),
        ("keep_days = 0", "`keep_days` is 0, and may be 1 to 36500"),
        ("archive_after_days = 36501", "may be 1 to 36500"),
        ("keep_days = 1.5", "invalid type: floating point `1.5`"),
        ("enabled = 'no'", "invalid type: string \"no\", expected a boolean"),
        ("\n\nresume = 'sometimes'", "line 3: unknown variant `sometimes`, expected one of `auto`"),
        ("observations = 'mem'", "expected one of `auto`, `derived`, `claude-mem`"),
        ("exclude = ['a']", "line 1: `a` must begin with `/` or `~/`, or with `**/`"),
        ("exclude = ['/a',\n '']", "line 2: `` must begin with"),
        ("exclude = '/a'", "invalid type: string \"/a\", expected a list, like ["),
    ] {
        let error = configured(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn every_value_says_where_it_comes_from() {
    let config = configured("\nkeep_days = 7\nexclude = [\n '/a',\n]\nenabled = false").unwrap();
    for (key, origin) in [
        ("keep_days", "config.toml:2"),
        ("exclude", "config.toml:3"),
        ("enabled", "config.toml:6"),
        ("zone", "default"),
        ("roots", "default"),
    ] {
        assert_eq!(config.origin(key).to_string(), origin, "{key}");
    }
    assert_eq!((config.keep_days, config.enabled), (Some(7), false));
    let keys: Vec<_> = config.effective().iter().map(|effective| effective.key).collect();
    assert_eq!(keys, settings::KEYS);
    assert!(config.is_excluded(Path::new("/a/b")));
}

#[test]
fn variables_outweigh_the_file() {
    let text = "roots = ['/r']\nzone = 'Etc/GMT-2'\nmemory_mb = 99\n";
    let overrides = Overrides {
        disable: Some("1".into()),
        claude_mem: None,
        roots: Some("/x::rel:~/y".into()),
        zone: Some("UTC".into()),
        memory_mb: Some("64".into()),
    };
    let config = with(text, overrides).unwrap();
    assert_eq!((config.enabled, config.memory_mb, config.candidates.len()), (false, 64, 3));
    assert_eq!(config.candidates[0], Path::new("/x"));
    assert!(config.candidates[1].ends_with("work/rel") && config.candidates[2].ends_with("y"));
    for (key, origin) in [
        ("enabled", "environment ENDLESS_DISABLE"),
        ("roots", "environment ENDLESS_ROOTS"),
        ("zone", "environment ENDLESS_ZONE"),
        ("memory_mb", "environment ENDLESS_MEMORY_MB"),
    ] {
        assert_eq!(config.origin(key).to_string(), origin, "{key}");
    }
    let disable = |value: &str| Overrides { disable: Some(value.into()), ..Overrides::default() };
    assert!(with("", disable("0")).unwrap().enabled);
    assert!(!with("enabled = false", disable("0")).unwrap().enabled);
    let claude_mem =
        |value: &str| Overrides { claude_mem: Some(value.into()), ..Overrides::default() };
    let off = with("enabled = true", claude_mem("false")).unwrap();
    assert!(!off.enabled);
    assert_eq!(off.origin("enabled").to_string(), "environment CLAUDE_MEM_ENDLESS_MODE_ENABLED");
    for other in ["true", "0", "False", "off", "x"] {
        assert!(with("", claude_mem(other)).unwrap().enabled, "{other}");
    }
    let memory = Overrides { memory_mb: Some("lots".into()), ..Overrides::default() };
    let zone = Overrides { zone: Some("Mars".into()), ..Overrides::default() };
    for (overrides, expected) in [
        (memory, "the variable ENDLESS_MEMORY_MB: it is `lots`, and may be 16 to 65536"),
        (zone, "the variable ENDLESS_ZONE: no time zone is named `Mars`"),
        (disable("maybe"), "the variable ENDLESS_DISABLE: it is `maybe`; write 1 or 0"),
    ] {
        let error = with("", overrides).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn the_example_says_the_defaults() {
    let mut keys: Vec<&str> = EXAMPLE
        .lines()
        .filter_map(|line| line.strip_prefix('#').filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_once(" = ").map(|(key, _)| key))
        .collect();
    let mut all = settings::KEYS.to_vec();
    keys.sort_unstable();
    all.sort_unstable();
    assert_eq!(keys, all);
    let text: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let home = tempfile::tempdir().unwrap();
    let environment = environment(home.path());
    let default = Config::load(&environment).unwrap();
    fs::create_dir(home.path().join(".endless")).unwrap();
    fs::write(home.path().join(".endless/config.toml"), EXAMPLE).unwrap();
    assert_eq!(Config::load(&environment).unwrap().effective(), default.effective());
    fs::write(home.path().join(".endless/config.toml"), text).unwrap();
    let all = Config::load(&environment).unwrap();
    for (all, default) in all.effective().iter().zip(default.effective()) {
        assert!(matches!(all.origin, Origin::File { .. }), "{}", all.key);
        // These have no default that could be written down.
        if !matches!(all.key, "zone" | "keep_days") {
            assert_eq!(all.value, default.value, "{}", all.key);
        }
    }
}
