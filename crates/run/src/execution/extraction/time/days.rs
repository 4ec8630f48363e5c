//! Days and periods: written out, in numbers, and relative to now.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use jiff::{Span, Zoned};
use regex::{Captures, Regex};

use super::super::decimal::count;
use super::super::text::{is_listed, overlap, regex};
use super::clock::read_offset;
use super::{PartialDateTime, Period, TimeExpression, Zone};

/// Whether a tool is about the future or the past, which determines the year of a day without one,
/// and the week of a weekday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tense {
    Future,
    Past,
    Unknown,
}

/// The limit in days beyond which a day without a year is ambiguous, because it may be in the past
/// or in the future.
const NEAR_DAYS: i32 = 120;

const MONTHS: &str = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const WEEKDAYS: &str = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day";

type Read = fn(&Captures<'_>, &Reader<'_>) -> Option<TimeExpression>;

/// The patterns in the order in which they are applied. Later patterns skip what an earlier one
/// matched.
static FORMS: LazyLock<Vec<(Regex, Read)>> = LazyLock::new(|| {
    let day = |name: &str| format!(r"(?P<{name}>\d{{1,2}})(?:st|nd|rd|th)?");
    let month = format!(r"(?P<month>{MONTHS})\b\.?");
    let year = r"(?:,?\s+(?P<year>\d{4})\b)?";
    let to = r"\s*(?:-|–|—|\bto\b|\buntil\b|\bthrough\b|\band\b)\s*";
    let (d, from, until) = (day("day"), day("first"), day("last"));
    let number = r"(?P<number>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)";
    let unit = r"(?P<unit>minute|hour|day|week|month|year)s?\b";
    let part = format!(
        r"\b(?:end|start|beginning|middle)\s+of\s+(?:the\s+)?(?:(?:next|last|this)\s+)?(?:week|month|quarter|year|{MONTHS})\b(?:\s+\d{{4}})?"
    );
    let nth = format!(
        r"\b(?:first|second|third|fourth|last)\s+{WEEKDAYS}\s+(?:of|in)\s+(?:next\s+month|this\s+month|{MONTHS})\b(?:\s+\d{{4}})?"
    );
    let forms: [(String, Read); 16] = [
        (part, unclear),
        (nth, unclear),
        (
            r"\b(?P<day>\d{4}-\d{2}-\d{2})[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(?P<offset>Z|[+-]\d{2}:?\d{2})?\b"
                .to_owned(),
            written_moment,
        ),
        (r"\b(?P<y>\d{4})[-/](?P<m>\d{2})[-/](?P<d>\d{2})\b".to_owned(), written_day),
        (r"\b(?P<a>\d{1,2})(?P<by>[./-])(?P<b>\d{1,2})[./-](?P<y>\d{4}|\d{2})\b".to_owned(), numeric_day),
        (format!(r"\b{from}{to}(?:the\s+)?{until}\s+(?:of\s+)?{month}{year}"), days_of_month),
        (format!(r"\b{month}\s+{from}{to}{until}\b{year}"), days_of_month),
        (format!(r"\b{d}\s+(?:of\s+)?{month}{year}"), day_of_month),
        (format!(r"\b{month}\s+{d}\b{year}"), day_of_month),
        (format!(r"\b{month}\s+(?P<year>\d{{4}})\b"), whole_month),
        (r"\b(?:the\s+)?day\s+(?P<which>after\s+tomorrow|before\s+yesterday)\b".to_owned(), near_day),
        (r"\b(?P<which>today|tonight|tomorrow|yesterday)\b".to_owned(), near_day),
        (format!(r"\bin\s+{number}\s+{unit}"), distance),
        (format!(r"\b{number}\s+{unit}\s+(?P<direction>ago|from\s+(?:now|today))\b"), distance),
        (format!(r"\b(?:(?P<which>next|last|this|coming)\s+)?(?P<weekday>{WEEKDAYS})\b"), weekday),
        (r"\b(?P<which>next|last|this)\s+(?P<unit>week|month|year)\b".to_owned(), whole_unit),
    ];
    forms.map(|(form, read)| (regex(&format!("(?i){form}")), read)).into()
});

/// Matches a month without a day, as in "in May". It is not a day, but must not be taken for a
/// place or a number either.
static MONTH_ALONE: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r"(?i)\b(?:in|of|this|next|last|since|until)\s+(?P<month>{MONTHS})\b"))
});

/// Matches a distance before a day, as in "two days after".
static DISTANT: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"(?i)\b(?:minutes?|hours?|days?|weeks?|months?|years?)\s+(?:after|before)\s*$")
});

