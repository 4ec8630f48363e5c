//! Numbers with their signs, currencies, units, multipliers and ranges.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::super::decimal::{self, Decimal, SPELLED, count};
use super::super::text::{overlap, regex};
use super::super::unit::{Dimension, NATIONAL, Unit};
use super::{Content, Mention};

/// A number in a prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    /// `None` if the number cannot be read with certainty.
    pub value: Option<Decimal>,
    /// The number before a capital K, which may also stand for kelvin.
    pub before_k: Option<Decimal>,
    /// The other end of a range such as "5-10".
    pub to: Option<Decimal>,
    /// The possible units: "5m" may be metres or minutes. Empty if the prompt has no unit.
    pub units: Vec<Unit>,
    /// The digits, if the number consists of nothing else.
    pub digits: Option<String>,
    /// Whether it is written with a hash, as "#17".
    pub has_hash: bool,
    /// Whether it has a plus or a minus.
    pub is_signed: bool,
    pub is_range: bool,
    /// Whether it is a part of an unknown whole, such as "half".
    pub is_part: bool,
    /// Whether it is written as a word, such as "three".
    pub is_spelled: bool,
}

static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"\d[\d.,'’\u{a0}\u{2009}\u{202f}]*";
    regex(&format!(
        r"(?x)
        (?P<sign>[-−+\#]|(?i:\b(?:minus|negative)\s+))?
        (?P<money>(?:(?:US)?[$]|[€£¥₪₹₩₽])\s?|\b[A-Z]{{3}}\s)?
        (?P<inner>[-−])?
        (?P<number>{number})
        (?:\s?[-–—]\s?(?P<to>{number}))?
        (?P<times>[kK]\b|M\b|bn\b|\s(?i:thousand|million|billion)\b)?
        (?:\s?(?P<unit>[$€£¥₪₹₩₽%]|{NATIONAL}|(?i:US\s?(?:[$]|dollars?\b))|°\s?[CF]\b|°|(?i:degrees\s+(?:celsius|fahrenheit))|(?i:(?:m|met(?:er|re)s?)/s(?:econd)?(?:\^2|²)?|km/h|(?:k|c|m)?m(?:\^[23]|[²³])|ft(?:\^2|²)|(?:sq\.?\s?|square\s|cubic\s)[a-z]+)|[A-Za-z]+))?",
    ))
});

/// Matches "an hour and a half", "one and a half hours", and "an hour" or "a minute" after "for" or
/// "in".
static HALVES: LazyLock<Regex> = LazyLock::new(|| {
    let number = format!(r"an?|\d{{1,2}}|{}", SPELLED.join("|"));
    let unit = "minute|hour|day|week";
    let half = r"\s+and\s+(?:a\s+)?half";
    regex(&format!(
        r"(?i)\b(?:for\s+)?(?:(?P<number>{number})\s+(?P<unit>{unit})s?{half}|(?P<before>{number}){half}\s+(?P<after>{unit})s?)\b|\b(?:for|in)\s+(?P<one>an\s+hour|a\s+minute)\b"
    ))
});

fn halves(groups: &Captures<'_>) -> Option<(Range<usize>, Amount)> {
    let whole = groups.get(0)?.range();
    let (span, count, unit) = match groups.name("one") {
        Some(one) => (one.range(), Decimal::whole(1), one.as_str().split_whitespace().last()?),
        None => {
            let said = groups.name("number").or(groups.name("before"))?;
            let number = count(said.as_str())?;
            let unit = groups.name("unit").or(groups.name("after"))?.as_str();
            (said.start()..whole.end, Decimal::whole(2 * number + 1).times(1, 2)?, unit)
        }
    };
    let amount = Amount { value: Some(count), units: Unit::meanings_of(unit), ..Amount::default() };
    Some((span, amount))
}

static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r"(?i)\b(?P<number>{})(?:\s(?P<unit>[a-z]+))?\b", SPELLED.join("|")))
});

