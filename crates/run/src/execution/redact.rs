//! Removes secrets from logs: the values that are passed to a server, and text that looks like a
//! secret.

use std::borrow::Cow;
use std::sync::LazyLock;

use percent_encoding::percent_decode_str;
use regex::Regex;
use serde_json::Value;

use super::servers::{Entry, Program, Remote};

const HIDDEN: &str = "[secret]";

/// The least length in bytes of a value that is hidden. Shorter values occur in ordinary text.
const SHORTEST: usize = 6;

/// The least length in bytes of a key in a URL.
const SHORTEST_KEY: usize = 12;

/// Words that mark a name as that of a secret, in files, headers, flags and query strings. They
/// match anywhere in a name, whatever separators it contains.
const NAMES: &str = "token secret password passwd passphrase apikey authorization credential cookie \
     signature accesskey privatekey authkey";

/// Words that must be a whole word of a name, because AUTHOR and KEYBOARD_LAYOUT contain them too.
const WORDS: [&str; 4] = ["key", "keys", "auth", "oauth"];

/// Words that must end a name, because many words contain them.
const LAST_NAMES: [&str; 4] = ["pass", "pwd", "pat", "dsn"];

/// Patterns of secrets that are not known: a value after a name like those in [`NAMES`], the word
/// after `Bearer` or `Basic`, the password in a URL, and keys with the prefixes of well-known
/// services.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?ix)
        (?P<keep> \b(?:bearer|basic)\s+ ) [a-z0-9._~+/=-]{6,}
        | (?P<user> \b[a-z][a-z0-9+.-]*://[^\s/:@]*: ) [^\s/@]+ (?P<at> @ )
        | (?P<name> [\w-]*(?:token|secret|passw(?:or)?d|api[_-]?key|authorization|credential|access[_-]?key)
            [\w-]*["']?\s*[=:]\s*["']? ) (?:(?:bearer|basic)\s+)? [^\s"',;&}\]]{4,}
        | \b(?:sk|pk|ghp|gho|ghs|xox[abp]|glpat|AKIA|AIza)[-_]?[a-z0-9_-]{12,}
        | \beyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,}\.[a-z0-9_-]*
        "#,
    )
    .expect("the pattern is fixed and compiles. This is a bug.")
});

/// Changes all texts of a value except those under the names in `but`.
pub fn map_texts(value: &mut Value, but: &[&str], change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| map_texts(item, but, change)),
        Value::Object(members) => {
            let words = members.iter_mut().filter(|(name, _)| !but.contains(&name.as_str()));
            words.for_each(|(_, member)| map_texts(member, but, change));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether a value with this name is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    let joined = words(name).concat();
    NAMES.split(' ').any(|known| joined.contains(known))
        || LAST_NAMES.iter().any(|last| joined.ends_with(last) && joined.len() > last.len())
        || words(name).iter().any(|word| {
            // A number at the end does not count, as in KEY2.
            WORDS.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()))
        })
}

/// Splits a name into words in lower case: `API_KEY`, `apiKey` and `APIKey` have two words,
/// `X-API-Key` has three.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                let ends_capitals = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
                !before.is_uppercase() || ends_capitals
            });
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The values of an entry that may be secrets: values of `env` and `headers`, arguments after a
/// flag with a secret's name, and the parts of a URL that `of_address` finds.
pub(super) fn secrets_of(entry: &Entry) -> Vec<String> {
    match entry {
        Entry::Stdio(program) | Entry::Process(program, _) => of_program(program),
        Entry::Http(remote) | Entry::OpenApi(remote) => of_remote(remote),
    }
}

pub(super) fn of_program(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in &program.env {
        of_value(name, value, &mut found);
    }
    let mut flag = None;
    for arg in &program.args {
        if let Some(name) = flag.take().filter(|_| !arg.starts_with("--")) {
            of_value(name, arg, &mut found);
        }
        // `--api-key=abc`, `API_KEY=abc` and `Authorization: Bearer abc`.
        match arg.split_once(['=', ':']) {
            Some((name, value)) if is_secret_name(name) => of_value(name, value, &mut found),
            _ => of_address(arg, &mut found),
        }
        flag = Some(arg.as_str()).filter(|arg| arg.starts_with('-') && is_secret_name(arg));
    }
    found
}

pub(super) fn of_remote(remote: &Remote) -> Vec<String> {
    let mut found = Vec::new();
    for (name, value) in &remote.headers {
        of_value(name, value, &mut found);
    }
    of_address(&remote.url, &mut found);
    found
}

