//! Answers a file of prompts, row by row, in the order in which they came.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::dataset::{BadRow, Line, Query, RowFile, RowId, parse_query};
use super::error::Error;
use super::output::Output;
use super::resume::Partial;
use toolroute_catalog::{Need, ToolId};
use toolroute_rank::engine::{
    Degradation, Engine, Explanation, Fit, FitReason, SelectRequest, Selection, fingerprint,
};

/// Rows answered and written together. A resumed run starts at a multiple of it.
const CHUNK: usize = 256;

/// A file of prompts to answer.
pub struct BatchJob<'a> {
    pub engine: &'a Engine,
    pub input: &'a RowFile,
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
    #[serde(flatten)]
    pub counts: BatchCounts,
    /// Rows that failed; each stands in the output with its error.
    pub bad: Vec<BadRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
}

/// What became of the rows, those of an interrupted run among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BatchCounts {
    /// Rows with a tool at least.
    pub answered: usize,
    /// Those of them whose tools may not fit.
    pub unsure: usize,
    /// Rows for which no tool fits.
    pub empty: usize,
    /// Those of them that are in a language which the model does not read.
    pub unread: usize,
    /// Rows that could not be read or answered.
    pub failed: usize,
}

impl BatchCounts {
    /// Counts one row by what the output says of it.
    pub(super) fn add(&mut self, tools: usize, is_unread: bool, has_failed: bool) {
        match (has_failed, tools) {
            (true, _) => self.failed += 1,
            (false, 0) => self.empty += 1,
            (false, _) => self.answered += 1,
        }
        self.unread += usize::from(is_unread && tools == 0 && !has_failed);
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            unsure: self.unsure + other.unsure,
            empty: self.empty + other.empty,
            unread: self.unread + other.unread,
            failed: self.failed + other.failed,
        }
    }
}

/// What became of some rows.
#[derive(Default)]
struct Done {
    counts: BatchCounts,
    bad: Vec<BadRow>,
}

