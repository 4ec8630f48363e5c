//! Prompts that name a tool outright: the tool must be found, whatever its description says.

use std::collections::HashMap;

/// Names and ids of every tool, lower-cased, with the rows that bear them. A name that several
/// servers share leads to all of its tools.
pub(super) struct ExactNames {
    rows: HashMap<String, Vec<u32>>,
}

impl ExactNames {
    /// `names` gives each row's names and ids.
    pub fn new<'a>(names: impl Iterator<Item = (u32, &'a str)>) -> Self {
        let mut rows: HashMap<String, Vec<u32>> = HashMap::new();
        for (row, name) in names {
            let rows = rows.entry(name.to_lowercase()).or_default();
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        Self { rows }
    }

    /// Rows whose name is the whole prompt, or stands in it as an identifier, ascending.
    pub fn find(&self, prompt: &str) -> Vec<u32> {
        let whole = prompt.trim().trim_matches(is_quote);
        let words = prompt.split_whitespace().filter_map(identifier);
        let mut rows: Vec<u32> = std::iter::once(whole)
            .chain(words)
            .filter_map(|name| self.rows.get(&name.to_lowercase()))
            .flatten()
            .copied()
            .collect();
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '`' | '"' | '\'' | '“' | '”' | '‘' | '’' | '«' | '»')
}

/// The word without the punctuation around it, where it reads as an identifier: quoted as code,
/// with a joint (`read_file`, `fs:read`, `git.log`) or a hump (`EvalMath`). A plain word such as
/// "fetch" is prose, and prose is ranked by what it means.
fn identifier(word: &str) -> Option<&str> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let inner = |joints: &[char]| bare.chars().any(|c| joints.contains(&c));
    let hump =
        bare.chars().zip(bare.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let is_identifier = word.contains('`') || hump || inner(&['_', ':', '.', '/', '-']);
    (is_identifier && !bare.is_empty()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(prompt: &str) -> Vec<u32> {
        let names = [
            (0, "read_file"),
            (0, "fs__read_file"),
            (1, "read_file"),
            (2, "fetch"),
            (3, "EvalMath"),
        ];
        ExactNames::new(names.into_iter()).find(prompt)
    }

    #[test]
    fn a_name_finds_every_tool_that_bears_it() {
        assert_eq!(find("read_file"), [0, 1]);
        assert_eq!(find("please call Read_File, now"), [0, 1]);
        assert_eq!(find("use fs__read_file."), [0]);
        assert_eq!(find("what does evalmath do"), [0u32; 0]);
        assert_eq!(find("what does EvalMath do?"), [3]);
    }

    #[test]
    fn a_plain_word_in_a_sentence_is_prose() {
        assert_eq!(find("fetch my dog"), [0u32; 0]);
        assert_eq!(find("fetch"), [2]);
        assert_eq!(find("run `fetch` on it"), [2]);
    }
}
