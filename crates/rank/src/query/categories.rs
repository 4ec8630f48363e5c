//! The categories of a catalog that a prompt mentions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::keywords::{Keywords, word_at};

static SHIPPED: LazyLock<Keywords<&'static str>> = LazyLock::new(|| {
    static TEXT: &str = include_str!("data/categories.txt");
    Keywords::parse(TEXT, |heading| {
        // The label must be `'static`, so it is taken from the text.
        TEXT.lines().filter_map(|line| line.strip_prefix("# ")).find(|known| *known == heading)
    })
});

/// Keywords of categories by name, in addition to those that this crate ships (English and Hebrew).
pub type CategoryWords = BTreeMap<String, Vec<String>>;

/// The categories of a catalog's tools, each with its keywords: its name, the user's words for it, and
/// the shipped words if a shipped category has the same name.
#[derive(Debug, Default)]
pub struct Categories(Vec<Category>);

#[derive(Debug)]
struct Category {
    /// In lower case, with spaces.
    name: String,
    /// The user's words, in lower case.
    words: Vec<String>,
}

impl Categories {
    /// `names` are the categories as the tools spell them; `more` holds the user's words by category.
    pub fn new<'n>(names: impl IntoIterator<Item = &'n str>, more: &CategoryWords) -> Self {
        let category = |name: &str| {
            let name = plain(name);
            let mine = more.iter().filter(|(known, _)| plain(known) == name);
            let words = mine.flat_map(|(_, words)| words).map(|word| word.to_lowercase());
            Category { words: words.collect(), name }
        };
        Self(names.into_iter().map(category).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the categories with a keyword in the prompt, as indices into the names. A category's
    /// score, above 0 and at most 1, is its number of keywords divided by the largest number of any
    /// category.
    pub fn mentioned(&self, prompt: &str) -> Vec<(usize, f32)> {
        if self.is_empty() {
            return Vec::new();
        }
        let text = prompt.to_lowercase();
        let shipped = SHIPPED.all(prompt);
        let count = |category: &Category| {
            let own = category.words.iter().chain([&category.name]);
            let own = own.filter(|word| !word.is_empty());
            let said = own.filter(|word| word_at(&text, word, false)).cloned();
            let ours = shipped.iter().filter(|(label, _)| *label == category.name);
            let ours = ours.flat_map(|(_, words)| words.iter().cloned());
            // A word that is both the name and a keyword counts once.
            said.chain(ours).collect::<BTreeSet<String>>().len()
        };
        let counts: Vec<usize> = self.0.iter().map(count).collect();
        let most = counts.iter().copied().max().unwrap_or(0).max(1) as f32;
        let found = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        found.map(|(at, count)| (at, count as f32 / most)).collect()
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['_', '-'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_those_of_the_catalog() {
        let more =
            CategoryWords::from([("Smart Home".into(), vec!["boiler".into(), "חימום".into()])]);
        let known = Categories::new(["Weather", "email", "git", "smart_home"], &more);
        let mentioned = |prompt| known.mentioned(prompt);
        assert_eq!(mentioned("email me the forecast and the rain radar"), [(0, 1.0), (1, 0.5)]);
        assert_eq!(mentioned("מה מזג האוויר מחר"), [(0, 1.0)]);
        assert_eq!(mentioned("my smart home is cold"), [(3, 1.0)]);
        assert_eq!(mentioned("is the Boiler on"), [(3, 1.0)]);
        assert_eq!(mentioned("אני רוצה חימום"), [(3, 1.0)]);
        assert!(mentioned("book a flight").is_empty(), "the catalog has no travel");
        assert!(Categories::default().mentioned("rain").is_empty());
    }
}