impl BatchJob<'_> {
    /// Answers into a file, where an interrupted run is gone on with by the next run of the same
    /// job, or into a device or pipe, where it is not.
    ///
    /// # Errors
    /// Where no row of the input is a prompt, or where the output cannot be written, or another job
    /// writes it. A bad row among others is no error.
    pub fn run(&self, output: &Output, tell: &dyn Fn(usize, usize)) -> Result<BatchSummary, Error> {
        self.input.check()?;
        match output {
            Output::File(path) => self.resume(path, tell),
            Output::Special(path) => {
                let summary = self.stream(&mut Output::open_special(path)?, tell)?;
                Ok(BatchSummary { output: Some(path.clone()), ..summary })
            }
        }
    }

    fn resume(&self, path: &Path, tell: &dyn Fn(usize, usize)) -> Result<BatchSummary, Error> {
        let lines = self.input.lines()?;
        let mut partial = Partial::open(path, &self.fingerprint(), CHUNK)?;
        let resumed = partial.rows.min(lines.len());
        let (mut bad, counts) = (std::mem::take(&mut partial.bad), partial.counts);
        let done = self.answer(&lines, resumed, tell, &mut |rows| partial.append(rows))?;
        partial.finish()?;
        bad.extend(done.bad);
        let counts = counts.plus(done.counts);
        Ok(BatchSummary { rows: lines.len(), resumed, counts, bad, output: Some(path.to_owned()) })
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
        self.input.check()?;
        let lines = self.input.lines()?;
        let mut write = |rows: &str| {
            out.write_all(rows.as_bytes())
                .and_then(|()| out.flush())
                .map_err(Error::io("write", "the output"))
        };
        let Done { counts, bad } = self.answer(&lines, 0, tell, &mut write)?;
        Ok(BatchSummary { rows: lines.len(), counts, bad, ..BatchSummary::default() })
    }

    fn fingerprint(&self) -> String {
        fingerprint(&[
            &self.input.text(),
            &self.settings,
            if self.explain { "explain" } else { "" },
        ])
    }

    fn answer(
        &self,
        lines: &[Line<'_>],
        from: usize,
        tell: &dyn Fn(usize, usize),
        write: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<Done, Error> {
        let mut all = Done::default();
        let mut done = from;
        tell(done, lines.len());
        for chunk in lines[from..].chunks(CHUNK) {
            let (rows, chunk_done) = self.answer_chunk(chunk);
            write(&rows)?;
            all.counts = all.counts.plus(chunk_done.counts);
            all.bad.extend(chunk_done.bad);
            done += chunk.len();
            tell(done, lines.len());
        }
        Ok(all)
    }

    fn answer_chunk(&self, lines: &[Line<'_>]) -> (String, Done) {
        let parsed: Vec<Result<Query, BadRow>> =
            lines.iter().map(|(line, row)| parse_query(row, *line)).collect();
        let requests: Vec<SelectRequest> = parsed.iter().flatten().map(request).collect();
        let mut answers = self.engine.select_many(&requests).into_iter();
        let (mut rows, mut done) = (String::new(), Done::default());
        for (query, (line, _)) in parsed.into_iter().zip(lines) {
            let answer = query.and_then(|query| {
                let answer = answers.next().expect("one answer a request. This is a bug.");
                let bad = |error: toolroute_rank::engine::Error| BadRow {
                    id: query.id.clone(),
                    line: *line,
                    error: error.to_string(),
                };
                Ok((answer.map_err(bad)?, query.id))
            });
            rows.push_str(&match answer {
                Ok((selection, id)) => {
                    let is_unread = selection.degraded == Some(Degradation::UnreadLanguage);
                    done.counts.add(selection.tools.len(), is_unread, false);
                    done.counts.unsure += usize::from(selection.fit == Fit::Unsure);
                    self.row(&id, &selection)
                }
                Err(bad) => {
                    done.counts.add(0, false, true);
                    let row = bad_row(&bad);
                    done.bad.push(bad);
                    row
                }
            });
        }
        (rows, done)
    }

    fn row(&self, id: &RowId, selection: &Selection) -> String {
        let tools = selection.tools.iter().map(|selected| OutputTool {
            id: &selected.tool.id,
            score: selected.score,
            explanation: self.explain.then_some(&selected.explanation),
            needs: if self.explain { selected.needs.as_slice() } else { &[] },
        });
        line(&OutputRow {
            id,
            tools: tools.collect(),
            fit: Some(selection.fit),
            fit_reason: selection.fit_reason.as_ref(),
            confidence: selection.confidence,
            evidence: selection.evidence.filter(|_| self.explain),
            background: selection.background.filter(|_| self.explain),
            degraded: selection.degraded,
            unknown_candidates: &selection.unknown_candidates,
            failed: None,
        })
    }
}

/// `tools` is there all the same: a reader that takes only it finds none.
fn bad_row(bad: &BadRow) -> String {
    let failed = Some(Failed { line: bad.line, error: &bad.error });
    let (confidence, evidence, background, degraded) = (None, None, None, None);
    let unknown_candidates = &[];
    line(&OutputRow {
        id: &bad.id,
        tools: Vec::new(),
        fit: None,
        fit_reason: None,
        confidence,
        evidence,
        background,
        degraded,
        unknown_candidates,
        failed,
    })
}

fn line(row: &OutputRow<'_>) -> String {
    let row = serde_json::to_string(row).expect("rows have string keys only. This is a bug.");
    row + "\n"
}

#[derive(Serialize)]
struct OutputRow<'a> {
    id: &'a RowId,
    /// Empty where nothing fits well enough.
    tools: Vec<OutputTool<'a>>,
    /// Whether they fit the prompt; absent where the row failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Fit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit_reason: Option<&'a FitReason>,
    /// How likely it is that any tool fits; absent where the model cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<f32>,
    /// Why the answer is not as good as it could be, as `route --json` says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<Degradation>,
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

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::{Catalog, Tool};

    #[test]
    fn a_resumed_batch_tells_the_bad_rows_of_an_uninterrupted_one() {
        let tools = vec![Tool::new(Some("mail"), "send", "Sends an email")];
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let rows = "{\"query\": \"send an email\"}\n".repeat(600);
        let input = RowFile::read_from("q", format!("not json\n{rows}[]\n").as_bytes()).unwrap();
        let job =
            BatchJob { engine: &engine, input: &input, settings: String::new(), explain: false };
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| Output::File(dir.path().join(name));
        let whole = job.run(&at("whole"), &|_, _| {}).unwrap();
        let written = std::fs::read_to_string(dir.path().join("whole")).unwrap();
        let first: String = written.split_inclusive('\n').take(300).collect();
        let mut partial =
            Partial::open(&dir.path().join("cut"), &job.fingerprint(), CHUNK).unwrap();
        partial.append(&first).unwrap();
        drop(partial);
        let resumed = job.run(&at("cut"), &|_, _| {}).unwrap();
        assert_eq!((resumed.rows, resumed.resumed), (602, CHUNK));
        assert_eq!((resumed.bad.len(), resumed.bad), (2, whole.bad));
        assert_eq!((resumed.counts.failed, resumed.counts), (2, whole.counts));
        assert_eq!(whole.counts.answered, 600);
        assert_eq!(std::fs::read_to_string(dir.path().join("cut")).unwrap(), written);
    }
}
