//! JSON with comments, trailing commas and a byte-order mark, as in configuration files.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// Replaces comments, trailing commas and a byte-order mark with spaces. The result is JSON, and
/// its values keep their byte offsets.
pub fn blank(text: &str) -> String {
    // The end is searched after the opening `/*`: the comment `/*/` has no end.
    static COMMENT: LazyLock<Regex> =
        LazyLock::new(|| beside_strings(r"//[^\n]*|/\*.*?(?:\*/|\z)|\A\u{feff}"));
    static COMMA: LazyLock<Regex> = LazyLock::new(|| beside_strings(r",[ \t\n\r\x0C]*[}\]]"));
    let space = |byte| if byte == b'\n' { '\n' } else { ' ' };
    let text = COMMENT.replace_all(text, |found: &Captures<'_>| match found.get(1) {
        Some(string) => string.as_str().to_owned(),
        None => found[0].bytes().map(space).collect(),
    });
    let text = COMMA.replace_all(&text, |found: &Captures<'_>| match found.get(1) {
        Some(string) => string.as_str().to_owned(),
        None => found[0].replacen(',', " ", 1),
    });
    text.into_owned()
}

/// A pattern that also matches strings, as its first group.
fn beside_strings(pattern: &str) -> Regex {
    Regex::new(&format!(r#"(?s)("(?:\\.|[^"\\])*"?)|{pattern}"#))
        .expect("the patterns are fixed and compile. This is a bug.")
}

/// Parses JSON with comments. A syntax error has its position in the text.
pub fn value(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&blank(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_json_becomes_spaces() {
        for text in [
            "{/*/ x */\"a\": 1}",
            "{/**/\"a\": 1 /***/}",
            "{\"a\": /*/*/ 1}",
            "{\"a\": 1} /*/",
            "\u{feff}{\"a\": 1, // é,\n}",
        ] {
            assert_eq!(value(text).unwrap(), json!({"a": 1}), "{text}");
            assert_eq!(blank(text).len(), text.len());
        }
    }
}