/// Matches parts of something ("half of"), which have no value, and parts of an hour, which have
/// one.
static PARTS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)\b(?:(?P<half>half)(?:\s+of)?|(?P<quarter>(?:a\s+)?quarter\s+of)|(?:a|one|two)\s+thirds?\s+of|three\s+quarters\s+of)(?P<hour>\s+an\s+hour)?\b",
    )
});

fn part(groups: &Captures<'_>) -> Option<(Range<usize>, Amount)> {
    let span = groups.get(0)?.range();
    let minutes = match (groups.name("half"), groups.name("quarter"), groups.name("hour")) {
        (Some(_), _, Some(_)) => Some(30),
        (_, Some(_), Some(_)) => Some(15),
        _ => None,
    };
    let units =
        if minutes.is_some() { Unit::meanings_of("minutes") } else { Unit::meanings_of("%") };
    let value = minutes.map(Decimal::whole);
    Some((span, Amount { value, units, is_part: minutes.is_none(), ..Amount::default() }))
}

pub(super) fn scan(text: &str) -> Vec<Mention> {
    let mut found: Vec<(Range<usize>, Amount)> = Vec::new();
    let mut from = 0;
    while let Some(groups) = AMOUNT.captures_at(text, from) {
        let Some(number) = groups.name("number") else { break };
        from = number.end();
        let before = found.last().map_or(0, |(span, _)| span.end);
        if let Some((span, amount)) = read(text, &groups, before) {
            from = span.end;
            found.push((span, amount));
        }
    }
    for groups in WORDS.captures_iter(text) {
        found.extend(spelled(&groups));
    }
    found.extend(PARTS.captures_iter(text).filter_map(|groups| part(&groups)));
    for groups in HALVES.captures_iter(text) {
        let Some((span, amount)) = halves(&groups) else { continue };
        found.retain(|(other, _)| !overlap(other, &span));
        found.push((span, amount));
    }
    found.sort_by_key(|(span, _)| span.start);
    let mut joined = join(text, found);
    share_units(text, &mut joined);
    joined
        .into_iter()
        .map(|(span, amount)| Mention { span, content: Content::Amount(amount) })
        .collect()
}

/// Reads one match. Returns `None` if the digits belong to something else. `before` is the end of
/// the previous amount, which this one may follow directly: "1h30m" has two amounts.
fn read(text: &str, groups: &Captures<'_>, before: usize) -> Option<(Range<usize>, Amount)> {
    let number = groups.name("number")?;
    let (mut span, mut amount) = beginning(text, groups)?;
    let said = trimmed(number.as_str());
    span.end = number.start() + said.len();
    let mut end_of_match = number.end();
    let mut to = None;
    if let Some(other) = groups.name("to").filter(|_| span.end == end_of_match) {
        to = Some(trimmed(other.as_str()));
        span.end = other.start() + trimmed(other.as_str()).len();
        end_of_match = other.end();
    }
    let is_whole = span.end == end_of_match;
    let times = groups.name("times").filter(|_| is_whole);
    span.end = times.map_or(span.end, |times| times.end());
    let mut has_glued_unit = false;
    if let Some(unit) = groups.name("unit").filter(|_| is_whole) {
        let meant = Unit::meanings_of(
            &unit.as_str().to_lowercase().replace("degrees ", "").replace([' ', '.'], ""),
        );
        let meant = if meant.is_empty() { Unit::meanings_of(unit.as_str()) } else { meant };
        has_glued_unit = unit.start() == span.end;
        if !meant.is_empty() {
            amount.units = meant;
            span.end = unit.end();
        } else if has_glued_unit {
            return None;
        }
    }
    let follows = span.start == before && before > 0;
    if !stands_alone(text, &span, Adjacency { follows, has_glued_unit }) {
        return None;
    }
    let comma = !amount.units.is_empty();
    let value = |said: &str| multiplied(decimal::read(said, comma)?, times.map(|t| t.as_str()));
    let is_negative = amount.value.is_some();
    amount.value = value(said).map(|value| if is_negative { value.negated() } else { value });
    let is_k = times.is_some_and(|times| times.as_str() == "K");
    amount.before_k = decimal::read(said, comma).filter(|_| is_k);
    amount.to = to.and_then(value);
    if to.is_some() && amount.to.is_none() {
        amount.value = None;
    }
    let is_digits = said.bytes().all(|byte| byte.is_ascii_digit()) && !is_negative && to.is_none();
    amount.digits = is_digits.then(|| said.to_owned());
    amount.is_range = to.is_some();
    Some((span, amount))
}