/// Returns the end of a text, which is enough for a pattern that is anchored there.
fn ending(text: &str) -> &str {
    const BYTES: usize = 40;
    &text[text.ceil_char_boundary(text.len().saturating_sub(BYTES))..]
}

fn unclear(_: &Captures<'_>, _: &Reader<'_>) -> Option<TimeExpression> {
    Some(TimeExpression::Unclear)
}

struct Reader<'a> {
    now: &'a Zoned,
    tense: Tense,
    text: &'a str,
}

pub(super) fn scan(text: &str, now: &Zoned, tense: Tense) -> Vec<(Range<usize>, TimeExpression)> {
    let reader = Reader { now, tense, text };
    let mut found: Vec<(Range<usize>, TimeExpression)> = Vec::new();
    for (form, read) in FORMS.iter() {
        for groups in form.captures_iter(text) {
            let Some(whole) = groups.get(0) else { continue };
            let is_taken = found.iter().any(|(span, _)| overlap(span, &whole.range()));
            if is_taken || !stands_alone(text, whole.range()) {
                continue;
            }
            if DISTANT.is_match(ending(&text[..whole.start()])) {
                found.push((whole.range(), TimeExpression::Unclear));
            } else if let Some(said) = read(&groups, &reader) {
                found.push((whole.range(), said));
            }
        }
    }
    for groups in MONTH_ALONE.captures_iter(text) {
        let Some(month) = groups.name("month") else { continue };
        if !found.iter().any(|(span, _)| overlap(span, &month.range())) {
            found.push((month.range(), TimeExpression::Unclear));
        }
    }
    found.sort_by_key(|(span, _)| span.start);
    share_year(text, &mut found);
    found
}

/// Whether a range is not a part of a path, a number or a longer name.
fn stands_alone(text: &str, span: Range<usize>) -> bool {
    let before = text[..span.start].chars().next_back();
    let mut after = text[span.end..].chars();
    let (next, second) = (after.next(), after.next());
    let goes_on = match next {
        Some('.') => second.is_some_and(char::is_alphanumeric),
        // "tomorrow's meeting" is not tomorrow.
        Some('\'' | '’') => second == Some('s'),
        Some(c) => c.is_alphanumeric() || "_/-".contains(c),
        None => false,
    };
    !before.is_some_and(|c| c.is_alphanumeric() || "_/-.$€£#".contains(c)) && !goes_on
}

/// Applies the year of the second day to the first, as in "from 3 May to 9 May 2026".
fn share_year(text: &str, found: &mut [(Range<usize>, TimeExpression)]) {
    for at in 1..found.len() {
        let (before, after) = found.split_at_mut(at);
        let (Some((first_span, TimeExpression::When(first))), (span, TimeExpression::When(second))) =
            (before.last_mut(), &after[0])
        else {
            continue;
        };
        let gap = text[first_span.end..span.start].trim().to_lowercase();
        let linked = matches!(gap.as_str(), "to" | "until" | "through" | "and" | "-" | "–");
        let has_year = |span: &Range<usize>| {
            text[span.clone()].as_bytes().windows(4).any(|four| four.iter().all(u8::is_ascii_digit))
        };
        if linked
            && has_year(span)
            && !has_year(first_span)
            && let ([last], Some(one)) = (&second.days[..], first.days.first().copied())
            && let Ok(day) = Date::new(last.year(), one.month(), one.day())
            && text[first_span.clone()].bytes().any(|byte| byte.is_ascii_digit())
            && day <= *last
        {
            first.days = vec![day];
        }
    }
}

fn group<'a>(groups: &'a Captures<'_>, name: &str) -> Option<&'a str> {
    groups.name(name).map(|found| found.as_str())
}

fn number<T: std::str::FromStr>(groups: &Captures<'_>, name: &str) -> Option<T> {
    group(groups, name)?.parse().ok()
}

fn month_of(groups: &Captures<'_>) -> Option<i8> {
    const STARTS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    Some(position(groups, "month", &STARTS)? + 1)
}

/// Returns which of the starts of names a group begins with.
fn position(groups: &Captures<'_>, name: &str, starts: &[&str]) -> Option<i8> {
    let name = group(groups, name)?.to_lowercase();
    i8::try_from(starts.iter().position(|start| name.starts_with(start))?).ok()
}

