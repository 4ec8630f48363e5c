//! Days, times and periods in prose.
//!
//! An ambiguous day has several readings: "03/04/2026", "5 May" long before or after any 5 May,
//! "next Friday" on a Monday. A parameter for one day then needs a question.

mod clock;
mod days;
#[cfg(test)]
mod tests;

use std::ops::Range;

use jiff::Zoned;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};

pub(super) use days::Tense;

/// A day, a time or both, as far as the prompt gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PartialDateTime {
    /// The possible days; empty if the prompt gives only a time.
    pub days: Vec<Date>,
    /// The possible times of the day; empty if the prompt gives only a day.
    pub times: Vec<Time>,
    pub zone: Zone,
    /// Whether it is relative to now in hours or minutes, and thus not a day.
    pub is_instant: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Zone {
    /// The time zone of the prompt's author.
    #[default]
    Local,
    Fixed(Offset),
    /// A name that several time zones have, such as "IST".
    Ambiguous(String),
}

/// A period from one day to another, both included.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Period {
    pub readings: Vec<(Date, Date)>,
}

/// A day, a time or a period in a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TimeExpression {
    When(PartialDateTime),
    Period(Period),
    /// A day or time that cannot be resolved.
    Unclear,
}

/// Finds all days, times and periods of a text, in order. They do not overlap.
pub(super) fn scan(text: &str, now: &Zoned, tense: Tense) -> Vec<(Range<usize>, TimeExpression)> {
    let mut found = days::scan(text, now, tense);
    let clock = clock::scan(text, &found);
    found.extend(clock);
    found.sort_by_key(|(span, _)| (span.start, span.end));
    join(text, found)
}

/// Joins a day and the time beside it: "tomorrow at 15:00", "9:30 on 7 May".
fn join(
    text: &str,
    found: Vec<(Range<usize>, TimeExpression)>,
) -> Vec<(Range<usize>, TimeExpression)> {
    let mut joined: Vec<(Range<usize>, TimeExpression)> = Vec::new();
    for (span, said) in found {
        if let (Some((before, TimeExpression::When(first))), TimeExpression::When(second)) =
            (joined.last_mut(), &said)
            && is_joint(&text[before.end..span.start])
            && let Some(both) = first.with(second)
        {
            *first = both;
            before.end = span.end;
            continue;
        }
        joined.push((span, said));
    }
    // An hour without minutes or a half of the day is a time only beside a day; alone it is a
    // number.
    joined.retain(|(_, said)| !matches!(said, TimeExpression::When(when) if when.is_bare_hour()));
    joined
}

fn is_joint(gap: &str) -> bool {
    let gap = gap.trim_matches(|c: char| c.is_whitespace() || c == ',').to_lowercase();
    matches!(gap.as_str(), "" | "at" | "from" | "on" | "@")
}

impl PartialDateTime {
    /// Combines a day and a time; `None` if `self` and `other` are not one of each.
    fn with(&self, other: &Self) -> Option<Self> {
        let (day, time) = match (self.times.is_empty(), other.times.is_empty()) {
            (true, false) => (self, other),
            (false, true) => (other, self),
            _ => return None,
        };
        let fits = time.days.is_empty() && !day.days.is_empty();
        fits.then(|| Self { days: day.days.clone(), ..time.clone() })
    }

    /// Whether it is only an ambiguous hour, such as "at 5".
    fn is_bare_hour(&self) -> bool {
        self.days.is_empty() && self.times.len() != 1
    }

    /// Returns the possible moments in the format of RFC 3339; `None` if the clocks skip or repeat
    /// one of them. The zone must not be ambiguous.
    ///
    /// `form` is the form in which the parameter's description writes moments, if it names one.
    pub fn moments(&self, local: &TimeZone, form: Option<&str>) -> Option<Vec<String>> {
        let days = self.days.iter();
        let moments = days.flat_map(|day| self.times.iter().map(|time| day.to_datetime(*time)));
        moments.map(|moment| self.written(moment, local, form)).collect()
    }

    /// Formats a moment. Returns `None` for a time that the clocks skip or show twice on that day.
    fn written(
        &self,
        moment: jiff::civil::DateTime,
        local: &TimeZone,
        told: Option<&str>,
    ) -> Option<String> {
        let zone = match &self.zone {
            Zone::Fixed(offset) => TimeZone::fixed(*offset),
            _ => local.clone(),
        };
        let zoned = zone.into_ambiguous_zoned(moment).unambiguous().ok()?;
        let is_utc = zoned.offset() == Offset::UTC;
        let form = if is_utc { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
        Some(zoned.strftime(told.unwrap_or(form)).to_string())
    }
}
