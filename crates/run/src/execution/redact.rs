//! Keeps secrets out of logs.

use std::sync::LazyLock;

use regex::Regex;

const HIDDEN: &str = "[secret]";

/// Shorter values would blot out words that are no secrets.
const SHORTEST: usize = 6;

/// Names under which secrets are written in files, headers and query strings.
const NAMES: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "authorization",
    "credential",
    "cookie",
    "key",
];

/// What secrets look like where nobody said that they are some: a value after a name of [`NAMES`],
/// the word after `Bearer`, and keys with the prefixes of well-known services.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix)
        (?P<keep> \b(?:bearer|basic)\s+ ) [a-z0-9._~+/=-]{6,}
        | (?P<name> [\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|authorization|credential|access[_-]?key)
            [\w-]*["']?\s*[=:]\s*["']? ) (?:(?:bearer|basic)\s+)? [^\s"',;&}\]]{4,}
        | \b(?:sk|pk|ghp|gho|ghs|xox[abp]|glpat|AKIA|AIza)[-_]?[a-z0-9_-]{12,}
        | \beyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*
        "#,
    )
    .expect("the pattern is fixed and compiles. This is a bug.")
});

/// Whether what stands under this name is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name: String =
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.iter().any(|known| name.contains(known))
}

/// Replaces secrets by `[secret]`: values that it was told, and what looks like one.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<String>,
}

impl Redactor {
    /// Adds values that must not be seen.
    pub fn hide(&mut self, values: impl IntoIterator<Item = String>) {
        self.values.extend(values.into_iter().filter(|value| value.len() >= SHORTEST));
        // The longer one first, so that none is left over of a secret that holds another.
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        self.values.dedup();
    }

    /// The text without secrets.
    pub fn clean(&self, text: &str) -> String {
        // All of them are looked for in the text as it came: one that is hidden first could be what
        // another is known by.
        let known = self.values.iter().flat_map(|value| text.match_indices(value.as_str()));
        let mut found: Vec<(usize, usize)> =
            known.map(|(start, value)| (start, start + value.len())).collect();
        found.extend(SHAPES.captures_iter(text).map(|shape| {
            let kept = shape.name("keep").or_else(|| shape.name("name"));
            let whole = shape.get_match();
            (kept.map_or(whole.start(), |kept| kept.end()), whole.end())
        }));
        found.sort_unstable();
        let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
        for (start, end) in found {
            // One that begins within another is hidden with it.
            if start >= done {
                clean.push_str(&text[done..start]);
                clean.push_str(HIDDEN);
            }
            done = done.max(end);
        }
        clean.push_str(&text[done..]);
        clean
    }
}

/// Says how many it knows, never which.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden_and_prose_is_not() {
        let redactor = Redactor::default();
        for (text, clean) in [
            ("Authorization: Bearer abcdef123456", "Authorization: [secret]"),
            ("sent Bearer abcdef123456", "sent Bearer [secret]"),
            ("url?api_key=abcd1234&q=x", "url?api_key=[secret]&q=x"),
            (r#"{"password": "hunter22"}"#, r#"{"password": "[secret]"}"#),
            ("with sk-ABCDEFGHIJKLMNOP1234", "with [secret]"),
            ("the key to success is a token effort", "the key to success is a token effort"),
        ] {
            assert_eq!(redactor.clean(text), clean);
        }
    }

    #[test]
    fn a_secret_within_a_secret_leaves_nothing() {
        let mut redactor = Redactor::default();
        redactor.hide(["abcdefgh".to_owned(), "abcdefgh-longer".to_owned(), "x".to_owned()]);
        assert_eq!(redactor.clean("x abcdefgh-longer abcdefgh"), "x [secret] [secret]");
        assert_eq!(format!("{redactor:?}"), "Redactor(2 values)");
        redactor.hide(["Bearer".to_owned(), "token=abcd e".to_owned()]);
        let clean = redactor.clean("Authorization: Bearer wxyz123456, a token=abcd ef");
        assert_eq!(clean, "Authorization: [secret], a [secret]f");
    }
}
