//! Detects whether a prompt asks for one thing or for several: "show me the keys".

use toolroute_catalog::singular;

/// How many words at the beginning of a prompt may be a listing verb.
const BEGINNING: usize = 2;

/// Verbs that ask for all of something, whatever follows them.
pub(crate) const LISTS: [&str; 2] = ["list", "enumerate"];

/// Whether a prompt asks for several things of a kind, given by its noun in singular and lower
/// case: the prompt contains the plural, or starts with "list". A capitalised word within a
/// sentence is a name (`Google Tasks`). English only.
pub fn asks_for_several(prompt: &str, noun: &str) -> bool {
    let mut begins = true;
    prompt.split_whitespace().enumerate().any(|(at, token)| {
        let first = std::mem::replace(&mut begins, token.ends_with(['.', ':', '!', '?']));
        let word = token.trim_start_matches(['(', '"', '\'', '*']);
        let word = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '*']);
        let is_prose = word.bytes().all(|byte| byte.is_ascii_alphabetic())
            && (first || word.bytes().all(|byte| byte.is_ascii_lowercase()));
        let lists = || LISTS.iter().any(|verb| word.eq_ignore_ascii_case(verb));
        (at < BEGINNING && lists()) || (is_prose && is_plural(&word.to_ascii_lowercase(), noun))
    })
}

fn is_plural(word: &str, noun: &str) -> bool {
    word != noun && singular(word) == noun
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_or_a_list_asks_for_several() {
        for (prompt, noun) in [
            ("Show me the certificates in the key vault <name>", "certificate"),
            ("What keys are in there?", "key"),
            ("show me the keys in the vault", "key"),
            ("firewall rules of vpc main", "rule"),
            ("Buckets", "bucket"),
            ("list key names in vault x", "key"),
            ("please list what there is", "branch"),
            ("Ready? Branches, please", "branch"),
            ("the (open) queries", "query"),
        ] {
            assert!(asks_for_several(prompt, noun), "{prompt}");
        }
    }

    #[test]
    fn one_thing_names_and_addresses_do_not() {
        for (prompt, noun) in [
            ("show me the certificate in the vault", "certificate"),
            ("show me the key in the vault", "key"),
            ("an entry's id in Google Tasks, and its notes", "task"),
            ("https://github.com/acme/web/issues/17", "issue"),
            ("open src/keys/mod.rs", "key"),
            ("the status of it", "statu"),
            ("the bus, the glass", "bu"),
            ("", "key"),
        ] {
            assert!(!asks_for_several(prompt, noun), "{prompt}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_word_makes_it_panic(word in "\\PC{0,9}(s|es|ies)?") {
            let one = singular(&word).into_owned();
            proptest::prop_assert!(one.len() <= word.len());
            asks_for_several(&word, &one);
        }
    }
}
