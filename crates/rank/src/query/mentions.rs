//! Removes names that a prompt only mentions, such as in "rename the function create_issue". A
//! mention does not request the tool of that name and must not count as an exact match.

use std::borrow::Cow;

use super::is_listed;

/// Kinds of named things in a program or a database.
const KINDS: &str = "branch class column component constant decorator directory endpoint enum field file folder \
    function hook identifier interface macro method module parameter property struct symbol table test trait variable \
    view";

/// Kinds that never refer to a tool, so that they need no article.
const PLAIN_KINDS: &str =
    "branch class column directory enum field file folder struct table trait variable";

const ARTICLES: &str = "the this that these those our my your its a an every each all";

/// Words after which a name is being called, whatever its kind.
const CALLS: &str = "call calling use using run running invoke invoking execute executing try trigger via with through by";

/// Verbs whose object is a text or a program, not a tool.
const TELLS: &str = "rename refactor document explain describe grep";

/// Nouns that relate to a name by "of", "for" or "to".
const PARTS: &str = "callers definition docstring documentation implementation occurrences references signature source \
    usages";

/// Verbs after a name in a question about it: "what does it do".
const DOES: &str = "do does mean return work";
/// The same in the passive: "where is it defined".
const DONE: &str = "called declared defined documented implemented imported used";

/// Returns the prompt without the names that it only mentions. Names that it calls stay, and so do
/// unclear cases. English only.
pub fn without_mentions(prompt: &str) -> Cow<'_, str> {
    let tokens: Vec<&str> = prompt.split_whitespace().collect();
    let words: Vec<String> = tokens.iter().map(|token| word(token)).collect();
    let (mut sentence, mut last, mut mentioned) = (0, None, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        if is_name(token) {
            let (before, after) = (&words[sentence..at], &words[at + 1..]);
            let goes_on = last.is_some_and(|last| goes_on(&tokens, last, at));
            if goes_on || is_mention(before, after) {
                mentioned.push(*token);
                last = Some(at);
            }
        }
        if token.ends_with(['.', '!', '?', ';']) {
            sentence = at + 1;
        }
    }
    if mentioned.is_empty() {
        Cow::Borrowed(prompt)
    } else {
        Cow::Owned(without(prompt, &mentioned))
    }
}

/// Removes parts from a text. The parts must be in the order of the text.
fn without(text: &str, parts: &[&str]) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    for part in parts {
        let is_token = |at: &usize| {
            let (before, after) = (&rest[..*at], &rest[*at + part.len()..]);
            !before.ends_with(|c: char| !c.is_whitespace())
                && !after.starts_with(|c: char| !c.is_whitespace())
        };
        let places = rest.match_indices(part).map(|(at, _)| at);
        let Some(at) = places.into_iter().find(is_token) else { continue };
        kept.push_str(&rest[..at]);
        rest = &rest[at + part.len()..];
    }
    kept.push_str(rest);
    kept
}

