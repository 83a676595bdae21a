//! The two unit files: templates of the repository, filled in.
//!
//! Pure. Invariant: whatever a path or a variable holds, it stays one value of the file. Refuses:
//! values with control characters, which neither format can hold in every version.

/// The marker by which a file is known to be ours.
const OURS: &str = "Written by `endless install service`";

const SYSTEMD: &str = include_str!("../../systemd/endless.service");
const LAUNCHD: &str = include_str!("../../launchd/sh.endless.agent.plist");

/// What a unit file says beside the template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// The program, absolute.
    pub(super) program: String,
    /// Variables that a service manager does not hand on from the shell.
    pub(super) variables: Vec<(&'static str, String)>,
    /// The home folder.
    pub(super) home: String,
    /// The folder of logs.
    pub(super) logs: String,
}

/// Whether a unit file was written by us.
pub(super) fn is_ours(text: &str) -> bool {
    text.contains(OURS)
}

impl Unit {
    /// The file for systemd.
    pub(super) fn systemd(&self) -> String {
        let line = |(name, value): &(&str, String)| {
            format!("Environment={}\n", quoted(&format!("{name}={value}")))
        };
        let variables: String = self.variables.iter().map(line).collect();
        fill(SYSTEMD, &[("program", &quoted(&self.program)), ("environment\n", &variables)])
    }

    /// The file for launchd.
    pub(super) fn launchd(&self) -> String {
        let line = |(name, value): &(&str, String)| {
            format!("\t\t<key>{name}</key>\n\t\t<string>{}</string>\n", escaped(value))
        };
        let variables: String = self.variables.iter().map(line).collect();
        let values = [
            ("program", &*escaped(&self.program)),
            ("environment\n", &*variables),
            ("home", &*escaped(&self.home)),
            ("logs", &*escaped(&self.logs)),
        ];
        fill(LAUNCHD, &values)
    }
}

/// Puts values in place of `{{name}}`. A name with a newline takes its whole line.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        text.push_str(before);
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        let found = values.iter().find(|(key, _)| key.trim_end() == name);
        let (key, value) = found.copied().unwrap_or_default();
        text.push_str(value);
        rest = if key.ends_with('\n') { after.trim_start_matches('\n') } else { after };
    }
    text + rest
}

/// One word of a systemd unit: quotes and backslashes escaped, no specifiers.
fn quoted(value: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+=,:@~".contains(char);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

/// Text of an XML element.
fn escaped(value: &str) -> String {
    value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(program: &str, variables: &[(&'static str, &str)]) -> Unit {
        Unit {
            program: program.to_owned(),
            variables: variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
            home: "/home/é & <co>".to_owned(),
            logs: "/s/logs".to_owned(),
        }
    }

    #[test]
    fn values_stay_values() {
        let odd =
            [("ENDLESS_HOME", "/a b/100%/\"q\"\\{{home}}"), ("ENDLESS_ZONE", "Europe/Berlin")];
        let text = unit("/opt/my apps/endless", &odd).systemd();
        assert!(text.contains("\nExecStart=\"/opt/my apps/endless\" run\n"), "{text}");
        let variables = "\nEnvironment=\"ENDLESS_HOME=/a b/100%%/\\\"q\\\"\\\\{{home}}\"\n\
            Environment=ENDLESS_ZONE=Europe/Berlin\nRestart=on-failure\n";
        assert!(text.contains(variables), "{text}");
        assert!(is_ours(&text));

        let text = unit("/opt/a&b/endless", &odd).launchd();
        assert!(text.contains("<string>/opt/a&amp;b/endless</string>"), "{text}");
        assert!(text.contains("<string>/home/é &amp; &lt;co&gt;</string>"), "{text}");
        assert!(text.contains("<string>/a b/100%/\"q\"\\{{home}}</string>"), "{text}");
        assert!(is_ours(&text));
    }

    #[test]
    fn without_variables_no_line_is_left() {
        let text = unit("/usr/bin/endless", &[]).systemd();
        assert!(text.contains("ExecStart=/usr/bin/endless run\nRestart=on-failure\n"), "{text}");
        assert!(!text.contains("{{") && !text.contains("\nEnvironment"), "{text}");
        let text = unit("/usr/bin/endless", &[]).launchd();
        assert!(text.contains("\t<dict>\n\t</dict>\n"), "{text}");
    }
}
