//! Times and numbers, short.

/// `3 min`
pub(super) fn span(milliseconds: i64) -> String {
    let seconds = milliseconds.max(0) / 1_000;
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min"),
        3_600..36_000 => format!("{hours} h {} min", minutes % 60),
        36_000..172_800 => format!("{hours} h"),
        _ => format!("{} days", hours / 24),
    }
}

/// `3 min ago`
pub(super) fn ago(then: i64, now: i64) -> String {
    match now.saturating_sub(then) {
        ..1_000 => "just now".to_owned(),
        since => format!("{} ago", span(since)),
    }
}

/// `141k`
pub(super) fn thousands(number: u64) -> String {
    if number < 1_000 {
        number.to_string()
    } else {
        format!("{}k", number.saturating_add(500) / 1_000)
    }
}

/// `1 session`, `2 sessions`
pub(super) fn count(number: u64, name: &str) -> String {
    if number == 1 { format!("1 {name}") } else { format!("{number} {name}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit_or_two() {
        for (seconds, expected) in [
            (-5, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (11_520, "3 h 12 min"),
            (36_000, "10 h"),
            (172_799, "47 h"),
            (172_800, "2 days"),
        ] {
            assert_eq!(span(seconds * 1_000), expected);
        }
        assert_eq!(ago(5_000, 4_000), "just now");
        assert_eq!(ago(5_000, 7_000), "2 s ago");
        assert_eq!(thousands(999) + " " + &thousands(140_600), "999 141k");
    }
}
