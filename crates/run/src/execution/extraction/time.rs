//! Days, times and periods in prose.
//!
//! An ambiguous day has several readings: "03/04/2026", "5 May" far from any 5 May, "next Friday" on
//! a Monday. A parameter for one day then needs a question.

mod clock;
mod days;
#[cfg(test)]
mod tests;

use std::ops::Range;

use jiff::Zoned;
use jiff::civil::{Date, Time};
use jiff::tz::{Offset, TimeZone};

pub(super) use days::Tense;

/// A day, a time or both, as far as they are said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PartialDateTime {
    /// Days that can be meant; none where only a time is said.
    pub days: Vec<Date>,
    /// Times of the day that can be meant; none where only a day is said.
    pub times: Vec<Time>,
    pub zone: Zone,
    /// It is relative to now in hours or minutes, and so not a day.
    pub is_instant: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Zone {
    /// That of whoever wrote the prompt.
    Local,
    Fixed(Offset),
    /// One that is named in a way that means several, such as "IST".
    Unread(String),
}

/// From one day to another, both of them in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Period {
    pub readings: Vec<(Date, Date)>,
}

/// What a part of a prompt says of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TimeExpression {
    When(PartialDateTime),
    Period(Period),
    /// It is about time, and no value can be made of it.
    Unclear,
}

/// All that a text says of time, in its order; no two overlap.
pub(super) fn scan(text: &str, now: &Zoned, tense: Tense) -> Vec<(Range<usize>, TimeExpression)> {
    let mut found = days::scan(text, now, tense);
    let clock = clock::scan(text, &found);
    found.extend(clock);
    found.sort_by_key(|(span, _)| (span.start, span.end));
    join(text, found)
}

/// Brings a day and the time beside it together: "tomorrow at 15:00", "9:30 on 7 May".
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
    // An hour without anything else is a time only beside a day; alone it is a number.
    joined.retain(|(_, said)| !matches!(said, TimeExpression::When(when) if when.is_bare_hour()));
    joined
}

fn is_joint(gap: &str) -> bool {
    let gap = gap.trim_matches(|c: char| c.is_whitespace() || c == ',').to_lowercase();
    matches!(gap.as_str(), "" | "at" | "from" | "on" | "@")
}

impl PartialDateTime {
    fn day(days: Vec<Date>) -> Self {
        Self { days, times: Vec::new(), zone: Zone::Local, is_instant: false }
    }

    fn instant(moment: &Zoned) -> Self {
        Self {
            days: vec![moment.date()],
            times: vec![moment.time()],
            zone: Zone::Local,
            is_instant: true,
        }
    }

    /// Both together, where one is a day and the other a time.
    fn with(&self, other: &Self) -> Option<Self> {
        let (day, time) = match (self.times.is_empty(), other.times.is_empty()) {
            (true, false) => (self, other),
            (false, true) => (other, self),
            _ => return None,
        };
        let fits = time.days.is_empty() && !day.days.is_empty();
        fits.then(|| Self { days: day.days.clone(), ..time.clone() })
    }

    /// "at 5" and nothing else.
    fn is_bare_hour(&self) -> bool {
        self.days.is_empty() && self.times.len() != 1
    }

    /// The one moment that is meant, as RFC 3339 writes it, or what it may be.
    pub fn moment(&self, local: &TimeZone) -> Result<String, Vec<String>> {
        if let Zone::Unread(_) = self.zone {
            return Err(Vec::new());
        }
        let mut moments = Vec::new();
        for day in &self.days {
            for time in &self.times {
                moments.push(self.written(day.to_datetime(*time), local).ok_or_else(Vec::new)?);
            }
        }
        match <[String; 1]>::try_from(moments) {
            Ok([one]) => Ok(one),
            Err(moments) => Err(moments),
        }
    }

    /// Nothing for a time that the clocks skip or show twice that day.
    fn written(&self, moment: jiff::civil::DateTime, local: &TimeZone) -> Option<String> {
        let zone = match &self.zone {
            Zone::Fixed(offset) => TimeZone::fixed(*offset),
            _ => local.clone(),
        };
        let zoned = zone.into_ambiguous_zoned(moment).unambiguous().ok()?;
        let offset = zoned.offset();
        if offset == Offset::UTC {
            return Some(zoned.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        Some(zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }
}
