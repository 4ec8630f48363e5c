//! Answers rows and writes the answers as lines of the journal.

use std::collections::HashMap;

use serde::Serialize;
use toolroute_catalog::{self as catalog, Catalog, Need, Problem, Tool, ToolId};
use toolroute_eval::{BadRow, Query, RowId};
use toolroute_rank::engine::{
    Degradation, Error, Explanation, Fit, FitReason, NoTools, SelectRequest, Selection,
};
use toolroute_vectors::durable::sha256_hex;

use crate::BatchJob;
use crate::row::Row;
use crate::summary::{BatchCounts, RowOutcome};

#[derive(Default)]
pub(crate) struct RowOutcomes {
    pub counts: BatchCounts,
    pub bad: Vec<BadRow>,
}

/// The error of a row without tools if there is no catalog.
const NO_TOOLS: &str =
    "the row brings no tools, and no catalog is named; expected a list of tools, or --tools PATH";

/// Prompts that are ranked among the same tools: their own, or the catalog's if `tools` is `None`.
struct Group<'r> {
    tools: Option<&'r str>,
    /// Each with the position of its row.
    prompts: Vec<(usize, &'r Query)>,
}

/// The answer to a row, or the error.
type Answer = Result<Selection, String>;

impl BatchJob<'_> {
    /// Returns one output line per row, in the order of the rows.
    pub(crate) fn answer_rows(&self, rows: &[Row]) -> (String, RowOutcomes) {
        let answers = self.rank(rows);
        let (mut lines, mut done) = (String::new(), RowOutcomes::default());
        for (row, answer) in rows.iter().zip(answers) {
            let bad = match (&row.query, answer) {
                (Ok(query), Some(Ok(selection))) => {
                    done.counts.add(outcome(&selection));
                    lines.push_str(&self.row(&query.id, &selection));
                    continue;
                }
                (Ok(query), Some(Err(error))) => {
                    BadRow { id: query.id.clone(), line: query.line, error }
                }
                (Ok(_), None) => unreachable!("each prompt has an answer. This is a bug."),
                (Err(bad), _) => bad.clone(),
            };
            done.counts.add(RowOutcome::Failed);
            lines.push_str(&bad_row(&bad));
            done.bad.push(bad);
        }
        (lines, done)
    }

    /// Returns the answers to the rows that are prompts. Prompts with the same tools are ranked
    /// together.
    fn rank(&self, rows: &[Row]) -> Vec<Option<Answer>> {
        let mut answers: Vec<Option<Answer>> = rows.iter().map(|_| None).collect();
        let mut places: HashMap<Option<&str>, usize> = HashMap::new();
        let mut groups: Vec<Group<'_>> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let Ok(query) = &row.query else { continue };
            let tools = row.tools.as_deref();
            if tools.is_none() && self.requires_tools {
                answers[at] = Some(Err(NO_TOOLS.to_owned()));
                continue;
            }
            let place = *places.entry(tools).or_insert_with(|| {
                groups.push(Group { tools, prompts: Vec::new() });
                groups.len() - 1
            });
            groups[place].prompts.push((at, query));
        }
        for Group { tools, prompts } in groups {
            let requests: Vec<SelectRequest> =
                prompts.iter().map(|(_, query)| request(query)).collect();
            let ranked = match tools {
                None => Ok(self.engine.select_many(&requests)),
                Some(tools) => self.rank_among((tools, prompts[0].1.line), &requests),
            };
            let ranked: Vec<Answer> = match ranked {
                Ok(ranked) => ranked
                    .into_iter()
                    .map(|answer| answer.map_err(|error| error.to_string()))
                    .collect(),
                Err(error) => prompts.iter().map(|_| Err(error.clone())).collect(),
            };
            for ((at, _), answer) in prompts.iter().zip(ranked) {
                answers[*at] = Some(answer);
            }
        }
        answers
    }

    /// Ranks the tools in the row at a line. The key is a hash of the list, so that the engine recognizes a
    /// list that it ranked recently.
    fn rank_among(
        &self,
        (tools, line): (&str, usize),
        requests: &[SelectRequest],
    ) -> Result<Vec<Result<Selection, Error>>, String> {
        let key = format!("batch {}", sha256_hex(tools.as_bytes()));
        let read = || self.read_tools(tools, line).map_err(Error::from);
        let ranked = self.engine.select_many_among(&key, read, requests);
        ranked.map_err(|error| match error {
            Error::Catalog(catalog::Error::Unrecognised { problem }) => {
                format!("`tools`: {problem:#}")
            }
            Error::Catalog(error) => format!("`tools`: {error}"),
            error => error.to_string(),
        })
    }

    /// Reads the tools in the row at a line. Invalid ones are left out, as from a catalog.
    fn read_tools(&self, tools: &str, line: usize) -> Result<Vec<Tool>, catalog::Error> {
        if self.strict {
            return Catalog::read_tools(tools).map(|(tools, _)| tools);
        }
        let (tools, problems) = Catalog::read_usable_tools(tools)?;
        for problem in problems.iter().filter(|problem| Problem::is_error(problem)) {
            tracing::warn!("left out of the `tools` of row {line}: {problem}");
        }
        Ok(tools)
    }

    fn row(&self, id: &RowId, selection: &Selection) -> String {
        let tools = selection.tools.iter().map(|selected| OutputTool {
            id: &selected.tool.id,
            score: selected.score,
            explanation: self.explain.then_some(&selected.explanation),
            needs: if self.explain { selected.needs.as_slice() } else { &[] },
        });
        line(&OutputRow {
            id: Some(id),
            tools: tools.collect(),
            fit: Some(selection.fit),
            fit_reason: selection.fit_reason.as_ref(),
            confidence: selection.confidence,
            evidence: selection.evidence.filter(|_| self.explain),
            background: selection.background.filter(|_| self.explain),
            degraded: selection.degraded,
            no_tools: selection.no_tools,
            read_as: selection.read_as.as_deref(),
            unknown_candidates: &selection.unknown_candidates,
            failed: None,
        })
    }
}