/// Reads the sign and the currency before the digits. The returned amount has a value, zero, only
/// if the number is negative.
fn beginning(text: &str, groups: &Captures<'_>) -> Option<(Range<usize>, Amount)> {
    let number = groups.name("number")?;
    let mut start = number.start();
    let mut amount = Amount::default();
    let is_negative = |sign: &str| !matches!(sign, "+" | "#");
    let mut negative = groups.name("inner").is_some();
    if let Some(inner) = groups.name("inner") {
        start = inner.start();
    }
    if let Some(money) = groups.name("money") {
        let units = Unit::meanings_of(money.as_str().trim());
        if !units.iter().any(|unit| unit.dimension() == Dimension::Money) {
            let is_sign = negative && is_sign(text, start, "-");
            amount.value = is_sign.then_some(Decimal::whole(0));
            return Some((start..number.end(), amount));
        }
        amount.units = units;
        start = money.start();
    }
    if let Some(sign) =
        groups.name("sign").filter(|sign| is_sign(text, sign.start(), sign.as_str()))
    {
        start = sign.start();
        negative |= is_negative(sign.as_str());
        amount.has_hash = sign.as_str() == "#";
        amount.is_signed = !amount.has_hash;
    }
    amount.is_signed |= negative;
    amount.value = negative.then_some(Decimal::whole(0));
    Some((start..number.end(), amount))
}

/// Removes separators at the end, which belong to the sentence or list and not to the number.
fn trimmed(number: &str) -> &str {
    number.trim_end_matches(|c: char| !c.is_ascii_digit())
}

/// Whether a sign belongs to the number. A hyphen, `+` or `#` is a sign only at the start, or after
/// a space, an opening bracket, a comma, a colon, `=` or a currency sign.
fn is_sign(text: &str, at: usize, sign: &str) -> bool {
    if !matches!(sign, "-" | "−" | "+" | "#") {
        return true;
    }
    let before = text[..at].chars().next_back();
    before.is_none_or(|c| c.is_whitespace() || "([,:=$€£¥₪".contains(c))
}

/// How an amount may touch its neighbours.
#[derive(Clone, Copy)]
struct Adjacency {
    /// Whether the amount begins where the previous one ends.
    follows: bool,
    /// Whether its unit touches its digits, so that the next amount may touch the unit.
    has_glued_unit: bool,
}

fn stands_alone(text: &str, span: &Range<usize>, adjacency: Adjacency) -> bool {
    let before = text[..span.start].chars().next_back();
    let mut after = text[span.end..].chars();
    let (next, second) = (after.next(), after.next());
    let goes_on = match next {
        Some('.' | ',') => second.is_some_and(|c| c.is_ascii_digit()),
        Some('-') => second.is_some_and(char::is_alphanumeric),
        Some(c) if c.is_ascii_digit() => !adjacency.has_glued_unit,
        Some(':') => second.is_some_and(|c| c.is_ascii_digit()),
        Some(c) => c.is_alphanumeric() || "_/".contains(c),
        None => false,
    };
    let is_touched = before.is_some_and(|c| c.is_alphanumeric() || "_/.-#@".contains(c));
    (adjacency.follows || !is_touched) && !goes_on
}

fn multiplied(value: Decimal, times: Option<&str>) -> Option<Decimal> {
    let times = match times.map(|times| times.trim().to_lowercase()).as_deref() {
        Some("k" | "thousand") => 1_000,
        Some("m" | "million") => 1_000_000,
        Some("bn" | "billion") => 1_000_000_000,
        _ => 1,
    };
    value.times(times, 1)
}

fn spelled(groups: &Captures<'_>) -> Option<(Range<usize>, Amount)> {
    let number = groups.name("number")?;
    let value = Some(Decimal::whole(count(number.as_str())?));
    let unit = groups.name("unit").map(|unit| (Unit::meanings_of(unit.as_str()), unit.end()));
    let (units, end) =
        unit.filter(|(units, _)| !units.is_empty()).unwrap_or((Vec::new(), number.end()));
    let amount = Amount { value, units, is_spelled: true, ..Amount::default() };
    Some((number.start()..end, amount))
}

