//! The values that a prompt mentions, before anybody knows what for.

mod amounts;
mod quotes;
#[cfg(test)]
mod tests;
mod tokens;

use std::ops::Range;

use jiff::Zoned;
use linkify::{LinkFinder, LinkKind};

pub(super) use amounts::Amount;
pub(super) use tokens::{is_path, is_telling_id};

use super::when::{self, Period, Said, Tense, When};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub span: Range<usize>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub(super) enum Content {
    /// What stands between quotes.
    Quoted(String),
    /// The rest of the prompt, which is a text by itself: what follows "saying" or a colon.
    Rest(String),
    Url(String),
    Email(String),
    Path(String),
    When(When),
    Period(Period),
    Amount(Amount),
    /// A currency, as the code that it has.
    Currency(String),
    /// A word that is made like an identifier.
    Token(String),
    /// Words in capitals after a preposition of place.
    Place(String),
    /// It is a value of some kind, and cannot be read.
    Unclear,
}

/// What a scan needs to know beside the text.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub now: &'a Zoned,
    pub tense: Tense,
    /// What follows "saying" or a colon is one text.
    pub has_rest: bool,
    /// The tool takes days or times, so that "in 14 days" is a day rather than a number of days.
    pub has_times: bool,
}

impl Content {
    /// Contents of one name can be meant for the same parameters.
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
            Self::Unclear => "unclear",
        }
    }
}

/// Parts of a text that are spoken for.
#[derive(Default)]
struct Taken(Vec<Range<usize>>);

impl Taken {
    fn is_free(&self, span: &Range<usize>) -> bool {
        !self.0.iter().any(|taken| taken.start < span.end && span.start < taken.end)
    }
}

/// The mentions of a text in its order. No two overlap, but for a currency within an amount.
pub(super) fn scan(text: &str, scan: &Scan<'_>) -> Vec<Mention> {
    let mut found = Found { text, taken: Taken::default(), mentions: Vec::new() };
    let quotes = quotes::scan(text);
    if scan.has_rest {
        found.add(quotes::rest(text, &quotes));
    }
    found.add(quotes);
    found.add(links(text));
    found.add(tokens::addresses(text));
    found.add(tokens::sizes(text));
    found.add(times(text, scan));
    found.add(tokens::paths(text));
    found.add(amounts::scan(text));
    found.add(amounts::currencies(text));
    found.add(tokens::ids(text));
    found.add(tokens::places(text));
    let Found { mut mentions, .. } = found;
    mentions.extend(amounts::currencies_within(&mentions, text));
    mentions.sort_by_key(|mention| (mention.span.start, mention.span.end));
    mentions
}

struct Found<'a> {
    text: &'a str,
    taken: Taken,
    mentions: Vec<Mention>,
}

impl Found<'_> {
    fn add(&mut self, mentions: Vec<Mention>) {
        for mention in mentions {
            debug_assert!(self.text.get(mention.span.clone()).is_some());
            if self.taken.is_free(&mention.span) {
                self.taken.0.push(mention.span.clone());
                self.mentions.push(mention);
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
            Said::When(when) => Content::When(when),
            Said::Period(period) => Content::Period(period),
            Said::Unclear => Content::Unclear,
        };
        Mention { span, content }
    };
    let said = when::scan(text, scan.now, scan.tense).into_iter();
    let is_distance = |span: &Range<usize>| {
        let said = text[span.clone()].to_lowercase();
        said.starts_with("in ") || said.ends_with(" ago") || said.contains(" from ")
    };
    said.filter(|(span, _)| scan.has_times || !is_distance(span)).map(mention).collect()
}
