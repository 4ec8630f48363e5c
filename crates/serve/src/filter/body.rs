//! The positions of a body's members, so that some can be removed without changing any other byte.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::value::RawValue;
use toolroute_catalog::Members;

/// The members of an object, as slices of its text.
pub struct Outline<'a>(Members<'a>);

impl<'a> Outline<'a> {
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    /// The member with this name, if there is exactly one: parsers differ in which of two they use.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut found = self.0.0.iter().filter(|(key, _)| key == name);
        let (_, first) = found.next()?;
        found.next().is_none().then_some(*first)
    }

    /// The elements of each member with one of these names that is a list.
    pub fn lists(&self, names: &[&str]) -> Vec<Vec<&'a RawValue>> {
        let named = self.0.0.iter().filter(|(key, _)| names.contains(&key.as_str()));
        named.filter_map(|(_, raw)| serde_json::from_str(raw.get()).ok()).collect()
    }
}

/// The text without the given elements of a list. With each element, one comma and the white space
/// around it are removed.
pub fn without(text: &str, list: &[&RawValue], rows: &BTreeSet<usize>) -> String {
    let spans: Vec<Range<usize>> = list.iter().map(|raw| span(text, raw.get())).collect();
    let (Some(first), Some(last)) = (spans.first(), spans.last()) else { return text.to_owned() };
    let mut cut = String::with_capacity(text.len());
    cut.push_str(&text[..first.start]);
    let mut any = false;
    for (row, span) in spans.iter().enumerate().filter(|(row, _)| !rows.contains(row)) {
        if any {
            // The text between this element and the previous one, which may be removed.
            cut.push_str(&text[spans[row - 1].end..span.start]);
        }
        cut.push_str(&text[span.clone()]);
        any = true;
    }
    cut.push_str(&text[last.end..]);
    cut
}

/// The position of a slice in its text.
fn span(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// The position of the error, without the text, which may be secret.
pub fn place_of(error: &serde_json::Error) -> String {
    format!("found something else at line {}, column {}", error.line(), error.column())
}
