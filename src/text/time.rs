//! Moments, and how they are read and written. Pure: no clock is read here.
//!
//! [`parse`] is called once for each line of a transcript, so the common form has a road of its
//! own. A time without a zone is taken as UTC. Any text and any moment give a result.

use std::sync::{Arc, LazyLock};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ZonedDateTime};

/// Milliseconds since the epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Moment(pub i64);

/// Reads an RFC 3339 time, or one without a zone, with `T` or a space.
pub fn parse(text: &str) -> Option<Moment> {
    common(text.as_bytes()).or_else(|| other(text))
}

/// `YYYY-MM-DDTHH:MM:SS`, a fraction of any length, and `Z` or nothing.
fn common(text: &[u8]) -> Option<Moment> {
    let (whole, rest) = text.split_at_checked(19)?;
    let separators = [whole[4], whole[7], whole[13], whole[16]];
    if separators != *b"--::" || !matches!(whole[10], b'T' | b' ') {
        return None;
    }
    let millisecond = fraction(rest.strip_suffix(b"Z").unwrap_or(rest))?;
    let day = days(number(&whole[..4])?, number(&whole[5..7])?, number(&whole[8..10])?)?;
    let hour = number(&whole[11..13]).filter(|hour| *hour < 24)?;
    let minute = number(&whole[14..16]).filter(|minute| *minute < 60)?;
    let second = number(&whole[17..]).filter(|second| *second < 60)?;
    let seconds = ((day * 24 + hour) * 60 + minute) * 60 + second;
    in_range(seconds * 1000 + millisecond)
}

fn in_range(millisecond: i64) -> Option<Moment> {
    (millisecond <= Timestamp::MAX.as_millisecond()).then_some(Moment(millisecond))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| number * 10 + i64::from(digit))
    })
}

/// The milliseconds of `.fff…`; what is finer is cut off.
fn fraction(text: &[u8]) -> Option<i64> {
    let Some((dot, digits)) = text.split_first() else {
        return Some(0);
    };
    if *dot != b'.' || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| digits.get(at).map_or(0, |byte| i64::from(byte - b'0'));
    Some(digit(0) * 100 + digit(1) * 10 + digit(2))
}

/// Days since the epoch, counted in years that begin in March.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let year = year - i64::from(month < 3);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(year * 365 + leap_days + day_of_year - 719_468)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Everything else that names its offset.
fn other(text: &str) -> Option<Moment> {
    let timestamp: Timestamp = text.trim().parse().ok()?;
    let millisecond = timestamp.as_nanosecond().div_euclid(1_000_000);
    i64::try_from(millisecond).ok().map(Moment)
}

/// The zone that times are shown in; found when a time is shown first, since a machine's own takes
/// longer to find than a hook may live.
#[derive(Clone, Debug)]
pub struct Zone {
    zone: Arc<LazyLock<TimeZone, Find>>,
}

type Find = Box<dyn FnOnce() -> TimeZone + Send>;

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.zone, &other.zone) || self.zone() == other.zone()
    }
}

impl Eq for Zone {}

impl Zone {
    pub fn new(zone: TimeZone) -> Self {
        Self::found_by(move || zone)
    }

    /// A zone that is looked for when it is needed.
    pub fn found_by(find: impl FnOnce() -> TimeZone + Send + 'static) -> Self {
        Self { zone: Arc::new(LazyLock::new(Box::new(find))) }
    }

