//! What must not be seen of the servers files that were read, in anything that goes to stderr: notes and
//! logs of this process.

use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use crate::execution::Redactor;

static KNOWN: RwLock<Option<Redactor>> = RwLock::new(None);

/// Hides these from now on, beside those that are hidden already.
pub fn hide(redactor: &Redactor) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().hide_all_of(redactor);
}

/// The text without them.
pub fn clean(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map_or_else(|| text.to_owned(), |known| known.clean_known(text))
}

/// Stderr for logs: each event is written at once, so that no secret falls into two parts.
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
