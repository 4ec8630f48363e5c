//! Exit codes, and which error has which.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use toolroute_batch as batch;
use toolroute_catalog as catalog;
use toolroute_eval as eval;
use toolroute_rank::{engine, feedback, query, selection};
use toolroute_vectors::{embedding, index};

/// Writing to stdout failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to stdout; check where it leads to and the space there")]
pub struct StdoutError {
    pub source: io::Error,
}

/// Errors without a code of their own.
pub const FAILED: u8 = 1;
/// The arguments are invalid. clap uses the same code.
pub const BAD_ARGUMENTS: u8 = 2;
/// The contents of an input file are invalid.
pub const BAD_DATA: u8 = 3;
/// A model is missing or does not match its manifest.
const NO_MODEL: u8 = 4;
/// A file cannot be read or written.
pub const IO: u8 = 5;
/// Ended by ctrl-c, as shells number it.
#[cfg(feature = "mcp")]
pub const INTERRUPTED: u8 = 130;

/// An error of the command line itself.
#[derive(Debug, thiserror::Error)]
#[error("{said}")]
struct Failure {
    code: u8,
    said: String,
}

/// An error of the command line itself, with a code of its own.
pub fn failure(code: u8, said: impl Into<String>) -> anyhow::Error {
    Failure { code, said: said.into() }.into()
}

pub fn bad_arguments(said: impl Into<String>) -> anyhow::Error {
    failure(BAD_ARGUMENTS, said)
}

pub fn bad_data(said: impl Into<String>) -> anyhow::Error {
    failure(BAD_DATA, said)
}

pub fn io(said: impl Into<String>) -> anyhow::Error {
    failure(IO, said)
}

/// Whether stdout was closed by its reader, such as `head`.
pub fn reader_left(error: &anyhow::Error) -> bool {
    let writing = |cause: &(dyn Error + 'static)| {
        cause.is::<StdoutError>()
            || matches!(cause.downcast_ref(), Some(batch::Error::Io { action: "write", .. }))
    };
    let broken = |cause: &(dyn Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(writing) && error.chain().any(broken)
}

/// The error with its causes, without those that the error's own message repeats.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut chain = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !chain.contains(&cause) {
            chain = format!("{chain}: {cause}");
        }
    }
    match error.chain().find_map(hint) {
        Some(hint) => format!("{chain}; {hint}"),
        None => chain,
    }
}

/// What a command can do about an error, in addition to what its message says to every caller.
fn hint(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(engine::Error::Feedback(error)) = cause.downcast_ref() {
        return hint_of_feedback(error);
    }
    cause.downcast_ref().and_then(hint_of_feedback).or_else(|| hint_of_conductor(cause))
}

fn hint_of_feedback(error: &feedback::Error) -> Option<&'static str> {
    use feedback::Error as Of;
    match error {
        Of::Missing { .. } | Of::Foreign { .. } => Some("`toolroute learn` writes one"),
        Of::Version { .. }
        | Of::Truncated { .. }
        | Of::Checksum { .. }
        | Of::Malformed { .. }
        | Of::OtherModel { .. } => Some("`toolroute learn --fresh` does"),
        _ => None,
    }
}

#[cfg(not(feature = "mcp"))]
fn hint_of_conductor(_cause: &(dyn Error + 'static)) -> Option<&'static str> {
    None
}

#[cfg(feature = "mcp")]
fn hint_of_conductor(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    use toolroute_conduct::Error as Of;
    match cause.downcast_ref()? {
        Of::Schema { .. } => Some("`toolroute conduct --schema` prints it"),
        Of::Unfinished { .. } | Of::RepliesAnew => Some("--resume does"),
        Of::NothingToResume { .. } => Some("leave out --resume"),
        Of::Missing { .. } => Some("`toolroute conduct` makes one"),
        _ => None,
    }
}

/// Whether the error is a list with a line per problem.
pub fn is_list(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(catalog::Error::Strict { .. }))
}

/// The code of a command that has done its work, but perhaps with invalid data.
pub fn bad_data_if(is_bad: bool) -> ExitCode {
    ExitCode::from(if is_bad { BAD_DATA } else { 0 })
}

pub fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(code_of).unwrap_or(FAILED)
}

