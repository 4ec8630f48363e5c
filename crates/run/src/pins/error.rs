//! Errors of reading, writing and approving pins.

use std::path::PathBuf;

/// A failure of the pin file or of a request about a pin. If pins cannot be checked, no tool of the
/// server may be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or written.
    #[error(
        "cannot {action} the pins at {}; name a file that can be read and written with --pins FILE, or use no \
         pins with --pin-mode off",
        path.display()
    )]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },

    /// The file is no file of pins.
    #[error(
        "expected pins of version {expected} at {}, found {found}; \
         restore the file, or move it away to see every tool for the first time again",
        path.display()
    )]
    NotPins { path: PathBuf, expected: u32, found: String },

    /// The file has no such tool.
    #[error(
        "expected the id of a tool that was seen, found `{id}`; `toolroute pins list{}` has them all",
        super::pins_option(file.as_deref())
    )]
    UnknownTool { id: String, file: Option<PathBuf> },

    /// The file has no such server.
    #[error(
        "expected a server that was seen, found `{server}`; `toolroute pins list{}` has them all",
        super::pins_option(file.as_deref())
    )]
    UnknownServer { server: String, file: Option<PathBuf> },

    /// The definition is another one than was looked at.
    #[error(
        "expected `{id}` to be held back with the hash {expected}…, found {found}; \
         the digits are mistyped, or it has changed again: \
         look at it once more with `toolroute pins diff {word}{pins}`",
        word = super::shell_word(.id), pins = super::pins_option(file.as_deref())
    )]
    OtherHash { id: String, expected: String, found: String, file: Option<PathBuf> },

    /// The text is no hash, or too short a part of one.
    #[error(
        "expected the first {fewest} to 64 digits of the hash of the definition that is held back, \
         found `{found}`; `toolroute pins diff {word}{pins}` shows it",
        word = super::shell_word(.id), pins = super::pins_option(file.as_deref())
    )]
    BadHash { id: String, fewest: usize, found: String, file: Option<PathBuf> },
}
