//! Detects whether a prompt contains the id that a tool requires, so that no other tool has to find
//! it.

use std::collections::BTreeSet;

use crate::catalog::RequiredId;

/// Minimum length of a token of letters and digits that counts as an id: `a1b2c3`, not `v2` or
/// `10am`.
const LEAST_MIXED: usize = 6;

/// Minimum length of a number that counts as an id: years and amounts are mostly shorter.
const LEAST_NUMBER: usize = 5;

const UUID_DIGITS: usize = 32;

/// Words between an entity and its number: "the issue with id 12", "issue no. 12".
const LINKS: [&str; 11] =
    ["by", "has", "id", "ids", "is", "named", "no", "number", "the", "whose", "with"];

/// The ids in a prompt.
pub struct PromptIds<'a> {
    tokens: Vec<&'a str>,
    has_uuid: bool,
    has_url: bool,
    /// The number of different ids. Keys that differ in their numbers alone count once: `WEB-71` and
    /// `WEB-72` are two values of one parameter.
    kinds: usize,
}

impl<'a> PromptIds<'a> {
    pub fn new(prompt: &'a str) -> Self {
        let tokens: Vec<&str> = prompt.split(is_end).filter(|token| !token.is_empty()).collect();
        let ids = tokens.iter().filter(|token| is_id(token));
        let kinds = ids.map(|token| kind(token)).collect::<BTreeSet<String>>().len();
        let has_url = tokens.iter().any(|token| is_url(token));
        Self { has_uuid: has_uuid(prompt), has_url, kinds, tokens }
    }

    /// Returns those of the ids which one tool requires that the prompt does not contain. It contains
    /// one as a number near the entity's name, in a URL, or as anything that looks like an id, which is
    /// the value of one of them. If an id must be a UUID, only a UUID counts: whoever writes "close
    /// WEB-7" leaves it to a tool to find the UUID of that issue.
    pub fn lacked<'r>(
        &'r self,
        required: &'r [RequiredId],
    ) -> impl Iterator<Item = &'r RequiredId> {
        let mut left = self.kinds;
        required.iter().filter(move |required| {
            if required.is_uuid {
                return !self.has_uuid;
            }
            let is_left = left > 0;
            left -= usize::from(is_left);
            !is_left && !self.has_url && !has_number_near(&self.tokens, &required.entity)
        })
    }
}

/// A key without its digits, or a number.
fn kind(token: &str) -> String {
    let token = token.trim_matches(|c: char| !c.is_alphanumeric());
    let letters: String = token.chars().filter(|c| !c.is_ascii_digit()).collect();
    if letters.is_empty() { token.to_owned() } else { letters }
}

/// Whether a word of the prompt has the 32 hexadecimal digits of a UUID, with or without hyphens.
fn has_uuid(prompt: &str) -> bool {
    let mut words = prompt.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.any(|word| {
        let mut digits = word.bytes().filter(|byte| *byte != b'-');
        digits.clone().count() == UUID_DIGITS && digits.all(|byte| byte.is_ascii_hexdigit())
    })
}

fn is_end(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, ',' | ';' | '(' | ')' | '"' | '\'' | '`' | '“' | '”' | '<' | '>')
}

fn is_url(token: &str) -> bool {
    token.contains("://") || token.starts_with("www.")
}

fn is_id(token: &str) -> bool {
    let token = token.trim_matches(['.', '?', '!', ':']);
    let number = token.strip_prefix('#').unwrap_or(token);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let has_digit = token.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = token.bytes().any(|byte| byte.is_ascii_alphabetic());
    is_url(token)
        || is_number && (number.len() >= LEAST_NUMBER || number.len() < token.len())
        || has_digit && has_letter && token.chars().count() >= LEAST_MIXED
        || is_key(token)
}

/// Whether a token is a key as issue trackers write them: `WEB-7`.
fn is_key(token: &str) -> bool {
    token.split_once('-').is_some_and(|(project, number)| {
        project.len() > 1
            && project.bytes().all(|byte| byte.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether a number, or a token with a number, follows the entity's name or the word "id".
fn has_number_near(tokens: &[&str], entity: &str) -> bool {
    let words: Vec<String> = tokens
        .iter()
        .map(|token| token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .collect();
    let names = |word: &str| {
        let ending = word.strip_prefix(entity);
        matches!(word, "id" | "ids") || matches!(ending, Some("" | "s" | "es"))
    };
    words.iter().enumerate().filter(|(_, word)| names(word)).any(|(at, _)| {
        let next = words[at + 1..].iter().find(|word| !LINKS.contains(&word.as_str()));
        next.is_some_and(|word| word.bytes().any(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(entity: &str, is_uuid: bool) -> RequiredId {
        let (parameter, entity) = (format!("{entity}_id"), entity.to_owned());
        RequiredId { parameter, entity, is_uuid, is_stated: false, suppliers: Vec::new() }
    }

    fn has_id_of(prompt: &str, entity: &str, is_uuid: bool) -> bool {
        PromptIds::new(prompt).lacked(&[required(entity, is_uuid)]).next().is_none()
    }

    #[test]
    fn one_id_is_no_value_of_two_parameters() {
        for (prompt, ids) in [
            ("move WEB-71 to done", 1),
            ("move WEB-71 and WEB-72 to done", 1),
            ("move WEB-71 to sprint 88123", 2),
            ("delete 8812345 of 8812346", 2),
        ] {
            let all = ["issue", "state", "account"].map(|entity| required(entity, false));
            let lacked = PromptIds::new(prompt).lacked(&all).count();
            assert_eq!(all.len() - lacked, ids, "{prompt}");
        }
    }

    #[test]
    fn ids_urls_and_numbers_by_the_entity_are_ids() {
        for prompt in [
            "close issue 12",
            "close the issue with the id 7",
            "close issue no. 12",
            "close issues 3 and 4",
            "what is id 9",
            "close PROJ-123",
            "close WEB-7",
            "open https://example.org/x",
            "show 3fa85f64-5717-4562-b3fc-2c963f66afa6",
            "delete 8812345",
            "see #12",
        ] {
            assert!(has_id_of(prompt, "issue", false), "{prompt}");
        }
    }

    #[test]
    fn where_a_uuid_is_required_a_key_is_no_id() {
        for prompt in ["close WEB-7", "close the issue with the id 12", "https://x.org/issues/12"] {
            assert!(!has_id_of(prompt, "issue", true), "{prompt}");
        }
        for uuid in ["3fa85f64-5717-4562-b3fc-2c963f66afa6", "3FA85F6457174562B3FC2C963F66AFA6"] {
            for prompt in [format!("close {uuid}."), format!("see https://x.org/i/{uuid}?a=b")] {
                assert!(has_id_of(&prompt, "issue", true), "{prompt}");
            }
        }
    }

    #[test]
    fn names_years_and_amounts_are_no_ids() {
        for prompt in [
            "the credits of \"Breaking Bad\"",
            "home runs of Aaron Judge in 2022",
            "close the issue about the login",
            "list 20 issues from the 3rd of May at 10am",
            "the issues of v2",
            "the low-7 issues of A-1",
            "",
        ] {
            assert!(!has_id_of(prompt, "issue", false), "{prompt}");
        }
    }
}
