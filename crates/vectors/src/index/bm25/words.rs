//! The unstemmed words of the rows, which are needed to correct spelling: a stem does not tell how
//! its word is spelt.

use std::sync::OnceLock;

use super::super::tokenizer::camel_case_parts;

/// Minimum length of a word in letters.
const LEAST: usize = 4;

/// Maximum length of a word in letters; longer ones are not natural words.
const MOST: usize = 24;

/// Words stored in one string and sorted on first use: only few prompts need them, and start-up
/// must not wait for sorting.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    text: String,
    /// For each word, where it ends and how many rows contain it.
    ends: Vec<(u32, u32)>,
    sorted: OnceLock<Vec<(Box<str>, u32)>>,
}

impl Words {
    /// Adds a word that occurs in `rows` rows. It may be in camel case; then its parts are added.
    pub fn add(&mut self, word: &str, rows: u32) {
        if word.len() >= LEAST && word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            self.text.push_str(word);
            self.ends.push((self.text.len() as u32, rows));
        }
    }

    /// The distinct words in lower case and alphabetical order, with their approximate number of
    /// rows.
    pub fn sorted(&self) -> &[(Box<str>, u32)] {
        self.sorted.get_or_init(|| {
            let mut words: Vec<(Box<str>, u32)> = Vec::with_capacity(self.ends.len());
            let mut start = 0;
            for &(end, rows) in &self.ends {
                let word = &self.text[start as usize..end as usize];
                let parts = camel_case_parts(word).into_iter().map(|range| &word[range]);
                let parts = parts.filter(|part| (LEAST..=MOST).contains(&part.len()));
                words.extend(parts.map(|part| (part.to_ascii_lowercase().into(), rows)));
                start = end;
            }
            words.sort_unstable();
            words.dedup_by(|again, kept| {
                let same = again.0 == kept.0;
                kept.1 = if same { kept.1.max(again.1) } else { kept.1 };
                same
            });
            words.shrink_to_fit();
            words
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_put_in_order_and_counted_once() {
        let mut words = Words::default();
        for (word, rows) in [
            ("Branch", 2),
            ("readBranch", 7),
            ("to", 9),
            ("branch", 3),
            ("Zürich", 1),
            ("v2beta", 1),
        ] {
            words.add(word, rows);
        }
        assert_eq!(words.sorted(), [("branch".into(), 7), ("read".into(), 7)]);
        assert!(Words::default().sorted().is_empty());
    }
}
