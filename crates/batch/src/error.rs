//! Errors that stop a batch. A bad row never does.

use std::path::PathBuf;

use thiserror::Error as ThisError;

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot {action} {}", .path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },

    #[error("{} is a folder; expected a file of prompts, name one in it", .path.display())]
    InputIsFolder { path: PathBuf },

    #[error("{} holds no rows; expected {expected}", .path.display())]
    NoRows { path: PathBuf, expected: &'static str },

    /// No row of a file could be read, because it has another format or its prompts have another
    /// name.
    #[error("no row of {} could be read; expected {expected}; {cure} (line {line}: {found})", .path.display())]
    NothingRead {
        path: PathBuf,
        expected: &'static str,
        cure: String,
        /// The line of the first row, counted from 1.
        line: usize,
        found: String,
    },

    #[error(
        "{} has no column {wanted}; its columns are {}: name one of them with {flag}",
        .path.display(), .found.join(", ")
    )]
    MissingColumn { path: PathBuf, wanted: String, flag: &'static str, found: Vec<String> },

    #[error(
        "{} has the columns `query` and `prompt`; expected one with the prompts, name it with --prompt-column",
        .path.display()
    )]
    TwoPrompts { path: PathBuf },

    #[error(
        "{} has several columns `{column}`; expected one: rename the others, or name another with {flag}",
        .path.display()
    )]
    SameColumn { path: PathBuf, column: String, flag: &'static str },

    /// The header of a table is a single name that contains the separator of another dialect.
    #[error(
        "{} has {found:?} between its values; expected {expected:?}: {cure}", .path.display()
    )]
    Separator { path: PathBuf, found: char, expected: char, cure: &'static str },

    #[error(
        "{} is written with {codec}, which is not read; expected snappy, zstd, gzip or LZ4: write it with zstd or snappy",
        .path.display()
    )]
    Codec { path: PathBuf, codec: &'static str },

    #[error(
        "the column `{column}` of {} is of the type {found}; expected {expected}: convert it, or name another column with {flag}",
        .path.display()
    )]
    ColumnType {
        path: PathBuf,
        column: String,
        found: String,
        expected: &'static str,
        flag: &'static str,
    },

    /// The bytes are not a complete file of this format.
    #[error(
        "{} cannot be read as {format}; expected a whole file: write it anew where it is cut or damaged, or name its format with --input-format ({found})",
        .path.display()
    )]
    Damaged { path: PathBuf, format: &'static str, found: String },

    #[error("{} is {format}, which this program was built without; build it with the feature `arrow`, or use JSON lines or CSV", .path.display())]
    NotBuilt { path: PathBuf, format: String },

    #[error(
        "writing {} would overwrite {}, which this command reads; expected two different files: name another output",
        .output.display(), .input.display()
    )]
    SameFile { input: PathBuf, output: PathBuf },

    #[error(
        "{} is there already; expected a new file: name another output, or replace it with --overwrite",
        .path.display()
    )]
    Exists { path: PathBuf },

    /// An interrupted run of another job left its rows beside the output.
    #[error(
        "{} holds {rows} rows of a job with other options, input or catalog; expected none, or those of this job: give --overwrite to begin anew, or what that job was given to continue it",
        .path.display()
    )]
    OtherJob { path: PathBuf, rows: usize },

    #[error("{} is a folder; expected a file to write, name one in it", .path.display())]
    OutputIsFolder { path: PathBuf },

    #[error("the folder {} is not there; expected one to write into: make it, or name another output", .path.display())]
    NoFolder { path: PathBuf },

    /// The extension belongs to no format; it may be misspelt.
    #[error(
        "the extension of {} names no format; expected .jsonl, .csv or .tsv (each also with .gz or .zst), .parquet, .arrow or .arrows: name another output, or give --output-format",
        .path.display()
    )]
    UnknownExtension { path: PathBuf },

    #[error(
        "another batch is writing {}; wait for its end, or name another output", .path.display()
    )]
    Busy { path: PathBuf },

    #[error(
        "{} is not the unfinished output of a batch; expected none or one of ours: move it away, or name another output",
        .path.display()
    )]
    NotOurPartial { path: PathBuf },
}

impl Error {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
