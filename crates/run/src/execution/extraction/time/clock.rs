//! Times of the day, with the time zones that follow them.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Time;
use jiff::tz::Offset;
use regex::{Captures, Regex};

use super::super::text::{overlap, regex};
use super::{PartialDateTime, TimeExpression, Zone};

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)
        (?: \b(?P<at>at\s+)?(?P<hour>\d{1,2}) (?: :(?P<minute>\d{2})(?: :(?P<second>\d{2}))? )?
            (?: \s*(?P<half>[ap]\.?m\b\.?) )?
          | \b(?P<noon>noon)\b )
        (?: \s*(?P<utc>UTC|GMT|Z)\b
          | \s?(?P<offset>[+-]\d{2}:?\d{2})\b
          | \s*(?P<unread>(?-i:[ECMPAH][SDK]?T|CES?T|EES?T|WES?T|BST|IST|IDT|JST|MSK|SGT|AES?T|AEDT|[A-Z][a-z]+(?:\s[A-Z][a-z]+)?\ time))\b
        )?",
    )
});

/// Finds the times of a text outside the ranges in `taken`.
pub(super) fn scan(
    text: &str,
    taken: &[(Range<usize>, TimeExpression)],
) -> Vec<(Range<usize>, TimeExpression)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(groups) = CLOCK.captures_at(text, from) {
        let whole = groups.get(0).map(|whole| whole.range()).unwrap_or(from..from + 1);
        from = whole.end.max(from + 1);
        let start = groups.name("hour").map_or(whole.start, |hour| hour.start());
        let overlapped = taken.iter().find(|(span, _)| overlap(span, &(start..whole.end)));
        if let Some((span, _)) = overlapped {
            from = text.ceil_char_boundary(span.end.max(whole.start + 1));
            continue;
        }
        if let Some(when) = read(&groups).filter(|_| stands_alone(text, start..whole.end)) {
            found.push((start..whole.end, TimeExpression::When(when)));
        }
    }
    found
}

/// Whether a range is not a part of another number, name or list.
fn stands_alone(text: &str, span: Range<usize>) -> bool {
    let before = text[..span.start].chars().next_back();
    let mut after = text[span.end..].chars();
    let next = after.next();
    let is_glued = |c: char| c.is_alphanumeric() || "_-/:$€£#".contains(c);
    let goes_on = match next {
        Some('.' | ',') => after.next().is_some_and(|c| c.is_ascii_digit()),
        Some(':') => after.next().is_some_and(char::is_alphanumeric),
        Some(c) => c.is_alphanumeric() || "_-–/:%".contains(c),
        None => false,
    };
    !before.is_some_and(|c| is_glued(c) || c == '.' || c == ',') && !goes_on
}

fn read(groups: &Captures<'_>) -> Option<PartialDateTime> {
    let number = |name: &str| groups.name(name).and_then(|found| found.as_str().parse::<i8>().ok());
    let zone = zone(groups)?;
    if groups.name("noon").is_some() {
        let times = vec![Time::new(12, 0, 0, 0).ok()?];
        return Some(PartialDateTime { times, zone, ..PartialDateTime::default() });
    }
    let hour = number("hour")?;
    let (minute, second) = (number("minute"), number("second").unwrap_or(0));
    let half = groups.name("half").map(|half| half.as_str().to_lowercase());
    let hours: Vec<i8> = match half.as_deref().map(|half| half.starts_with('p')) {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(is_afternoon) => vec![hour % 12 + if is_afternoon { 12 } else { 0 }],
        None if minute.is_some() => vec![hour],
        // "at 5" may be in either half of the day.
        None if groups.name("at").is_some() && (1..=12).contains(&hour) => {
            vec![hour % 12, hour % 12 + 12]
        }
        None => return None,
    };
    let at = |hour| Time::new(hour, minute.unwrap_or(0), second, 0).ok();
    let times: Option<Vec<Time>> = hours.into_iter().map(at).collect();
    Some(PartialDateTime { times: times?, zone, ..PartialDateTime::default() })
}

fn zone(groups: &Captures<'_>) -> Option<Zone> {
    if groups.name("utc").is_some() {
        return Some(Zone::Fixed(Offset::UTC));
    }
    if let Some(unread) = groups.name("unread") {
        return Some(Zone::Ambiguous(unread.as_str().to_owned()));
    }
    let Some(offset) = groups.name("offset") else { return Some(Zone::Local) };
    read_offset(offset.as_str()).map(Zone::Fixed)
}

/// Parses `+02:00` or `+0200`.
pub(super) fn read_offset(text: &str) -> Option<Offset> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes): (i32, i32) =
        (digits.get(..2)?.parse().ok()?, digits.get(2..)?.parse().ok()?);
    let seconds = (hours * 60 + minutes) * 60;
    Offset::from_seconds(if text.starts_with('-') { -seconds } else { seconds }).ok()
}
