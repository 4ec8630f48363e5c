//! The moment at which a prompt was written, with the time zone of its author.

use std::fmt;
use std::str::FromStr;

use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

/// A moment with its time zone, to which "tomorrow at 5 pm" is relative.
///
/// Parsed from RFC 3339 (`2026-04-20T10:30:00+02:00`), where the offset holds for all days, or RFC
/// 9557 (`2026-04-20T10:30:00+02:00[Europe/Berlin]`), which distinguishes summer and winter time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalTime(pub(super) Zoned);

/// The error for a text that is not a moment with an offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a moment with its offset such as 2026-04-20T10:30:00+02:00, found {found:?}: {why}"
)]
pub struct LocalTimeError {
    /// The text.
    pub found: String,
    /// What is wrong with it.
    pub why: String,
}

impl LocalTime {
    /// Returns the current time by this machine's clock and time zone (UTC if it has none).
    pub fn of_this_machine() -> Self {
        Self(Zoned::now())
    }
}

impl FromStr for LocalTime {
    type Err = LocalTimeError;

    fn from_str(text: &str) -> Result<Self, LocalTimeError> {
        let refused = |why: String| LocalTimeError { found: text.chars().take(60).collect(), why };
        if text.contains('[') {
            return text.parse().map(Self).map_err(|error: jiff::Error| refused(error.to_string()));
        }
        let timestamp: Timestamp =
            text.parse().map_err(|error: jiff::Error| refused(error.to_string()))?;
        let pieces = Pieces::parse(text).map_err(|error| refused(error.to_string()))?;
        let offset = pieces.to_numeric_offset().unwrap_or(Offset::UTC);
        Ok(Self(timestamp.to_zoned(TimeZone::fixed(offset))))
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_needs_its_offset() {
        let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
        assert_eq!(now.to_string(), "2026-04-20T10:30:00+02:00[+02:00]");
        assert_eq!(now.to_string().parse::<LocalTime>().unwrap(), now);
        for (text, word) in [("2026-04-20T10:30:00", "expected"), ("soon", "soon")] {
            let said = text.parse::<LocalTime>().unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
        assert_eq!("2026-04-20T10:30:00Z".parse::<LocalTime>().unwrap().0.offset(), Offset::UTC);
    }
}
