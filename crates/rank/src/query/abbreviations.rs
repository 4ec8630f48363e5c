//! Spells out abbreviations that people use for the things of a catalog: "PR 88" is "pull request 88". The encoder
//! does not know most of them, and no tool has them.

use std::borrow::Cow;

use regex::Captures;

use super::Pattern;
use super::spelling::Lexicon;
use super::verbs::third_person;

/// Abbreviations and what they stand for. Those in capitals are words or titles in lower case.
const TABLE: [(&str, &str); 23] = [
    ("acct", "account"),
    ("addr", "address"),
    ("appt", "appointment"),
    ("cfg", "config"),
    ("db", "database"),
    ("dept", "department"),
    ("dm", "direct message"),
    ("env", "environment"),
    ("img", "image"),
    ("k8s", "kubernetes"),
    ("mgr", "manager"),
    ("MR", "merge request"),
    ("msg", "message"),
    ("mtg", "meeting"),
    ("org", "organization"),
    ("pkg", "package"),
    ("pr", "pull request"),
    ("pwd", "password"),
    ("qty", "quantity"),
    ("repo", "repository"),
    ("svc", "service"),
    ("txn", "transaction"),
    ("vm", "virtual machine"),
];

static WORD: Pattern = Pattern::new(r"\b[A-Za-z][A-Za-z0-9]{1,5}\b");

/// How many times as many tools must have the words as have the abbreviation, which may mean something else to them.
const MOSTLY: u32 = 4;

/// Returns a prompt with abbreviations spelt out whose words the catalog's tools have. English only.
pub(super) fn spelt_out<'a>(prompt: &'a str, lexicon: &impl Lexicon) -> Cow<'a, str> {
    let words = lexicon.catalog_words();
    let count = |word: &str| {
        let found = words.binary_search_by(|(known, _)| (**known).cmp(word));
        found.map_or(0, |at| words[at].1)
    };
    let tools = |word: &str| count(word).max(count(&third_person(word)));
    let stands_for = |word: &str| {
        let lower = word.to_ascii_lowercase();
        let (_, long) = TABLE.iter().find(|(short, _)| word == *short || lower == *short)?;
        let least = long.split(' ').map(tools).min().unwrap_or_default();
        (least > 0 && least >= MOSTLY * tools(&lower)).then_some(*long)
    };
    WORD.replace_all(prompt, |found: &Captures<'_>| {
        let word = &found[0];
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        if is_other(word, &prompt[..whole.start], &prompt[whole.end..]) {
            return word.to_owned();
        }
        let plural = || stands_for(word.strip_suffix('s')?).map(third_person);
        let spelt = stands_for(word).map(str::to_owned).or_else(plural);
        spelt.unwrap_or_else(|| word.to_owned())
    })
}

/// Whether a word between two texts is a title, or a part of a path, an address or code: "MR SMITH", "org/repo", "`db`".
fn is_other(word: &str, before: &str, after: &str) -> bool {
    let joins = |c: char| "/._-@:=\\#`\"'$".contains(c);
    let mut next = after.chars();
    let is_title =
        word == "MR" && after.trim_start_matches([' ', '.']).starts_with(char::is_uppercase);
    is_title
        || before.ends_with(joins)
        || next.next().is_some_and(joins) && next.next().is_some_and(|c| !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(Vec<(Box<str>, u32)>);

    impl Lexicon for Words {
        fn contains(&self, _: &str) -> bool {
            false
        }

        fn catalog_words(&self) -> &[(Box<str>, u32)] {
            &self.0
        }
    }

    fn read(prompt: &str, words: &[(&str, u32)]) -> String {
        let words = words.iter().map(|(word, tools)| ((*word).into(), *tools)).collect();
        spelt_out(prompt, &Words(words)).into_owned()
    }

    #[test]
    fn what_the_tools_have_is_spelt_out() {
        let git =
            [("merge", 9), ("pr", 2), ("pull", 8), ("repo", 3), ("repository", 5), ("requests", 9)];
        for (prompt, text) in [
            ("list open PRs", "list open pull requests"),
            ("look at my pr 88, please", "look at my pull request 88, please"),
            ("who approved MR !5?", "who approved merge request !5?"),
            ("Mr Smith looks at org/pr and pr.txt", "Mr Smith looks at org/pr and pr.txt"),
            ("sprint of the repo", "sprint of the repo"),
            ("call MR SMITH about the `pr` column", "call MR SMITH about the `pr` column"),
        ] {
            assert_eq!(read(prompt, &git), text);
        }
        assert_eq!(read("a PR about it", &[("news", 1), ("pull", 1)]), "a PR about it");
        let agency = [("pr", 1), ("pull", 1), ("request", 1)];
        assert_eq!(read("the PR budget", &agency), "the PR budget", "tools have the word itself");
        assert_eq!(read("my repos", &[("repositories", 1)]), "my repositories");
    }
}
