//! Times of the day, with the time zones that follow them.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Time;
use jiff::tz::Offset;
use regex::{Captures, Regex};

use super::super::decimal::count;
use super::super::text::{is_listed, overlap, regex};
use super::{PartialDateTime, TimeExpression, Zone};

static CLOCK: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)
        (?: \b(?P<at>at\s+)?(?P<hour>\d{1,2}) (?: :(?P<minute>\d{2})(?: :(?P<second>\d{2}))? )?
            (?: \s*(?P<half>[ap]\.?m\b\.?|in\ the\ (?:morning|afternoon|evening)\b) )?
          | \b(?P<noon>noon)\b )
        (?: \s*(?P<utc>UTC|GMT|Z)\b
          | \s?(?P<offset>[+-]\d{2}:?\d{2})\b
          | \s*(?P<unread>(?-i:[ECMPAH][SDK]?T|CES?T|EES?T|WES?T|BST|IST|IDT|JST|MSK|SGT|AES?T|AEDT|[A-Z][a-z]+(?:\s[A-Z][a-z]+)?\ time))\b
        )?",
    )
});

/// Times in words: "half past nine", "quarter to 7 in the evening", "six o'clock".
static SPOKEN: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?ix)
        \b(?: (?P<part>half|(?:a\ )?quarter|five|ten|twenty(?:[\ -]five)?) \s+ (?:minutes\s+)? (?P<side>past|to) \s+ )?
        (?P<hour>one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})
        (?P<full>\s+o['’]clock)?
        (?: \s* (?P<half>[ap]\.?m|in\ the\ (?:morning|afternoon|evening)) )?
        \b",
    )
});

/// Finds the times in words.
fn spoken(
    text: &str,
    taken: &[(Range<usize>, TimeExpression)],
) -> Vec<(Range<usize>, TimeExpression)> {
    let read = |groups: Captures<'_>| {
        let whole = groups.get(0)?.range();
        let has = |name: &str| groups.name(name).is_some();
        let mut before = text[..whole.start].split_whitespace().rev().map(str::to_lowercase);
        let lead = before.next().unwrap_or_default();
        // "Twenty two in the morning" and "from ten to eleven" are other times.
        let is_part = is_listed(&lead, "between from thirty forty fifty twenty") && has("side")
            || is_listed(&lead, "thirty forty fifty twenty");
        let is_led = is_listed(&lead, "after around at before by from till to until");
        let in_words = !groups["hour"].starts_with(|c: char| c.is_ascii_digit());
        let is_time = has("part") || has("full") || has("half") && in_words && is_led;
        let is_free = !is_part
            && !taken.iter().any(|(span, _)| overlap(span, &whole))
            && stands_alone(text, whole.clone());
        let hour = count(&groups["hour"]).and_then(|hour| i8::try_from(hour).ok())?;
        let minutes = match groups.name("part").map(|part| part.as_str().to_lowercase()).as_deref()
        {
            None => 0,
            Some("half") => 30,
            Some("five") => 5,
            Some("ten") => 10,
            Some("twenty") => 20,
            Some(part) if part.starts_with("twenty") => 25,
            Some(_) => 15,
        };
        let is_before =
            groups.name("side").is_some_and(|side| side.as_str().eq_ignore_ascii_case("to"));
        // "Quarter to twelve" is in the hour before.
        let hour = if is_before { if hour == 1 { 12 } else { hour - 1 } } else { hour };
        let hours = hours(hour, groups.name("half").map(|half| half.as_str()))?;
        let minutes = if is_before { 60 - minutes } else { minutes };
        let at = |hour: i8| Time::new(hour, minutes, 0, 0).ok();
        let times: Vec<Time> = hours.into_iter().map(at).collect::<Option<_>>()?;
        let when = PartialDateTime { times, ..PartialDateTime::default() };
        (is_time && is_free).then_some((whole, TimeExpression::When(when)))
    };
    SPOKEN.captures_iter(text).filter_map(read).collect()
}

/// The hours of the day that an hour may be, in the half of the day if that is said; `None` if there is no such hour.
fn hours(hour: i8, half: Option<&str>) -> Option<Vec<i8>> {
    let half = half.map(str::to_lowercase);
    match half.as_deref() {
        // "14:00 in the afternoon" is of the whole day already.
        Some(half) if half.starts_with("in ") && (13..24).contains(&hour) => Some(vec![hour]),
        _ if !(1..=12).contains(&hour) => None,
        Some(half) => {
            let has = |end: &str| half.ends_with(end);
            let is_late = half.starts_with('p') || has("noon") || has("evening");
            // "Twelve in the evening" and "eleven in the afternoon" may be any time.
            let is_clear = !(has("evening") && matches!(hour, 12 | 1..=3)
                || has("noon") && matches!(hour, 7..=11));
            is_clear.then(|| vec![hour % 12 + if is_late { 12 } else { 0 }])
        }
        None => Some(vec![hour % 12, hour % 12 + 12]),
    }
}

/// Finds the times of a text outside the ranges in `taken`.
pub(super) fn scan(
    text: &str,
    taken: &[(Range<usize>, TimeExpression)],
) -> Vec<(Range<usize>, TimeExpression)> {
    let mut found = spoken(text, taken);
    let in_words = found.len();
    let mut from = 0;
    while let Some(groups) = CLOCK.captures_at(text, from) {
        let whole = groups.get(0).map(|whole| whole.range()).unwrap_or(from..from + 1);
        from = whole.end.max(from + 1);
        let start = groups.name("hour").map_or(whole.start, |hour| hour.start());
        let overlapped = taken
            .iter()
            .chain(&found[..in_words])
            .find(|(span, _)| overlap(span, &(start..whole.end)));
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
    let half = groups.name("half").map(|half| half.as_str());
    let hours = match (half, minute) {
        (None, Some(_)) => vec![hour],
        // "At 5" may be in either half of the day.
        _ if half.is_some() || groups.name("at").is_some() => hours(hour, half)?,
        _ => return None,
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
