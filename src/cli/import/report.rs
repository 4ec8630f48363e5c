//! What an import did, or would do.

use std::path::PathBuf;

use serde::Serialize;

use super::installation::Installation;

/// What was done, or would be.
#[derive(Default, Serialize)]
pub struct Report {
    pub dry_run: bool,
    /// Files that were read.
    pub read: Vec<PathBuf>,
    pub servers: PathBuf,
    pub imported: Vec<Imported>,
    /// The servers of the files as those have them, with their names in ours.
    #[serde(skip)]
    pub origins: Vec<Origin>,
    /// Our servers file, as it is or would be.
    #[serde(skip)]
    pub text: String,
    /// What a user should know, a sentence each.
    pub notes: Vec<String>,
    /// Copies of what was overwritten.
    pub backups: Vec<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub into: Option<Installation>,
}

/// Where a server of ours came from.
pub struct Origin {
    pub file: PathBuf,
    pub name: String,
    /// Its name in our servers file.
    pub ours: String,
    /// The program does not use it.
    pub is_disabled: bool,
}

/// One server of another program.
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
    /// Under another name: another server has its own.
    Renamed,
    AlreadyThere,
}
