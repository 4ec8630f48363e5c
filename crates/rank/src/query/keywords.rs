//! Labels a text by keywords: for prompts that resemble no example, and for engines without a
//! model.

/// Keywords with their labels, in the order of the file.
pub(super) struct Keywords<L> {
    /// Each a word or phrase in lower case, and whether it is open: such a one (`gre*` in the file)
    /// also matches longer words.
    rules: Vec<(&'static str, bool, L)>,
}

impl<L: Copy + PartialEq> Keywords<L> {
    pub fn parse(file: &'static str, label: impl Fn(&str) -> Option<L>) -> Self {
        let rule = |(text, label): (&'static str, Option<L>)| {
            Some((text.trim_end_matches('*'), text.ends_with('*'), label?))
        };
        Self { rules: lines_by_label(file, label).into_iter().filter_map(rule).collect() }
    }

    /// Returns the label with the most keywords in the text, and those keywords. The first label
    /// wins a tie.
    pub fn best(&self, text: &str) -> Option<(L, Vec<String>)> {
        let found = self.all(text);
        let most = found.iter().map(|(_, words)| words.len()).max()?;
        found.into_iter().find(|(_, words)| words.len() == most)
    }

    /// Returns every label with a keyword in the text, and those keywords.
    pub fn all(&self, text: &str) -> Vec<(L, Vec<String>)> {
        let text = text.to_lowercase();
        let mut found: Vec<(L, Vec<String>)> = Vec::new();
        let rules = self.rules.iter().filter(|(word, open, _)| word_at(&text, word, *open));
        for (word, _, label) in rules {
            let word = (*word).to_owned();
            match found.iter_mut().find(|(known, _)| known == label) {
                Some((_, words)) => words.push(word),
                None => found.push((*label, vec![word])),
            }
        }
        found
    }
}

/// Parses a data file with `# label` headings, each followed by one text per line. Texts under a
/// heading for which `label` returns `None` have no label.
pub(super) fn lines_by_label<L: Copy>(
    file: &'static str,
    label: impl Fn(&str) -> Option<L>,
) -> Vec<(&'static str, Option<L>)> {
    let mut under = None;
    let mut texts = Vec::new();
    for line in file.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(heading) => under = label(heading),
            None => texts.push((line, under)),
        }
    }
    texts
}

/// Whether a lower-case text contains `word` as a whole word or, if `open`, as the beginning of a
/// word.
///
/// Hebrew and Arabic attach "the", "in" and "to" to words, and Chinese and Japanese have no spaces:
/// in these scripts, a match anywhere counts.
pub(super) fn word_at(text: &str, word: &str, open: bool) -> bool {
    if word.chars().any(is_joined_script) {
        return text.contains(word);
    }
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let free = |side: Option<char>| !side.is_some_and(char::is_alphanumeric);
        free(before) && (open || free(after))
    })
}

fn is_joined_script(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{6FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_part_of_another_but_where_a_script_joins_them() {
        assert!(word_at("make a plan!", "plan", false));
        assert!(!word_at("book a plane", "plan", false));
        assert!(word_at("testing it", "test", true));
        assert!(!word_at("the latest", "test", true));
        assert!(word_at("תכתוב בבקשה את הדרישות", "דרישות", false), "with the article");
        assert!(word_at("请部署服务", "部署", false));
    }

    #[test]
    fn the_most_keywords_win_and_of_equals_the_earlier_label() {
        let label = |heading: &str| heading.parse::<u8>().ok();
        let rules = Keywords::parse("# 1\nred\n# 2\nblue\ngre*\n# none\nblack\n", label);
        assert_eq!(rules.best("Red and GREEN and blue").unwrap().0, 2);
        assert_eq!(rules.best("blue or red").unwrap(), (1, vec!["red".to_owned()]));
        assert!(rules.best("black").is_none());
    }
}