fn code_of(cause: &(dyn Error + 'static)) -> Option<u8> {
    let code = cause.downcast_ref().map(|Failure { code, .. }| *code);
    code.or_else(|| cause.downcast_ref().map(of_engine))
        .or_else(|| cause.downcast_ref().map(of_embedding))
        .or_else(|| cause.downcast_ref().map(of_eval))
        .or_else(|| cause.downcast_ref().map(of_batch))
        .or_else(|| cause.downcast_ref().map(of_feedback))
        .or_else(|| cause.downcast_ref().map(of_log))
        .or_else(|| cause.downcast_ref().map(of_catalog))
        .or_else(|| of_calls(cause))
        .or_else(|| cause.is::<query::Error>().then_some(BAD_DATA))
        .or_else(|| (cause.is::<StdoutError>() || cause.is::<io::Error>()).then_some(IO))
}

fn of_catalog(error: &catalog::Error) -> u8 {
    if matches!(error, catalog::Error::Unreadable { .. }) { IO } else { BAD_DATA }
}

/// Errors of calls, pins and the conductor.
#[cfg(feature = "mcp")]
fn of_calls(cause: &(dyn Error + 'static)) -> Option<u8> {
    let code = cause.downcast_ref().map(of_execution);
    code.or_else(|| cause.downcast_ref().map(of_pins))
        .or_else(|| cause.downcast_ref().map(of_conductor))
}

#[cfg(not(feature = "mcp"))]
fn of_calls(_cause: &(dyn Error + 'static)) -> Option<u8> {
    None
}

#[cfg(feature = "mcp")]
fn of_execution(error: &toolroute_run::execution::Error) -> u8 {
    use toolroute_run::execution::Error as Of;
    match error {
        Of::ServersFile { .. } => BAD_DATA,
        Of::Pattern { .. } => BAD_ARGUMENTS,
        Of::Kept { .. } => IO,
        _ => FAILED,
    }
}

#[cfg(feature = "mcp")]
fn of_pins(error: &toolroute_run::pins::Error) -> u8 {
    use toolroute_run::pins::Error as Of;
    match error {
        Of::Io { .. } => IO,
        Of::UnknownTool { .. } | Of::UnknownServer { .. } | Of::BadHash { .. } => BAD_ARGUMENTS,
        Of::NotPins { .. } => BAD_DATA,
        _ => FAILED,
    }
}

fn of_engine(error: &engine::Error) -> u8 {
    match error {
        engine::Error::EmptyPrompt | engine::Error::UnknownCandidates { .. } => BAD_DATA,
        engine::Error::BadWeight { .. }
        | engine::Error::BadConfidence { .. }
        | engine::Error::BadPolicyBand { .. }
        | engine::Error::BadNearBest { .. }
        | engine::Error::UnknownProfile { .. }
        | engine::Error::BadModelRule { .. } => BAD_ARGUMENTS,
        engine::Error::NoModel { .. } => NO_MODEL,
        engine::Error::Catalog(error) => of_catalog(error),
        engine::Error::Query(query::Error::TwoPrompts) => BAD_ARGUMENTS,
        engine::Error::Query(_) => BAD_DATA,
        engine::Error::Embedding(error) => of_embedding(error),
        engine::Error::NoFeedback => BAD_ARGUMENTS,
        engine::Error::Log(error) => of_log(error),
        engine::Error::Index(error) => of_index(error),
        engine::Error::Snapshot(error) => of_snapshot(error),
        engine::Error::Feedback(error) => of_feedback(error),
        engine::Error::Selection(selection::Error::Index(error)) => of_index(error),
        engine::Error::Selection(
            selection::Error::UnknownStrategy { .. }
            | selection::Error::UnknownSignal { .. }
            | selection::Error::BadToolPattern { .. }
            | selection::Error::BadSignalWeight { .. },
        ) => BAD_ARGUMENTS,
        _ => FAILED,
    }
}

fn of_embedding(error: &embedding::Error) -> u8 {
    match error {
        embedding::Error::Io { .. } => IO,
        embedding::Error::Inference { .. } | embedding::Error::Tokenize { .. } => FAILED,
        _ => NO_MODEL,
    }
}

fn of_log(error: &feedback::StoreError) -> u8 {
    use feedback::StoreError as Of;
    match error {
        Of::Io { .. } | Of::Busy { .. } => IO,
        Of::BadDate { .. } => BAD_ARGUMENTS,
        Of::Closed | Of::Lost { .. } | Of::NothingToRevert => FAILED,
        _ => BAD_DATA,
    }
}

fn of_index(error: &index::Error) -> u8 {
    match error {
        index::Error::TooMany { .. } => BAD_DATA,
        // The model returned an invalid vector, or the vectors belong to a different model.
        index::Error::Dimension { .. }
        | index::Error::Zero { .. }
        | index::Error::NotFinite { .. } => NO_MODEL,
        _ => FAILED,
    }
}

fn of_snapshot(error: &index::SnapshotError) -> u8 {
    use index::SnapshotError as Of;
    match error {
        Of::Missing { .. } | Of::Io { .. } => IO,
        Of::Vectors(error) => of_index(error),
        Of::Shape { .. } | Of::Graph(_) => FAILED,
        _ => BAD_DATA,
    }
}

fn of_feedback(error: &feedback::Error) -> u8 {
    use feedback::Error as Of;
    match error {
        Of::Missing { .. } | Of::Io { .. } => IO,
        // The model returned an invalid vector, or the vectors belong to a different model.
        Of::NotUnit { .. } => NO_MODEL,
        _ => BAD_DATA,
    }
}

fn of_eval(error: &eval::Error) -> u8 {
    use eval::Error as Of;
    match error {
        Of::Io { .. } => IO,
        Of::UnknownSet { .. } => BAD_ARGUMENTS,
        Of::Engine(error) => of_engine(error),
        _ => BAD_DATA,
    }
}

fn of_batch(error: &batch::Error) -> u8 {
    use batch::Error as Of;
    match error {
        Of::Io { .. }
        | Of::InputIsFolder { .. }
        | Of::NoFolder { .. }
        | Of::OutputIsFolder { .. }
        | Of::Busy { .. }
        | Of::NotOurPartial { .. } => IO,
        Of::SameFile { .. }
        | Of::Exists { .. }
        | Of::OtherJob { .. }
        | Of::MissingColumn { .. }
        | Of::TwoPrompts { .. }
        | Of::SameColumn { .. }
        | Of::UnknownExtension { .. }
        | Of::NotBuilt { .. } => BAD_ARGUMENTS,
        _ => BAD_DATA,
    }
}

#[cfg(feature = "mcp")]
fn of_conductor(error: &toolroute_conduct::Error) -> u8 {
    use toolroute_conduct::Error as Of;
    match error {
        Of::Unfinished { .. }
        | Of::NothingToResume { .. }
        | Of::RepliesAnew
        | Of::NoSuchQuestion { .. }
        | Of::SeveralInputs { .. } => BAD_ARGUMENTS,
        Of::Io { .. } | Of::Ledger { .. } | Of::Missing { .. } | Of::Busy { .. } => IO,
        Of::Engine(error) => of_engine(error),
        _ => BAD_DATA,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once_and_codes_say_what_to_look_at() {
        let io = || io::Error::other("no room");
        let path = || std::path::PathBuf::from("x");
        let written = batch::Error::Io { action: "write", path: path(), source: io() };
        let snapshot = index::SnapshotError::Io { path: path(), source: io() };
        let foreign = index::SnapshotError::Foreign { path: path() };
        for (error, wanted) in [
            (anyhow::Error::from(written), IO),
            (engine::Error::from(snapshot).into(), IO),
            (engine::Error::from(foreign).into(), BAD_DATA),
            (StdoutError { source: io() }.into(), IO),
        ] {
            assert_eq!(code(&error), wanted, "{error:?}");
            assert!(error_chain(&error).matches("no room").count() <= 1, "{}", error_chain(&error));
        }
    }

    #[test]
    fn only_a_reader_who_left_is_no_error() {
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(reader_left(&StdoutError { source: broken() }.into()));
        assert!(!reader_left(&StdoutError { source: io::Error::other("no room") }.into()));
        assert!(!reader_left(&broken().into()));
    }
}
