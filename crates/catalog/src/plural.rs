//! The singular of English nouns, in names of tools and in prompts.

use std::borrow::Cow;

use crate::text::is_listed;

/// Words that end in `ie` in the singular, unlike `company`.
const END_IN_IE: [&str; 9] =
    ["movie", "cookie", "calorie", "pie", "tie", "selfie", "zombie", "genie", "rookie"];

/// Returns the singular of a noun in lower case, as far as its ending shows it.
///
/// ```
/// use toolroute_catalog::singular;
///
/// let plurals = ["entries", "boxes", "keys", "databases", "sizes", "movies"];
/// assert_eq!(plurals.map(singular), ["entry", "box", "key", "database", "size", "movie"]);
/// ```
pub fn singular(word: &str) -> Cow<'_, str> {
    if let Some(stem) = word.strip_suffix('s').filter(|stem| END_IN_IE.contains(stem)) {
        return stem.into();
    }
    let long = Some(word).filter(|word| word.len() > 4);
    if let Some(stem) = long.and_then(|word| word.strip_suffix("ies")) {
        return format!("{stem}y").into();
    }
    let hisses = |stem: &&str| ["ss", "x", "ch", "sh", "tz"].iter().any(|end| stem.ends_with(end));
    if let Some(stem) = long.and_then(|word| word.strip_suffix("es")).filter(hisses) {
        return stem.into();
    }
    let is_plural = word.len() > 3 && !["ss", "us", "is"].iter().any(|end| word.ends_with(end));
    word.strip_suffix('s').filter(|_| is_plural).unwrap_or(word).into()
}

/// Nouns that people use for one another, each line for one kind of thing.
const SAME: [&str; 15] = [
    "bug case defect incident issue problem story task ticket",
    "appointment booking meeting reservation",
    "client customer",
    "apartment flat unit",
    "article item product",
    "bag baggage luggage suitcase",
    "bill invoice",
    "car vehicle",
    "comment note remark",
    "delivery package parcel shipment",
    "doc document file",
    "employee colleague staff",
    "image photo picture",
    "mail message",
    "talk session",
];

/// Returns the nouns that people use for the thing that a noun in the singular names, with that noun.
pub fn same_things(noun: &str) -> impl Iterator<Item = &'static str> {
    let groups = SAME.iter().filter(move |group| is_listed(group, noun));
    groups.flat_map(|group| group.split(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,9}(s|es|ies)?") {
            proptest::prop_assert!(singular(&word).len() <= word.len());
        }
    }
}
