//! Commands that Claude Code keeps to itself: the model never sees them, and without arguments
//! they carry none of the person's words.

/// Whether a command (with or without its slash) is one that only the host handles.
pub(super) fn is_host_only(name: &str) -> bool {
    HOST_ONLY.binary_search(&name.trim_start_matches('/')).is_ok()
}

/// Sorted, for the search.
const HOST_ONLY: &[&str] = &[
    "add-dir",
    "agents",
    "allowed-tools",
    "bashes",
    "branch",
    "btw",
    "bug",
    "checkpoint",
    "chrome",
    "clear",
    "color",
    "compact",
    "config",
    "context",
    "continue",
    "copy",
    "cost",
    "desktop",
    "diff",
    "doctor",
    "effort",
    "exit",
    "export",
    "extra-usage",
    "fast",
    "feedback",
    "fork",
    "help",
    "hooks",
    "ide",
    "install-github-app",
    "install-slack-app",
    "keybindings",
    "login",
    "logout",
    "mcp",
    "memory",
    "mobile",
    "model",
    "new",
    "output-style",
    "passes",
    "permissions",
    "plugin",
    "plugins",
    "privacy-settings",
    "quit",
    "rate-limit-options",
    "release-notes",
    "reload-plugins",
    "remote-control",
    "remote-env",
    "rename",
    "reset",
    "resume",
    "rewind",
    "sandbox",
    "settings",
    "skills",
    "stats",
    "status",
    "statusline",
    "stickers",
    "tasks",
    "teleport",
    "terminal-setup",
    "theme",
    "think-back",
    "todos",
    "undo",
    "upgrade",
    "usage",
    "vim",
    "voice",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(HOST_ONLY.is_sorted());
        assert!(is_host_only("/compact") && is_host_only("clear") && !is_host_only("/review"));
    }
}
