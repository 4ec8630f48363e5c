//! Spells out abbreviations that people use for the things of a catalog: "PR 88" is "pull request 88". The encoder
//! does not know most of them, and no tool has them.

use std::borrow::Cow;

use regex::Captures;

use super::Pattern;
use super::actions::third_person;
use super::spelling::Lexicon;

/// Abbreviations and what they stand for. Those in capitals are words or titles in lower case.
const TABLE: [(&str, &str); 24] = [
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
    ("ns", "namespace"),
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

/// Returns a prompt with abbreviations spelt out whose words the catalog's tools have. English only.
pub(super) fn spelt_out<'a>(prompt: &'a str, lexicon: &impl Lexicon) -> Cow<'a, str> {
    let words = lexicon.catalog_words();
    let is_known = |word: &str| words.binary_search_by(|(known, _)| (**known).cmp(word)).is_ok();
    let has = |word: &str| is_known(word) || is_known(&format!("{word}s"));
    let stands_for = |word: &str| {
        let lower = word.to_ascii_lowercase();
        let (short, long) = TABLE.iter().find(|(short, _)| word == *short || lower == *short)?;
        // One word for another is none the better where tools have both.
        let is_own = !long.contains(' ') && has(&short.to_ascii_lowercase());
        (!is_own && long.split(' ').all(has)).then_some(*long)
    };
    WORD.replace_all(prompt, |found: &Captures<'_>| {
        let word = &found[0];
        let whole = found.get(0).map_or(0..0, |whole| whole.range());
        if is_joined(&prompt[..whole.start], &prompt[whole.end..]) {
            return word.to_owned();
        }
        let plural = || stands_for(word.strip_suffix('s')?).map(third_person);
        let spelt = stands_for(word).map(str::to_owned).or_else(plural);
        spelt.unwrap_or_else(|| word.to_owned())
    })
}

/// Whether a word between two texts is a part of a path or an address: "org/repo".
fn is_joined(before: &str, after: &str) -> bool {
    let joins = |c: char| "/._-@:=\\#".contains(c);
    let mut next = after.chars();
    before.ends_with(joins)
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

    fn read(prompt: &str, words: &[&str]) -> String {
        let words = words.iter().map(|word| ((*word).into(), 1)).collect();
        spelt_out(prompt, &Words(words)).into_owned()
    }

    #[test]
    fn what_the_tools_have_is_spelt_out() {
        let git = ["merge", "pull", "repo", "request"];
        for (prompt, text) in [
            ("list open PRs", "list open pull requests"),
            ("look at my pr 88, please", "look at my pull request 88, please"),
            ("who approved MR !5?", "who approved merge request !5?"),
            ("Mr Smith looks at org/pr and pr.txt", "Mr Smith looks at org/pr and pr.txt"),
            ("sprint of the repo", "sprint of the repo"),
        ] {
            assert_eq!(read(prompt, &git), text);
        }
        assert_eq!(read("a PR about it", &["pull", "news"]), "a PR about it");
        assert_eq!(read("my repos", &["repositories", "repository"]), "my repositories");
    }
}