/// Adds a value, and its last word: the second word of `Bearer abc` is the secret.
fn of_value(name: &str, value: &str, found: &mut Vec<String>) {
    of_address(value, found);
    if is_secret_name(name) || !is_harmless(value) {
        found.extend([value, value.trim()].map(str::to_owned));
        found.extend(value.split_whitespace().last().map(str::to_owned));
    }
}

/// Whether a value is harmless if its name is not that of a secret: a number, a word, a path, or a
/// URL without credentials and query. An error that quotes such a value must stay readable.
fn is_harmless(value: &str) -> bool {
    const LONGEST_WORD: usize = 16;
    let is_word = value.len() <= LONGEST_WORD
        && (value.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
            || value.bytes().all(|byte| byte.is_ascii_uppercase()));
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || b".:-".contains(&byte));
    let is_path = value.starts_with(['/', '~', '.']) && !value.contains([' ', '?']);
    let is_address = value.contains("://") && !value.contains(['@', '?', ' ']);
    is_word || is_number || is_path || is_address
}

/// Adds the parts of a URL that may be secrets: the user and the password, the values of the query,
/// and segments of the path that look like keys.
fn of_address(text: &str, found: &mut Vec<String>) {
    let Some((_, rest)) = text.split_once("://") else { return };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = path.split_once('/').unwrap_or((path, ""));
    if let Some((user, _)) = host.rsplit_once('@') {
        let password = user.split_once(':').map_or(user, |(_, password)| password);
        found.extend([user, password].map(str::to_owned));
        let plain = percent_decode_str(password).decode_utf8();
        found.extend(plain.ok().filter(|plain| plain != password).map(Cow::into_owned));
    }
    let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
    let is_key =
        |part: &&str| part.len() >= SHORTEST_KEY && part.bytes().any(|byte| byte.is_ascii_digit());
    found.extend(path.split('/').filter(is_key).chain(values).map(str::to_owned));
}

/// Replaces secrets with `[secret]`: known values, and text that looks like a secret.
#[derive(Clone, Default)]
pub struct Redactor {
    values: Vec<String>,
    /// Texts that contain a value and stay readable in texts of this program.
    kept: Vec<String>,
}

impl Redactor {
    /// Adds values to hide.
    pub fn hide(&mut self, values: impl IntoIterator<Item = String>) {
        self.values.extend(values.into_iter().filter(|value| value.len() >= SHORTEST));
        // Longer values first, so that a secret that contains another is hidden as a whole.
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        self.values.dedup();
    }

    /// Adds all values of another redactor.
    pub fn hide_all_of(&mut self, other: &Self) {
        self.hide(other.values.iter().cloned());
    }

    /// Adds public texts, such as ids of tools, that [`Redactor::clean_known`] leaves whole although
    /// a value to hide is a part of them. Elsewhere the value is hidden. Texts without a value that
    /// is known by now are not stored.
    #[doc(hidden)] // For our own crates.
    pub fn keep<T: Into<String> + AsRef<str>>(&mut self, texts: impl IntoIterator<Item = T>) {
        let Self { values, kept } = self;
        let has_value = |text: &T| values.iter().any(|value| text.as_ref().contains(&**value));
        for text in texts.into_iter().filter(has_value) {
            if !kept.iter().any(|known| known == text.as_ref()) {
                kept.push(text.into());
            }
        }
    }

    /// Replaces the secrets in a text.
    pub fn clean(&self, text: &str) -> String {
        let mut found = self.known(text);
        found.extend(SHAPES.captures_iter(text).map(|shape| {
            let kept = ["keep", "user", "name"].iter().find_map(|name| shape.name(name));
            let whole = shape.get_match();
            let end = shape.name("at").map_or(whole.end(), |at| at.start());
            (kept.map_or(whole.start(), |kept| kept.end()), end)
        }));
        without(text, found)
    }

    /// Replaces only the known values, for texts of this program, which contain no other secrets.
    pub fn clean_known(&self, text: &str) -> String {
        let mut found = self.known(text);
        if !found.is_empty() {
            found.retain(|range| !self.is_kept(text, *range));
        }
        without(text, found)
    }

    /// Whether the value at this range of a text is a part of a text that stays readable.
    fn is_kept(&self, text: &str, (start, end): (usize, usize)) -> bool {
        let is_part = |kept: &String, at: usize| {
            let from = start.checked_sub(at).and_then(|from| text.get(from..));
            let rest = from.and_then(|from| from.strip_prefix(kept.as_str()));
            // A longer word may be the secret itself.
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
        };
        let value = &text[start..end];
        let mut all = self.kept.iter();
        all.any(|kept| kept.match_indices(value).any(|(at, _)| is_part(kept, at)))
    }