/// An expression for one of these days; unclear if there is none.
fn one_of(mut days: Vec<Date>) -> TimeExpression {
    days.sort();
    days.dedup();
    match days.is_empty() {
        true => TimeExpression::Unclear,
        false => TimeExpression::When(PartialDateTime { days, ..PartialDateTime::default() }),
    }
}

fn written_moment(groups: &Captures<'_>, _: &Reader<'_>) -> Option<TimeExpression> {
    let day: Date = group(groups, "day")?.parse().ok()?;
    let time = group(groups, "time")?;
    let zone = match group(groups, "offset") {
        None => Zone::Local,
        Some("Z" | "z") => Zone::Fixed(jiff::tz::Offset::UTC),
        Some(offset) => Zone::Fixed(read_offset(offset)?),
    };
    let seconds = if time.len() == 5 { ":00" } else { "" };
    let times = vec![format!("{time}{seconds}").parse().ok()?];
    let when = PartialDateTime { days: vec![day], times, zone, is_instant: false };
    Some(TimeExpression::When(when))
}

fn written_day(groups: &Captures<'_>, _: &Reader<'_>) -> Option<TimeExpression> {
    let day = Date::new(number(groups, "y")?, number(groups, "m")?, number(groups, "d")?).ok()?;
    Some(one_of(vec![day]))
}

/// Reads a day in numbers. "3.5.2026" is 3 May wherever days are written with points; "3/5/2026" is
/// 3 May or 5 March.
fn numeric_day(groups: &Captures<'_>, _: &Reader<'_>) -> Option<TimeExpression> {
    let (a, b): (i8, i8) = (number(groups, "a")?, number(groups, "b")?);
    if group(groups, "y")?.len() == 2 {
        return Some(TimeExpression::Unclear);
    }
    let year = number(groups, "y")?;
    let mut days: Vec<Date> = Date::new(year, b, a).into_iter().collect();
    if group(groups, "by")? != "." {
        days.extend(Date::new(year, a, b));
    }
    Some(one_of(days))
}

fn day_of_month(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    let (month, day) = (month_of(groups)?, number(groups, "day")?);
    let days = match number(groups, "year") {
        Some(year) => Date::new(year, month, day).into_iter().collect(),
        None => reader.days_of_any_year(month, day, groups).unwrap_or_default(),
    };
    // "31 February" is not a day, and must not be read as a month either.
    Some(one_of(days))
}

fn days_of_month(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    let month = month_of(groups)?;
    let (first, last): (i8, i8) = (number(groups, "first")?, number(groups, "last")?);
    if last <= first {
        return None;
    }
    let starts = match number(groups, "year") {
        Some(year) => vec![Date::new(year, month, first).ok()?],
        None => reader.days_of_any_year(month, first, groups)?,
    };
    let period = |start: Date| Some((start, Date::new(start.year(), month, last).ok()?));
    let readings: Option<Vec<(Date, Date)>> = starts.into_iter().map(period).collect();
    Some(TimeExpression::Period(Period { readings: readings? }))
}

fn whole_month(groups: &Captures<'_>, _: &Reader<'_>) -> Option<TimeExpression> {
    let first = Date::new(number(groups, "year")?, month_of(groups)?, 1).ok()?;
    Some(TimeExpression::Period(Period { readings: vec![(first, first.last_of_month())] }))
}

fn near_day(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    let which = group(groups, "which")?.to_lowercase();
    let days = match which.split_whitespace().next()? {
        "tomorrow" => 1,
        "yesterday" => -1,
        "after" => 2,
        "before" => -2,
        _ => 0,
    };
    Some(one_of(vec![reader.now.date().checked_add(Span::new().days(days)).ok()?]))
}

fn distance(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    let count = count(group(groups, "number")?)?;
    let is_ago = group(groups, "direction").is_some_and(|way| way.eq_ignore_ascii_case("ago"));
    let count = if is_ago { -count } else { count };
    let unit = group(groups, "unit")?.to_lowercase();
    let span = match unit.as_str() {
        "minute" => Span::new().try_minutes(count),
        "hour" => Span::new().try_hours(count),
        "day" => Span::new().try_days(count),
        "week" => Span::new().try_weeks(count),
        "month" => Span::new().try_months(count),
        _ => Span::new().try_years(count),
    }
    .ok()?;
    if matches!(unit.as_str(), "minute" | "hour") {
        let moment = reader.now.checked_add(span).ok()?;
        let (days, times) = (vec![moment.date()], vec![moment.time()]);
        let when = PartialDateTime { days, times, is_instant: true, ..PartialDateTime::default() };
        return Some(TimeExpression::When(when));
    }
    Some(one_of(vec![reader.now.date().checked_add(span).ok()?]))
}

