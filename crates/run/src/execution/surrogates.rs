//! Halves of characters in JSON.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

/// Replaces halves of surrogate pairs, which programs write that cut a text within a character, in the
/// text of JSON. JSON allows them, and no text can hold them.
pub fn without_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    // Each escape is matched as a whole, so that `\\ud83d` is not taken for one.
    static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?i-u)(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|(\\ud[89a-f][0-9a-f]{2})|\\.",
        )
        .expect("the pattern is fixed and compiles. This is a bug.")
    });
    ESCAPES.replace_all(json, |found: &Captures<'_>| match found.get(2) {
        Some(_) => br"\ufffd".to_vec(),
        None => found[0].to_vec(),
    })
}
