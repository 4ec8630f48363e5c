//! Splits names in camel case (`createPullRequest`) into words that an encoder knows.

use std::borrow::Cow;

/// Minimum number of lower-case letters before the first capital. `iPhone` and `eBay` are names, as
/// are capitalised words (`GitHub`).
const LEAST_LEADING: usize = 2;

/// Inserts spaces before the capitals of words in camel case.
pub fn split_camel_case(text: &str) -> Cow<'_, str> {
    if !text.as_bytes().windows(2).any(|pair| is_boundary(pair[0], pair[1])) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() + 8);
    for word in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let small = word.bytes().take_while(u8::is_ascii_lowercase).count();
        let mut previous = 0;
        for character in word.chars() {
            let next = u8::try_from(character).unwrap_or_default();
            if small >= LEAST_LEADING && is_boundary(previous, next) {
                spaced.push(' ');
            }
            spaced.push(character);
            previous = next;
        }
    }
    if spaced.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(spaced) }
}

fn is_boundary(before: u8, after: u8) -> bool {
    (before.is_ascii_lowercase() || before.is_ascii_digit()) && after.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_humps_are_cut_and_names_are_not() {
        for (text, spaced) in [
            ("call createPullRequest on GitHub", "call create Pull Request on GitHub"),
            ("listBuckets", "list Buckets"),
            ("please getHTTP2Status(url)", "please get HTTP2 Status(url)"),
            ("öffneDatei jetzt", "öffneDatei jetzt"),
        ] {
            assert_eq!(split_camel_case(text), spaced);
        }
        for text in ["an iPhone from eBay", "GitHub and PostgreSQL", "read_file", "", "名字 aB"] {
            assert!(matches!(split_camel_case(text), Cow::Borrowed(_)), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn only_spaces_are_added(text in "\\PC{0,60}") {
            let spaced = split_camel_case(&text).replace(' ', "");
            proptest::prop_assert_eq!(spaced, text.replace(' ', ""));
        }
    }
}
