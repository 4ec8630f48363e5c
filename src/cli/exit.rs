//! Exit codes, and how an error is told.

use std::process::ExitCode;

use serde_json::json;

use crate::{catalog, embedding, engine, eval};

/// Anything that has no code of its own.
const FAILED: u8 = 1;
/// Input files hold what cannot be used. Code 2, bad arguments, is clap's.
pub const BAD_DATA: u8 = 3;
/// No model where one is needed, or one that is not what its manifest says.
const NO_MODEL: u8 = 4;
/// A file cannot be read or written.
const IO: u8 = 5;

/// Tells the error on stderr, as JSON where JSON was asked for, and gives its code.
pub fn report(error: &anyhow::Error, as_json: bool) -> ExitCode {
    let code = code(error);
    if as_json {
        eprintln!("{}", json!({"error": format!("{error:#}"), "exit_code": code}));
    } else {
        eprintln!("toolroute: {error:#}");
    }
    ExitCode::from(code)
}

fn code(error: &anyhow::Error) -> u8 {
    error.chain().find_map(code_of).unwrap_or(FAILED)
}

fn code_of(cause: &(dyn std::error::Error + 'static)) -> Option<u8> {
    if let Some(error) = cause.downcast_ref::<engine::Error>() {
        return match error {
            engine::Error::EmptyPrompt | engine::Error::UnknownCandidates { .. } => Some(BAD_DATA),
            engine::Error::BadWeight { .. } => Some(2),
            engine::Error::NoModel { .. } => Some(NO_MODEL),
            engine::Error::Embedding(error) => code_of(error),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<embedding::Error>() {
        return match error {
            embedding::Error::Io { .. } => Some(IO),
            embedding::Error::Inference { .. } | embedding::Error::Tokenize { .. } => Some(FAILED),
            _ => Some(NO_MODEL),
        };
    }
    if let Some(error) = cause.downcast_ref::<catalog::Error>() {
        return Some(if matches!(error, catalog::Error::Unreadable { .. }) {
            IO
        } else {
            BAD_DATA
        });
    }
    match cause.downcast_ref::<eval::Error>()? {
        eval::Error::Io { .. } => Some(IO),
        eval::Error::Engine(error) => code_of(error),
        _ => Some(BAD_DATA),
    }
}
