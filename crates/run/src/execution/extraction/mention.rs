//! Mentions: the values in a prompt, before they are assigned to parameters.

mod amounts;
mod lists;
mod quotes;
#[cfg(test)]
mod tests;
mod tokens;

use std::ops::Range;

use jiff::Zoned;
use linkify::{LinkFinder, LinkKind};
use serde_json::Value;

pub(super) use amounts::Amount;
pub(super) use tokens::{
    end_of_place, is_certain_id, is_identifier, is_path, is_repository, is_slug, joins_region,
};

use super::text::overlap;
use super::time::{self, PartialDateTime, Period, Tense, TimeExpression};
use super::unit::{Dimension, Unit};

/// A value in a prompt and its byte range.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub span: Range<usize>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A quoted text.
    Quoted(String),
    /// The rest of the prompt after "saying" or a colon, as one text.
    Rest(String),
    Url(String),
    Email(String),
    Path(String),
    When(PartialDateTime),
    Period(Period),
    Amount(Amount),
    /// The ISO 4217 code of a currency.
    Currency(String),
    /// A word with the form of an identifier.
    Token(String),
    /// Capitalised words after a preposition of place.
    Place(String),
    /// A street with a number, and perhaps a town.
    Address(String),
    /// A list in brackets, as in JSON or as a pair of coordinates: "[1, 2, 3]", "(40.7, -74.0)".
    List(Vec<Value>),
    /// A date or time that cannot be resolved.
    Unclear,
}

/// Options of a scan.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub now: &'a Zoned,
    pub tense: Tense,
    /// Whether the text after "saying" or a colon is one value.
    pub has_rest: bool,
    /// Whether the tool takes days or times, so that "in 14 days" is a day rather than a number of
    /// days.
    pub has_times: bool,
    /// Whether the tool takes addresses, so that a street with its number is one value.
    pub has_addresses: bool,
    /// Whether the tool takes a country or a region by itself, so that "Paris, France" is two values.
    pub has_regions: bool,
}

impl Content {
    /// Returns the name of the kind. Contents of one kind fit the same parameters.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Quoted(_) | Self::Rest(_) => "text",
            Self::Url(_) => "URL",
            Self::Email(_) => "e-mail address",
            Self::Path(_) => "path",
            Self::When(_) | Self::Period(_) => "date or time",
            Self::Amount(_) => "number",
            Self::Currency(_) => "currency",
            Self::Token(_) => "id",
            Self::Place(_) => "place",
            Self::Address(_) => "address",
            Self::List(_) => "list",
            Self::Unclear => "unclear",
        }
    }

    /// Whether it is an id rather than a word in capitals.
    pub fn is_id(&self) -> bool {
        matches!(self, Self::Token(text) if text.contains(|c: char| c.is_ascii_digit()))
    }

    /// Returns the text of an id, a code or a word in capitals.
    pub fn token(&self) -> Option<&str> {
        match self {
            Self::Token(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the units that an amount may have.
    pub fn units(&self) -> &[Unit] {
        match self {
            Self::Amount(amount) => &amount.units,
            _ => &[],
        }
    }

    /// Whether it may be a moment or a duration. `lead` is the word before it: "at 5".
    pub fn is_time(&self, lead: &str) -> bool {
        match self {
            Self::When(_) | Self::Period(_) | Self::Unclear => true,
            Self::Amount(amount) if amount.units.is_empty() => {
                ["at", "until", "till", "before", "after"].contains(&lead.to_lowercase().as_str())
            }
            Self::Amount(amount) => amount
                .units
                .iter()
                .any(|unit| matches!(unit.dimension(), Dimension::Time | Dimension::Months)),
            _ => false,
        }
    }
}

/// Finds the mentions of a text, in order. They do not overlap, except that a currency may be part
/// of an amount.
pub(super) fn scan(text: &str, scan: &Scan<'_>) -> Vec<Mention> {
    let mut found = Collector { text, mentions: Vec::new() };
    found.add(lists::scan(text));
    let quotes = quotes::scan(text);
    if scan.has_rest {
        let mut rest = quotes::rest(text, &quotes);
        if rest.is_empty() {
            let times = times(text, scan).into_iter().chain(amounts::scan(text));
            let times: Vec<Mention> = times.filter(|time| time.content.is_time("")).collect();
            rest.extend(quotes::reminder(text, &quotes, &times));
        }
        found.add(rest);
    }
    found.add(quotes);
    found.add(links(text));
    found.add(tokens::grouped(text));
    found.add(tokens::matches(&tokens::ADDRESS, text));
    found.add(tokens::matches(&tokens::SIZE, text));
    found.add(times(text, scan));
    if scan.has_addresses {
        found.add(tokens::streets(text));
    }
    found.add(tokens::paths(text));
    found.add(amounts::scan(text));
    found.add(amounts::currencies(text));
    found.add(tokens::ids(text));
    found.add(tokens::places(text, scan.has_regions));
    let Collector { mut mentions, .. } = found;
    mentions.extend(amounts::currencies_within(&mentions, text));
    mentions.sort_by_key(|mention| (mention.span.start, mention.span.end));
    mentions
}

/// The places of the quoted texts of a prompt.
pub(super) fn quoted(text: &str) -> Vec<Range<usize>> {
    quotes::scan(text).into_iter().map(|quote| quote.span).collect()
}

/// Collects mentions; one that overlaps an earlier one is dropped.
struct Collector<'a> {
    text: &'a str,
    mentions: Vec<Mention>,
}

impl Collector<'_> {
    fn add(&mut self, mentions: Vec<Mention>) {
        for Mention { span, content } in mentions {
            debug_assert!(self.text.get(span.clone()).is_some());
            if !self.mentions.iter().any(|other| overlap(&other.span, &span)) {
                self.mentions.push(Mention { span, content });
            }
        }
    }
}

fn links(text: &str) -> Vec<Mention> {
    let finder = LinkFinder::new();
    let mention = |link: linkify::Link<'_>| {
        let said = link.as_str().to_owned();
        let content = match link.kind() {
            LinkKind::Email => Content::Email(said),
            _ => Content::Url(said),
        };
        Mention { span: link.start()..link.end(), content }
    };
    finder.links(text).map(mention).collect()
}

fn times(text: &str, scan: &Scan<'_>) -> Vec<Mention> {
    let mention = |(span, said)| {
        let content = match said {
            TimeExpression::When(when) => Content::When(when),
            TimeExpression::Period(period) => Content::Period(period),
            TimeExpression::Unclear => Content::Unclear,
        };
        Mention { span, content }
    };
    let said = time::scan(text, scan.now, scan.tense).into_iter();
    let is_distance = |span: &Range<usize>| {
        let said = text[span.clone()].to_lowercase();
        said.starts_with("in ") || said.ends_with(" ago") || said.contains(" from ")
    };
    said.filter(|(span, _)| scan.has_times || !is_distance(span)).map(mention).collect()
}