fn weekday(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    const STARTS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let weekday = Weekday::from_monday_zero_offset(position(groups, "weekday", &STARTS)?).ok()?;
    let today = reader.now.date();
    let plus = |day: Date, days: i64| day.checked_add(Span::new().days(days)).ok();
    let monday = plus(today, -i64::from(today.weekday().to_monday_zero_offset()))?;
    let of_week = plus(monday, weekday.to_monday_zero_offset().into())?;
    let (ahead, back) = (today.nth_weekday(1, weekday).ok()?, today.nth_weekday(-1, weekday).ok()?);
    let which = group(groups, "which").unwrap_or_default().to_lowercase();
    let days = match which.as_str() {
        "next" => vec![ahead, plus(of_week, 7)?],
        "last" => vec![plus(of_week, -7)?, back],
        "this" if of_week < today => vec![of_week, plus(of_week, 7)?],
        "this" => vec![of_week],
        "coming" => vec![ahead],
        _ if weekday == today.weekday() => vec![today, ahead],
        _ => match reader.tense_of(groups) {
            Tense::Future => vec![ahead],
            Tense::Past => vec![back],
            Tense::Unknown if reader.asks_of_now() => vec![ahead],
            Tense::Unknown => vec![back, ahead],
        },
    };
    Some(one_of(days))
}

fn whole_unit(groups: &Captures<'_>, reader: &Reader<'_>) -> Option<TimeExpression> {
    let today = reader.now.date();
    let way = match group(groups, "which")?.to_lowercase().as_str() {
        "next" => 1,
        "last" => -1,
        _ => 0,
    };
    let moved = |span: Span| today.checked_add(span).ok();
    let readings = match group(groups, "unit")?.to_lowercase().as_str() {
        "month" => {
            let day = moved(Span::new().months(way))?;
            vec![(day.first_of_month(), day.last_of_month())]
        }
        "year" => {
            let day = moved(Span::new().years(way))?;
            vec![(day.first_of_year(), day.last_of_year())]
        }
        _ => {
            // A week begins on Monday or on Sunday.
            let day = moved(Span::new().weeks(way))?;
            let monday = day.weekday().to_monday_zero_offset();
            let sunday = day.weekday().to_sunday_zero_offset();
            let week = |since: i8| {
                let first = day.checked_sub(Span::new().days(since)).ok()?;
                Some((first, first.checked_add(Span::new().days(6)).ok()?))
            };
            vec![week(sunday)?, week(monday)?]
        }
    };
    Some(TimeExpression::Period(Period { readings }))
}

impl Reader<'_> {
    /// Whether the text asks how things are or will be: "when do you open on Saturday?"
    fn asks_of_now(&self) -> bool {
        let lower = self.text.to_lowercase();
        let has = |list: &str| {
            let mut words = lower.split(|c: char| !c.is_alphanumeric());
            words.any(|word| is_listed(word, list))
        };
        has("what when which how who is are do does can will")
            && has("is are do does can will open close")
            && !has("was were did had been last ago")
    }

    /// Returns the tense of a match. A day right after "since" is in the past.
    fn tense_of(&self, groups: &Captures<'_>) -> Tense {
        let start = groups.get(0).map_or(0, |whole| whole.start());
        let before = ending(&self.text[..start]).trim_end().to_lowercase();
        if before.ends_with("since") { Tense::Past } else { self.tense }
    }

    /// Returns the possible days for a day and a month without a year.
    fn days_of_any_year(&self, month: i8, day: i8, groups: &Captures<'_>) -> Option<Vec<Date>> {
        let today = self.now.date();
        // The nearest 29 February may be up to eight years away.
        let years = |way: i16| (0..=8).map(move |n| today.year() + way * n);
        let date = |year| Date::new(year, month, day).ok();
        let ahead = years(1).filter_map(date).find(|date| *date >= today)?;
        let back = years(-1).filter_map(date).find(|date| *date <= today)?;
        let distance = |other: Date| today.until(other).map_or(i32::MAX, |s| s.get_days().abs());
        let (to, since) = (distance(ahead), distance(back));
        Some(match self.tense_of(groups) {
            Tense::Future => vec![ahead],
            Tense::Past => vec![back],
            Tense::Unknown if to.min(since) <= NEAR_DAYS => {
                vec![if to <= since { ahead } else { back }]
            }
            Tense::Unknown => vec![back, ahead],
        })
    }
}
