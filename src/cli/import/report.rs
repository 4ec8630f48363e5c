//! The report of an import.

use std::path::PathBuf;

use serde::Serialize;

use super::installation::Installation;

/// What was done, or what a dry run would do.
#[derive(Default, Serialize)]
pub struct Report {
    pub dry_run: bool,
    /// The files that were read.
    pub read: Vec<PathBuf>,
    /// Where servers were looked for, if none was found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub looked_in: Vec<PathBuf>,
    pub servers: PathBuf,
    pub imported: Vec<Imported>,
    /// The servers in the files, with their names in our servers file.
    #[serde(skip)]
    pub origins: Vec<Origin>,
    /// The text of our servers file after the import.
    #[serde(skip)]
    pub text: String,
    /// Notes for the user, one sentence each.
    pub notes: Vec<String>,
    /// Backup copies of overwritten files.
    pub backups: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<Installation>,
}

/// The origin of a server in our file.
pub struct Origin {
    pub file: PathBuf,
    pub name: String,
    /// Its name in our servers file.
    pub ours: String,
    /// Whether the program has disabled it.
    pub is_disabled: bool,
}

/// A server of another program.
#[derive(Serialize)]
pub struct Imported {
    pub name: String,
    pub from: PathBuf,
    pub state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Added,
    /// Added under another name, because a different server has its name.
    Renamed,
    AlreadyThere,
    /// It was there, and `--allow-private` now allows its private address.
    Allowed,
}
