//! The ids that bottles show, as they are typed.

/// What an id asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The calls from `t<first>` to `t<last>`.
    Calls(usize, usize),
    /// The rewound stretch `r<n>`.
    Stretch(usize),
    /// The observation `#<n>` of claude-mem.
    Row(i64),
    /// The call with this id of the host.
    HostId(String),
}

/// Reads an id, with or without the square brackets that stand around it in a bottle.
pub(super) fn parse(id: &str) -> Result<Wanted, String> {
    let bare = id.strip_prefix('[').and_then(|id| id.strip_suffix(']')).unwrap_or(id);
    if let Some(number) = number(bare, 't') {
        return Ok(Wanted::Calls(number, number));
    }
    if let Some(number) = number(bare, 'r') {
        return Ok(Wanted::Stretch(number));
    }
    if let Some(number) = bare.strip_prefix('#').filter(|number| is_number(number)) {
        // What is too large for a number is larger than any id.
        return Ok(Wanted::Row(number.parse().unwrap_or(i64::MAX)));
    }
    if let Some((first, last)) = bare.split_once('-')
        && let Some(first) = number(first, 't')
        && let Some(last) = number(last, 't').or_else(|| last.parse().ok())
    {
        return ordered(first, last, id);
    }
    if is_host_id(bare) {
        return Ok(Wanted::HostId(bare.to_owned()));
    }
    Err(format!(
        "`{id}` is no id of a line: write t17, t18-t22, r1, '#102401', or the host's toolu_… id"
    ))
}

fn ordered(first: usize, last: usize, id: &str) -> Result<Wanted, String> {
    if first <= last {
        return Ok(Wanted::Calls(first, last));
    }
    Err(format!("`{id}` runs backwards; write t{last}-t{first}"))
}

fn number(id: &str, letter: char) -> Option<usize> {
    let digits = id.strip_prefix(letter)?;
    // What is too large for a number is larger than any id.
    is_number(digits).then(|| digits.parse().unwrap_or(usize::MAX))
}

fn is_number(digits: &str) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Hosts write a word, an underscore or dash, and a code.
fn is_host_id(id: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    id.len() > 4 && id.bytes().all(is_part) && id.contains(['_', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read() {
        for (id, expected) in [
            ("t17", Wanted::Calls(17, 17)),
            ("[t17]", Wanted::Calls(17, 17)),
            ("t18-t22", Wanted::Calls(18, 22)),
            ("[t18-t22]", Wanted::Calls(18, 22)),
            ("t18-22", Wanted::Calls(18, 22)),
            ("t99999999999999999999", Wanted::Calls(usize::MAX, usize::MAX)),
            ("r1", Wanted::Stretch(1)),
            ("#102401", Wanted::Row(102_401)),
            ("[#1]", Wanted::Row(1)),
            ("#99999999999999999999", Wanted::Row(i64::MAX)),
            ("toolu_01AbC", Wanted::HostId("toolu_01AbC".to_owned())),
        ] {
            assert_eq!(parse(id), Ok(expected), "{id}");
        }
        for id in
            ["", "t", "17", "t-1", "t1-", "t22-t18", "#", "#x", "#-1", "x", "a b_c", "../_x", "t1_"]
        {
            assert!(parse(id).is_err(), "{id}");
        }
    }
}
