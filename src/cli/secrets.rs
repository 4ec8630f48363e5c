//! Hides the secrets of servers files in everything that this process writes to stderr.

use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

use toolroute_catalog::Tool;
use toolroute_run::execution::{Redactor, map_texts};

static KNOWN: RwLock<Option<Redactor>> = RwLock::new(None);

/// Hides further secrets from now on.
pub fn hide(redactor: &Redactor) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().hide_all_of(redactor);
}

/// Leaves these texts readable from now on: paths that the user gave, names of servers.
pub fn keep<'a>(texts: impl IntoIterator<Item = &'a str>) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.as_mut() {
        known.keep(texts);
    }
}

/// Leaves the ids of these tools readable, in every spelling.
pub fn keep_ids<'a>(tools: impl IntoIterator<Item = &'a Tool>) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    let Some(known) = known.as_mut() else { return };
    for tool in tools {
        known.keep([tool.id.as_str()]);
        known.keep(tool.id.with_colon());
    }
}

/// Removes secrets from a text. In JSON, each string is searched before it is escaped, because
/// escaping changes secrets with quotes or backslashes.
pub fn clean(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let Some(known) = known.as_ref() else { return text.to_owned() };
    match serde_json::from_str(text) {
        Ok(mut object @ Value::Object(_)) => {
            map_texts(&mut object, &[], &mut |text| *text = known.clean_known(text));
            let end = if text.ends_with('\n') { "\n" } else { "" };
            format!("{object}{end}")
        }
        _ => known.clean_known(text),
    }
}

/// Stderr for logs. Each event is written at once, so that no secret is split.
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(clean(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_hidden_where_json_escapes_it() {
        let secret = "p\"a\\ss\tword-of-the-test";
        let mut redactor = Redactor::default();
        redactor.hide([secret.to_owned()]);
        hide(&redactor);
        let line = json!({"level": "WARN", "fields": [{"message": format!("sent {secret}")}]});
        let cleaned = clean(&format!("{line}\n"));
        let expected = "{\"level\":\"WARN\",\"fields\":[{\"message\":\"sent [secret]\"}]}\n";
        assert_eq!(cleaned, expected);
        assert_eq!(clean(&format!("sent {secret}")), "sent [secret]");
    }
}