/// Joins the parts of one duration, as in "1 hour and 15 minutes" and "1h30m".
fn join(text: &str, found: Vec<(Range<usize>, Amount)>) -> Vec<(Range<usize>, Amount)> {
    let mut joined: Vec<(Range<usize>, Amount)> = Vec::new();
    for (span, amount) in found {
        if let Some((before, first)) = joined.last_mut()
            && before.end <= span.start
            && matches!(text[before.end..span.start].trim(), "" | "and" | ",")
            && let Some(sum) = first.together(&amount)
        {
            *first = sum;
            before.end = span.end;
            continue;
        }
        joined.push((span, amount));
    }
    joined
}

/// Gives the unit of the second amount to the first in ranges such as "between 50 and 100 euros".
fn share_units(text: &str, found: &mut [(Range<usize>, Amount)]) {
    for at in 1..found.len() {
        let (before, after) = found.split_at_mut(at);
        let (Some((first_span, first)), Some((span, second))) = (before.last_mut(), after.first())
        else {
            continue;
        };
        let gap = text.get(first_span.end..span.start).unwrap_or_default().trim().to_lowercase();
        let lead = text[..first_span.start].trim_end();
        let leads = |word: &str| {
            let at = lead.len().checked_sub(word.len());
            at.and_then(|at| lead.get(at..)).is_some_and(|last| last.eq_ignore_ascii_case(word))
        };
        let is_range = match gap.as_str() {
            "to" | "or" => true,
            "and" => leads("between"),
            _ => false,
        };
        if is_range && first.units.is_empty() {
            first.units = second.units.clone();
        }
    }
}

impl Amount {
    fn together(&self, smaller: &Self) -> Option<Self> {
        let time = |amount: &Self| {
            let is_time = |unit: &&Unit| unit.dimension() == Dimension::Time;
            amount.units.iter().find(is_time).copied().filter(|_| !amount.is_range)
        };
        let (large, small) = (time(self)?, time(smaller)?);
        let is_larger = matches!((large, small),
            (Unit::Scaled { size: a, .. }, Unit::Scaled { size: b, .. }) if a > b);
        let sum = large.convert(self.value?, small)?.plus(smaller.value?)?;
        is_larger.then(|| Self {
            value: Some(sum),
            units: vec![small],
            digits: None,
            ..self.clone()
        })
    }
}

static CURRENCY: LazyLock<Regex> = LazyLock::new(|| {
    regex(&format!(r"\b(?:{NATIONAL}|(?i:us)\s?(?:[$]|(?i:dollars?)\b)|[A-Za-z]{{3,8}}\b)"))
});

/// Finds currencies without an amount: "to EUR", "in euros".
pub(super) fn currencies(text: &str) -> Vec<Mention> {
    let mention = |found: regex::Match<'_>| {
        let code = Unit::currency(found.as_str())?;
        Some(Mention { span: found.range(), content: Content::Currency(code.to_owned()) })
    };
    CURRENCY.find_iter(text).filter_map(mention).collect()
}

/// Finds the currencies of amounts, because a tool may have a parameter for the currency.
pub(super) fn currencies_within(mentions: &[Mention], text: &str) -> Vec<Mention> {
    let within = |mention: &Mention| {
        let Content::Amount(amount) = &mention.content else { return None };
        let [Unit::Currency(code)] = amount.units[..] else { return None };
        let said = &text[mention.span.clone()];
        let sign = |c: char| c.is_alphabetic() || "€£₪₹₩₽".contains(c);
        let start = mention.span.start + said.find(sign)?;
        let length: usize = text[start..mention.span.end]
            .chars()
            .take_while(|c| sign(*c))
            .map(char::len_utf8)
            .sum();
        let content = Content::Currency(code.to_owned());
        Some(Mention { span: start..start + length, content })
    };
    mentions.iter().filter_map(within).collect()
}
