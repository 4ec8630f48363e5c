//! Converts executions to rows of the table and back.

use rusqlite::types::Type;
use rusqlite::{Row, Statement, named_params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toolroute_catalog::ToolId;

use super::{StoreOptions, checksums};
use crate::feedback::execution::PromptHash;
use crate::feedback::{CallAttempt, Choice, Execution, LoggedContext, PromptVector};

pub(super) const INSERT: &str = "INSERT INTO executions
    (at, tool, success, prompt_hash, prompt, model, vector, phase, task_type, languages, complexity,
     structure, testing, rank, score, parts, offered, duration_ms, error_kind, cost, feedback, session,
     request, place, tries, estimated_ms, estimated_chars, chars, truncated, facts_sum,
     rest_sum)
    VALUES
    (:at, :tool, :success, :hash, :prompt, :model, :vector, :phase, :task, :languages, :complexity,
     :structure, :testing, :rank, :score, :parts, :offered, :duration, :error, :cost, :feedback, :session,
     :request, :place, :tries, :estimated_ms, :estimated_chars, :chars, :truncated, 0,
     0)";

/// Which columns of a row are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Columns {
    /// All except prompt, feedback text and vector, which take most of the bytes.
    Facts,
    All,
}

impl Columns {
    /// Returns the statement that selects rows; `rest` is what follows the table.
    pub fn select(self, rest: &str) -> String {
        let long = match self {
            Self::Facts => "NULL AS prompt, NULL AS model, NULL AS vector, NULL AS feedback",
            Self::All => "prompt, model, vector, feedback",
        };
        format!(
            "SELECT at, tool, success, prompt_hash, {long}, phase, task_type, languages, complexity,
             structure, testing, rank, score, parts, offered, duration_ms, error_kind, cost, session,
             request, place, tries, estimated_ms, estimated_chars, chars, truncated,
             facts_sum, rest_sum
             FROM executions {rest}"
        )
    }
}

/// Writes one execution. A missing or future time becomes `now`.
pub(super) fn insert(
    statement: &mut Statement<'_>,
    execution: &Execution,
    options: &StoreOptions,
    now: i64,
) -> rusqlite::Result<()> {
    let Execution { context, choice, .. } = execution;
    let prompt = execution.prompt.as_deref().filter(|_| options.keep_prompts);
    let vector = execution.vector.as_ref().filter(|_| options.keep_vectors);
    let called = execution.called.as_ref();
    statement.execute(named_params! {
        ":at": execution.at.map_or(now, |at| at.min(now)),
        ":tool": execution.tool.as_str(),
        ":success": execution.success,
        ":hash": execution.hash().map(|hash| hash.0),
        ":prompt": prompt,
        ":model": vector.map(|vector| vector.model.as_str()),
        ":vector": vector.map(|vector| bytes(&vector.values)),
        ":phase": context.phase,
        ":task": context.task_type,
        ":languages": list(&context.languages, context.languages.is_empty()),
        ":complexity": context.complexity,
        ":structure": context.structure,
        ":testing": context.testing,
        ":rank": choice.rank,
        ":score": choice.score,
        ":parts": list(&choice.parts, choice.parts.is_empty()),
        ":offered": list(&choice.offered, choice.offered.is_empty()),
        ":duration": execution.duration_ms.map(whole),
        ":error": execution.error_kind,
        ":cost": execution.cost,
        ":feedback": execution.feedback,
        ":session": execution.session,
        ":request": called.map(|called| called.request.as_str()),
        ":place": called.map(|called| called.place),
        ":tries": called.map(|called| called.tries),
        ":estimated_ms": called.and_then(|called| called.estimated_ms).map(whole),
        ":estimated_chars": called.and_then(|called| called.estimated_chars).map(whole),
        ":chars": called.and_then(|called| called.chars).map(whole),
        ":truncated": called.map(|called| called.truncated),
    })?;
    Ok(())
}

/// Converts a row of [`Columns::select`] to an execution, after verifying its checksums.
pub(super) fn execution(row: &Row<'_>, columns: Columns) -> rusqlite::Result<Execution> {
    checksums::check(row, columns)?;
    let model: Option<String> = row.get("model")?;
    let values: Option<Vec<u8>> = row.get("vector")?;
    Ok(Execution {
        tool: ToolId::new(row.get::<_, String>("tool")?),
        success: row.get("success")?,
        at: Some(row.get("at")?),
        prompt: row.get("prompt")?,
        prompt_hash: Some(PromptHash(row.get("prompt_hash")?)),
        vector: model
            .zip(values)
            .map(|(model, bytes)| PromptVector { model, values: floats(&bytes) }),
        context: LoggedContext {
            phase: row.get("phase")?,
            task_type: row.get("task_type")?,
            languages: parsed(row, "languages")?,
            complexity: row.get("complexity")?,
            structure: row.get("structure")?,
            testing: row.get("testing")?,
        },
        choice: Choice {
            rank: row.get("rank")?,
            score: row.get("score")?,
            parts: parsed(row, "parts")?,
            offered: parsed(row, "offered")?,
        },
        duration_ms: count(row, "duration_ms")?,
        error_kind: row.get("error_kind")?,
        cost: row.get("cost")?,
        feedback: row.get("feedback")?,
        session: row.get("session")?,
        called: called(row)?,
    })
}

fn called(row: &Row<'_>) -> rusqlite::Result<Option<CallAttempt>> {
    let Some(request) = row.get("request")? else { return Ok(None) };
    let small = |column| row.get::<_, Option<u32>>(column).map(Option::unwrap_or_default);
    Ok(Some(CallAttempt {
        request,
        place: small("place")?,
        tries: small("tries")?,
        estimated_ms: count(row, "estimated_ms")?,
        estimated_chars: count(row, "estimated_chars")?,
        chars: count(row, "chars")?,
        truncated: row.get::<_, Option<bool>>("truncated")?.unwrap_or_default(),
    }))
}

/// Converts a count to SQLite's signed integer.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let found: Option<i64> = row.get(column)?;
    Ok(found.map(|count| u64::try_from(count).unwrap_or(0)))
}

fn list(items: &impl Serialize, is_empty: bool) -> Option<String> {
    let text = || {
        serde_json::to_string(items).expect("lists of text and numbers are JSON. This is a bug.")
    };
    (!is_empty).then(text)
}

pub(super) fn parsed<T: DeserializeOwned + Default>(
    row: &Row<'_>,
    column: &str,
) -> rusqlite::Result<T> {
    let Some(text) = row.get::<_, Option<String>>(column)? else { return Ok(T::default()) };
    serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}
