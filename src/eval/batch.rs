//! Answers a file of prompts, row by row, in the order in which they came.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::dataset::{BadRow, Query, parse_query};
use super::error::Error;
use super::resume::Partial;
use crate::catalog::ToolId;
use crate::engine::{Engine, Explanation, SelectRequest, Selection, fingerprint};

/// Rows answered and written together. A resumed run starts at a multiple of it.
const CHUNK: usize = 256;

/// A file of prompts to answer.
pub struct BatchJob<'a> {
    pub engine: &'a Engine,
    pub input: &'a Path,
    /// Tells this job from another over the same files: settings, catalog, model.
    pub settings: String,
    /// Whether each tool comes with its whole explanation.
    pub explain: bool,
}

/// What a batch did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BatchSummary {
    pub rows: usize,
    /// Rows that an interrupted run had done.
    pub resumed: usize,
    /// Rows without an answer; each stands in the output with its error.
    pub bad: Vec<BadRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
}

/// A line of the input that holds something, with its number.
type Line<'a> = (usize, &'a str);

impl BatchJob<'_> {
    /// Answers into a file. An interrupted run is gone on with by the next run of the same job.
    ///
    /// # Errors
    /// Where a file cannot be read or written. A bad row is no error.
    pub fn run(&self, output: &Path, tell: &dyn Fn(usize, usize)) -> Result<BatchSummary, Error> {
        let text = self.read()?;
        let lines = lines(&text);
        let mut partial = Partial::open(output, &self.fingerprint(&text), CHUNK)?;
        let resumed = partial.rows.min(lines.len());
        let bad = self.answer(&lines, resumed, tell, &mut |rows| partial.append(rows))?;
        partial.finish()?;
        Ok(BatchSummary { rows: lines.len(), resumed, bad, output: Some(output.to_owned()) })
    }

    /// Answers into a stream, which cannot be gone on with.
    ///
    /// # Errors
    /// As [`BatchJob::run`].
    pub fn stream(
        &self,
        out: &mut dyn Write,
        tell: &dyn Fn(usize, usize),
    ) -> Result<BatchSummary, Error> {
        let text = self.read()?;
        let lines = lines(&text);
        let mut write = |rows: &str| {
            out.write_all(rows.as_bytes())
                .and_then(|()| out.flush())
                .map_err(Error::io("write", "the output"))
        };
        let bad = self.answer(&lines, 0, tell, &mut write)?;
        Ok(BatchSummary { rows: lines.len(), bad, ..BatchSummary::default() })
    }

    fn read(&self) -> Result<String, Error> {
        let bytes = std::fs::read(self.input).map_err(Error::io("read", self.input))?;
        // A row that is not UTF-8 is a bad row, not the end of the file.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if text.trim().is_empty() {
            return Err(Error::NoRows { path: self.input.to_owned() });
        }
        Ok(text)
    }

    fn fingerprint(&self, text: &str) -> String {
        fingerprint(&[text, &self.settings, if self.explain { "explain" } else { "" }])
    }

    fn answer(
        &self,
        lines: &[Line<'_>],
        from: usize,
        tell: &dyn Fn(usize, usize),
        write: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<Vec<BadRow>, Error> {
        let mut all_bad: Vec<BadRow> = Vec::new();
        let mut done = from;
        tell(done, lines.len());
        for chunk in lines[from..].chunks(CHUNK) {
            let (rows, bad) = self.answer_chunk(chunk);
            write(&rows)?;
            all_bad.extend(bad);
            done += chunk.len();
            tell(done, lines.len());
        }
        Ok(all_bad)
    }

    fn answer_chunk(&self, lines: &[Line<'_>]) -> (String, Vec<BadRow>) {
        let parsed: Vec<Result<Query, BadRow>> =
            lines.iter().filter_map(|(line, text)| parse_query(text, *line)).collect();
        let requests: Vec<SelectRequest> = parsed.iter().flatten().map(request).collect();
        let mut answers = self.engine.select_many(&requests).into_iter();
        let (mut rows, mut all_bad) = (String::new(), Vec::new());
        for (query, (line, _)) in parsed.into_iter().zip(lines) {
            let answer = query.and_then(|query| {
                let answer = answers.next().expect("one answer a request. This is a bug.");
                let bad = |error: crate::engine::Error| BadRow {
                    id: query.id.clone(),
                    line: *line,
                    error: error.to_string(),
                };
                Ok((answer.map_err(bad)?, query.id))
            });
            rows.push_str(&match answer {
                Ok((selection, id)) => self.row(&id, &selection),
                Err(bad) => {
                    let row = bad_row(&bad);
                    all_bad.push(bad);
                    row
                }
            });
        }
        (rows, all_bad)
    }

    fn row(&self, id: &Value, selection: &Selection) -> String {
        let tools = selection.tools.iter().map(|selected| OutputTool {
            id: &selected.tool.id,
            score: selected.score,
            explanation: self.explain.then_some(&selected.explanation),
        });
        line(&OutputRow {
            id,
            tools: tools.collect(),
            unknown_candidates: &selection.unknown_candidates,
            failed: None,
        })
    }
}

/// `tools` is there all the same: a reader that takes only it finds none.
fn bad_row(bad: &BadRow) -> String {
    let failed = Some(Failed { line: bad.line, error: &bad.error });
    line(&OutputRow { id: &bad.id, tools: Vec::new(), unknown_candidates: &[], failed })
}

fn line(row: &OutputRow<'_>) -> String {
    let row = serde_json::to_string(row).expect("rows have string keys only. This is a bug.");
    row + "\n"
}

#[derive(Serialize)]
struct OutputRow<'a> {
    id: &'a Value,
    tools: Vec<OutputTool<'a>>,
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
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let blank = |text: &str| text.trim_start_matches('\u{feff}').trim().is_empty();
    (1..).zip(text.lines()).filter(|(_, text)| !blank(text)).collect()
}

fn request(query: &Query) -> SelectRequest {
    SelectRequest { candidates: query.candidates.clone(), ..SelectRequest::new(&query.query) }
}
