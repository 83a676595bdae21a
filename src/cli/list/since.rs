//! Spans of time as they are typed: `20s`, `30m`, `12h`, `2d`, `3w`.

use std::time::Duration;

/// Reads a span of time.
pub(in crate::cli) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and s, m, h, d or w, like 20s, 30m, 12h, 2d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        'w' => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let digits = &text[..text.len() - 1];
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number).ok_or_else(wrong)?;
    Ok(Duration::from_secs(number.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_a_unit() {
        for (text, minutes) in [("30m", 30), ("12h", 720), ("2d", 2_880), ("3w", 30_240), ("0d", 0)]
        {
            assert_eq!(parse(text), Ok(Duration::from_secs(minutes * 60)), "{text}");
        }
        assert_eq!(parse("20s"), Ok(Duration::from_secs(20)));
        for text in
            ["", "2", "d", "s", "-2d", "+2d", "2 d", "2y", "2é", "1.5h", "99999999999999999999d"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("18446744073709551615w").is_ok());
    }
}