    /// The byte ranges of known values. All values are searched in the original text, because
    /// hiding one could destroy a part of another.
    fn known(&self, text: &str) -> Vec<(usize, usize)> {
        let known = self.values.iter().flat_map(|value| text.match_indices(value.as_str()));
        known.map(|(start, value)| (start, start + value.len())).collect()
    }
}

fn without(text: &str, mut found: Vec<(usize, usize)>) -> String {
    found.sort_unstable();
    let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end) in found {
        // A range that begins within another is hidden with it.
        if start >= done {
            clean.push_str(&text[done..start]);
            clean.push_str(HIDDEN);
        }
        done = done.max(end);
    }
    clean.push_str(&text[done..]);
    clean
}

/// Shows the number of values, never the values.
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
            ("at postgres://me:pw@db/x", "at postgres://me:[secret]@db/x"),
            ("with sk-ABCDEFGHIJKLMNOP1234", "with [secret]"),
            ("the key to success is a token effort", "the key to success is a token effort"),
        ] {
            assert_eq!(redactor.clean(text), clean);
        }
    }

    #[test]
    fn names_of_secrets_are_told_from_words_that_hold_them() {
        let secrets = "API_KEY apikey apiKey APIKey x-api-key authtoken X-Auth AUTH OAUTH2 \
            KEY2 PRIVATE_KEY privateKey --key _authToken PGPASS Authorization \
            sshKeys AWS_ACCESS_KEY_ID CLIENT_SECRET";
        for secret in secrets.split(' ') {
            assert!(is_secret_name(secret), "{secret}");
        }
        let others = "AUTHOR GIT_AUTHOR_NAME authorName KEYBOARD_LAYOUT keyboardLayout \
            PRIVATE_MODE MONKEY keywords HOME PATH pass ";
        for plain in others.split(' ') {
            assert!(!is_secret_name(plain), "{plain}");
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

    #[test]
    fn an_id_stays_whole_and_the_same_word_beside_it_does_not() {
        let mut redactor = Redactor::default();
        redactor.hide(["check_stock".to_owned(), "r4nd0m-v4lue".to_owned()]);
        redactor.keep(["shop__check_stock", "shop__sell", "check_stock_of_all"]);
        assert_eq!(redactor.kept, ["shop__check_stock", "check_stock_of_all"]);
        for (text, clean) in [
            ("`shop__check_stock` waits", "`shop__check_stock` waits"),
            (
                "Nearest: shop__check_stock, check_stock_of_all.",
                "Nearest: shop__check_stock, check_stock_of_all.",
            ),
            ("check_stock, bar__check_stock", "[secret], bar__[secret]"),
            ("shop__check_stock r4nd0m-v4lue check_stock", "shop__check_stock [secret] [secret]"),
            ("shop__check_stock2", "shop__[secret]2"),
            ("é check_stock", "é [secret]"),
        ] {
            assert_eq!(redactor.clean_known(text), clean);
        }
        // Texts of others may quote the value.
        assert_eq!(redactor.clean("shop__check_stock"), "shop__[secret]");
    }

    #[test]
    fn what_a_server_is_given_is_a_secret_unless_it_says_nothing() {
        let text = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let env = [
            ("DATABASE_URL", "postgres://me:p%40ss-word@db/x"),
            ("HOOK", "correct-horse-battery"),
            ("PGPASS", "lowercase"),
            ("MODE", "production"),
            ("LEVEL", "WARNING"),
            ("HOME_DIR", "/srv/notes"),
            ("BASE", "https://example.org/api"),
        ];
        let program = Program {
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            args: text(&[
                "--api-key",
                "flag-value-1",
                "--token=flag-value-2",
                "-e",
                "MY_SECRET=flag-value-3",
                "--header",
                "Authorization: Bearer flag-value-4",
                "https://example.org/mcp?key=flag-value-5",
                "--port",
                "808080",
            ]),
            ..Program::default()
        };
        let mut redactor = Redactor::default();
        redactor.hide(secrets_of(&Entry::Stdio(program)));
        for secret in ["p%40ss-word", "p@ss-word", "correct-horse-battery", "lowercase"] {
            assert_eq!(redactor.clean_known(&format!("<{secret}>")), "<[secret]>");
        }
        for number in 1..=5 {
            assert_eq!(redactor.clean_known(&format!("<flag-value-{number}>")), "<[secret]>");
        }
        let plain = "production WARNING /srv/notes https://example.org/api --port 808080 --api-key";
        assert_eq!(redactor.clean_known(plain), plain);
    }
}