    /// The zone itself.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    pub fn utc() -> Self {
        Self::new(TimeZone::UTC)
    }

    /// `10:32`
    pub fn minute(&self, moment: Moment) -> String {
        self.show(moment, "%H:%M")
    }

    /// `14:32:11`
    pub fn second(&self, moment: Moment) -> String {
        self.show(moment, "%H:%M:%S")
    }

    /// `2026-11-30`
    pub fn date(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d")
    }

    /// `2026-11-30 10:32 +01:00`
    pub fn stamp(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d %H:%M %:z")
    }

    /// `2026-11-30 14:02:11 +01:00`
    pub fn stamp_seconds(&self, moment: Moment) -> String {
        self.show(moment, "%Y-%m-%d %H:%M:%S %:z")
    }

    fn show(&self, moment: Moment, format: &str) -> String {
        self.local(moment).strftime(format).to_string()
    }

    /// A moment beyond what a calendar holds is shown as the last that it holds.
    fn local(&self, moment: Moment) -> ZonedDateTime {
        let (first, last) = (Timestamp::MIN, Timestamp::MAX);
        let millisecond = moment.0.clamp(first.as_millisecond(), last.as_millisecond());
        let timestamp = Timestamp::from_millisecond(millisecond).unwrap_or(last);
        timestamp.to_zoned_datetime(self.zone().clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse(text), expected.map(Moment), "{text:?}");
    }

    #[test]
    fn times_are_read() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2026-11-30T10:00:00.123Z", Some(1_796_032_800_123));
        check("2026-11-30T10:00:00", Some(1_796_032_800_000));
        check("2026-11-30 10:00:00.5", Some(1_796_032_800_500));
        check("2026-11-30T10:00:00.123456789Z", Some(1_796_032_800_123));
        check("2026-11-30T11:00:00+01:00", Some(1_796_032_800_000));
        check("2026-11-30t11:00:00.5+01:00", Some(1_796_032_800_500));
        check(" 2026-11-30T10:00:00Z ", Some(1_796_032_800_000));
        check("2024-02-29T00:00:00Z", Some(1_709_164_800_000));
        check("1969-12-31T23:59:59.9999Z", Some(-1));
        check("1969-12-31T22:59:59.9999-01:00", Some(-1));
    }

    #[test]
    fn anything_else_is_none() {
        for text in [
            "",
            "now",
            "2026-11-30",
            "2026-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-11-30T24:00:00",
            "2026-11-30T10:60:00Z",
            "2026-11-30T10:00:00.Z",
            "2026-11-30T10:00:00ZZ",
            "9999-12-31T23:59:59Z",
            "9999-12-31T23:00:00-05:00",
            "2026-11-30T10:00:00é",
            "éééééééééééééééééééé",
            "1796032800123",
            "20é6-11-30T10:00:00Z",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn moments_are_shown_in_their_zone() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        for (zone, text, expected) in [
            (
                Zone::utc(),
                "2026-11-30T09:32:11Z",
                "09:32 09:32:11 2026-11-30 2026-11-30 09:32 +00:00",
            ),
            (
                Zone::new(berlin.clone()),
                "2026-11-30T09:32:11Z",
                "10:32 10:32:11 2026-11-30 2026-11-30 10:32 +01:00",
            ),
            (
                Zone::new(berlin),
                "2026-06-30T23:32:11Z",
                "01:32 01:32:11 2026-07-01 2026-07-01 01:32 +02:00",
            ),
        ] {
            let at = parse(text).unwrap();
            let shown = [zone.minute(at), zone.second(at), zone.date(at), zone.stamp(at)];
            assert_eq!(shown.join(" "), expected);
        }
        let stamp = Zone::utc().stamp_seconds(Moment(1_796_032_800_123));
        assert_eq!(stamp, "2026-11-30 10:00:00 +00:00");
    }

    #[test]
    fn extreme_moments_are_shown() {
        let far = [TimeZone::fixed(jiff::tz::Offset::MIN), TimeZone::fixed(jiff::tz::Offset::MAX)];
        for zone in far.map(Zone::new).into_iter().chain([Zone::utc()]) {
            for moment in [i64::MIN, i64::MAX] {
                assert!(zone.stamp_seconds(Moment(moment)).contains("999"));
            }
        }
    }

    proptest! {
        #[test]
        fn the_short_road_agrees_with_the_long(year in 0i16..=9998, month in 0i8..14, day in 0i8..33,
            hour in 0i8..25, minute in 0i8..61, second in 0i8..60, tail in "(\\.[0-9]{1,9})?Z") {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{tail}");
            prop_assert_eq!(common(text.as_bytes()), other(&text), "{}", text);
        }

        #[test]
        fn any_text_gives_an_answer(text in any::<String>(), moment in any::<i64>()) {
            parse(&text);
            prop_assert!(!Zone::utc().stamp(Moment(moment)).is_empty());
        }
    }
}