/// A token in lower case, without the punctuation around it.
fn word(token: &str) -> String {
    token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// Whether a word is one of the kinds, in the singular or the plural.
fn is_kind(kinds: &str, word: &str) -> bool {
    let one = word.strip_suffix('s').unwrap_or(word);
    is_listed(kinds, word)
        || is_listed(kinds, one.strip_suffix('e').unwrap_or(one))
        || is_listed(kinds, one)
}

/// Whether a token looks like a name: quoted as code, or several words in one.
fn is_name(token: &str) -> bool {
    let name = token.trim_matches(|c: char| !c.is_alphanumeric());
    let bytes = name.as_bytes();
    let is_joined = |three: &[u8]| three[0].is_ascii_alphanumeric() && b"_:./".contains(&three[1]);
    let is_camel_case = |two: &[u8]| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase();
    let quoted = token.matches('`').count();
    quoted.is_multiple_of(2)
        && (quoted > 0 || bytes.windows(3).any(is_joined) || bytes.windows(2).any(is_camel_case))
}

/// Whether a name continues a list of mentions: "rename a_b to c_d", "explain a_b, c_d".
fn goes_on(tokens: &[&str], last: usize, at: usize) -> bool {
    let joint = || is_listed("and or to into as", &word(tokens[at - 1]));
    (last + 1 == at && tokens[last].ends_with(',')) || (last + 2 == at && joint())
}

/// Whether a name between these words of a sentence is only mentioned.
fn is_mention(before: &[String], after: &[String]) -> bool {
    let mut words = before.iter().rev().map(String::as_str).peekable();
    let named = words.next_if(|word| matches!(*word, "named" | "called")).is_some();
    let kind = words.next_if(|word| is_kind(KINDS, word));
    let article = words.next_if(|word| is_listed(ARTICLES, word)).is_some();
    let (verb, earlier) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if named && kind.is_none() || is_listed(CALLS, verb) {
        return false;
    }
    let mut after = after.iter().map(String::as_str).peekable();
    after.next_if(|word| is_kind(KINDS, word));
    let (next, then) = (after.next().unwrap_or_default(), after.next().unwrap_or_default());
    match verb {
        verb if is_listed(TELLS, verb) => true,
        "for" if earlier == "grep" => true,
        "of" | "for" | "to" if is_listed(PARTS, earlier) => true,
        "do" | "does" | "did" if is_listed("what how why", earlier) => is_listed(DOES, next),
        "is" | "are" if earlier == "where" => is_listed(DONE, next),
        "where" | "how" => is_listed("is are gets", next) && is_listed(DONE, then),
        _ => kind.is_some_and(|kind| article || is_kind(PLAIN_KINDS, kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "create_issue";

    #[test]
    fn names_that_are_talked_about_are_left_out() {
        for prompt in [
            "rename the function create_issue",
            "rename create_issue to open_ticket",
            "what does create_issue do?",
            "what does the function create_issue(title) return",
            "what does the create_issue function do",
            "explain create_issue",
            "explain `create_issue` please",
            "Explain how this works. Then describe our method create_issue.",
            "find where create_issue is defined",
            "where is create_issue implemented?",
            "the variable create_issue shadows something",
            "delete the branch create_issue",
            "drop column create_issue",
            "add an index to the table create_issue",
            "open the file create_issue.py next to create_issue",
            "document create_issue",
            "grep for create_issue in src",
            "grep create_issue",
            "find all usages of create_issue",
            "show me the definition of the class create_issue",
            "refactor list_issues and create_issue",
            "explain list_issues, create_issue",
            "checkout the branch named create_issue",
        ] {
            // A file is always a mention; the name after it is one only if the prompt says so.
            let expected = usize::from(prompt.contains("next to"));
            let read = without_mentions(prompt);
            assert_eq!(read.matches(NAME).count(), expected, "{prompt}: {read}");
        }
        assert_eq!(without_mentions("rename create_issue to open_ticket"), "rename  to ");
        assert_eq!(without_mentions("what does create_issue do?"), "what does  do?");
        let read = without_mentions("call create_issue_for, then explain create_issue");
        assert_eq!(read, "call create_issue_for, then explain ");
    }

    #[test]
    fn names_that_are_called_stay() {
        for prompt in [
            "create_issue",
            "call create_issue",
            "call create_issue for it",
            "call the function create_issue",
            "please use create_issue for the bug",
            "use the method create_issue",
            "run create_issue",
            "run the function create_issue on it",
            "create_issue please",
            "create_issue with title login",
            "invoke the tool create_issue",
            "create_issue(title)",
            "create_issue: login is broken",
            "explain the bug, then call create_issue",
            "what does the team need? create_issue",
            "do it with the function create_issue",
            "rename the file using create_issue",
            "read the docs and create_issue for it",
            "can you create_issue about the table users",
            "I need createIssue to do its work",
            "the create_issue tool",
            "try `create_issue` again",
            "file a bug by create_issue",
            "",
        ] {
            assert!(matches!(without_mentions(prompt), Cow::Borrowed(_)), "{prompt}");
        }
    }

    proptest::proptest! {
        #[test]
        fn words_are_only_taken_out(text in "(explain |the file |a_b |a_b, |`a b` |to |x/y |\\PC){0,12}") {
            let read = without_mentions(&text);
            let mut letters = text.chars();
            proptest::prop_assert!(read.chars().all(|c| letters.any(|other| other == c)));
        }
    }
}