/// Returns the output line of a failed row. It has an empty `tools`, so that a reader of only this
/// member finds no tools.
fn bad_row(bad: &BadRow) -> String {
    line(&OutputRow {
        id: Some(&bad.id),
        failed: Some(Failed { line: bad.line, error: &bad.error }),
        ..OutputRow::default()
    })
}

fn outcome(selection: &Selection) -> RowOutcome {
    match selection.no_tools {
        None => RowOutcome::Answered { is_unsure: selection.fit == Fit::Unsure },
        Some(NoTools::NothingFits) => {
            RowOutcome::Empty { is_unread: selection.degraded == Some(Degradation::UnreadLanguage) }
        }
        Some(_) => RowOutcome::Filtered,
    }
}

fn line(row: &OutputRow<'_>) -> String {
    let row = serde_json::to_string(row).expect("rows have string keys only. This is a bug.");
    row + "\n"
}

#[derive(Default, Serialize)]
struct OutputRow<'a> {
    id: Option<&'a RowId>,
    /// Empty if no tool fits well enough.
    tools: Vec<OutputTool<'a>>,
    /// Whether the tools fit the prompt; absent if the row failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_reason: Option<&'a FitReason>,
    /// How likely it is that any tool fits; absent if the model cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<f32>,
    /// Why the answer is worse than it could be, with the same words as in `route --json`.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<Degradation>,
    /// Why `tools` is empty; absent if it is not, or if the row failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_tools: Option<NoTools>,
    /// The text that was ranked, if it differs from the prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_as: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unknown_candidates: &'a [String],
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    failed: Option<Failed<'a>>,
}

#[derive(Serialize)]
struct Failed<'a> {
    line: usize,
    error: &'a str,
}

#[derive(Serialize)]
struct OutputTool<'a> {
    id: &'a ToolId,
    score: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<&'a Explanation>,
    #[serde(skip_serializing_if = "<[Need]>::is_empty")]
    needs: &'a [Need],
}

fn request(query: &Query) -> SelectRequest {
    let (candidates, context) = (query.candidates.clone(), query.context.clone());
    SelectRequest { candidates, context, ..SelectRequest::new(&query.query) }
}
