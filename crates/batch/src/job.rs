//! A batch: answers all rows of an input in their order and writes them to an output.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use toolroute_rank::engine::{Engine, fingerprint};

use crate::answer::RowOutcomes;
use crate::format::{FileFormat, Format};
use crate::groups::{GROUP, RowGroups};
use crate::journal::Journal;
use crate::output::Output;
use crate::record::{IdType, Layout};
use crate::summary::BatchSummary;
use crate::writer::{self, RowWriter};
use crate::{Error, Input, Shard};

/// A file or a stream of prompts to answer.
pub struct BatchJob<'a> {
    pub engine: &'a Engine,
    pub input: &'a Input,
    pub output_format: FileFormat,
    /// Identifies the settings, the catalog and the model. Jobs with the same files and different
    /// settings are different jobs.
    pub settings: String,
    /// Whether the output includes the full explanation of each tool.
    pub explain: bool,
    /// Whether a row without its own tools is an error, because the engine has none.
    pub requires_tools: bool,
    /// Whether one invalid definition among a row's tools is an error of the row. Otherwise it is
    /// left out with a warning.
    pub strict: bool,
    /// The rows that are answered.
    pub shard: Shard,
    /// Whether an existing output is replaced and the rows of another job are discarded.
    pub overwrite: bool,
}

/// Receives the number of rows answered so far and, if it is known, the number of all rows.
pub type OnProgress<'a> = &'a dyn Fn(usize, Option<usize>);

impl BatchJob<'_> {
    /// Writes the answers to a file, device or pipe. The next run of the same job resumes an
    /// interrupted one if both input and output are files.
    ///
    /// # Errors
    /// Returns an error if no row of the input is a prompt, or if the output cannot be written,
    /// already exists, is being written by another job or has rows that another job left. Single
    /// bad rows are not an error.
    pub fn run(&self, output: &Output, on_progress: OnProgress<'_>) -> Result<BatchSummary, Error> {
        match output {
            Output::File(path) => self.resume(path, on_progress),
            Output::Special(path) => {
                let to =
                    File::options().write(true).open(path).map_err(Error::io("write", path))?;
                let summary = self.stream(Box::new(to), on_progress)?;
                Ok(BatchSummary { output: Some(path.clone()), ..summary })
            }
        }
    }

    fn resume(&self, path: &Path, on_progress: OnProgress<'_>) -> Result<BatchSummary, Error> {
        let job = self.fingerprint();
        let mut groups = RowGroups::open(self.input, self.shard)?;
        let mut journal = Journal::open(path, &job, GROUP, self.overwrite)?;
        let resumed = journal.rows;
        groups.skip(resumed);
        let (mut bad, counts) = (std::mem::take(&mut journal.bad), journal.counts);
        let answered = self.answer(&mut groups, on_progress, &mut |rows| journal.append(rows));
        let (rows, done) = match answered {
            Ok(done) => done,
            // The same input may be readable later.
            Err(error @ Error::Io { .. }) => return Err(error),
            Err(error) => {
                journal.remove()?;
                return Err(error);
            }
        };
        journal.finish(self.output_format, self.layout(groups.id.clone()))?;
        bad.extend(done.bad);
        let counts = counts.plus(done.counts);
        let rows = resumed + rows;
        Ok(BatchSummary { rows, resumed, counts, bad, output: Some(path.to_owned()) })
    }

    /// Writes the answers to a stream, which cannot be resumed. Nothing is written until the first
    /// prompt has been read.
    pub fn stream(
        &self,
        to: Box<dyn Write + Send>,
        on_progress: OnProgress<'_>,
    ) -> Result<BatchSummary, Error> {
        let mut groups = RowGroups::open(self.input, self.shard)?;
        // Arrow's file format has its table of contents at the end, where the reader of a pipe
        // cannot start.
        let format = match self.output_format.format {
            Format::Arrow => Format::ArrowStream,
            format => format,
        };
        let format = FileFormat { format, ..self.output_format };
        let failed = || Error::io("write", "the output");
        let layout = self.layout(groups.id.clone());
        let mut to = Some(to);
        let mut writer: Option<Box<dyn RowWriter>> = None;
        let mut write = |rows: &str| {
            if let Some(to) = to.take() {
                writer = Some(writer::open(format, layout.clone(), to).map_err(failed())?);
            }
            writer.as_mut().map_or(Ok(()), |writer| writer.write(rows)).map_err(failed())
        };
        let (rows, RowOutcomes { counts, bad }) =
            self.answer(&mut groups, on_progress, &mut write)?;
        write("")?;
        writer.map_or(Ok(()), RowWriter::finish).map_err(failed())?;
        Ok(BatchSummary { rows, counts, bad, ..BatchSummary::default() })
    }

    fn layout(&self, id: IdType) -> Layout {
        Layout { id, explain: self.explain }
    }

    fn fingerprint(&self) -> String {
        fingerprint(&[
            &self.input.identity(),
            &self.settings,
            &self.shard.to_string(),
            if self.explain { "explain" } else { "" },
            if self.requires_tools { "own tools" } else { "" },
            if self.strict { "strict" } else { "" },
        ])
    }

    /// Answers the remaining rows. Returns their number and their outcome.
    fn answer(
        &self,
        groups: &mut RowGroups,
        on_progress: OnProgress<'_>,
        write: &mut dyn FnMut(&str) -> Result<(), Error>,
    ) -> Result<(usize, RowOutcomes), Error> {
        let (mut all, mut answered) = (RowOutcomes::default(), 0);
        let mut unwritten = String::new();
        on_progress(groups.skipped, groups.total);
        while let Some(rows) = groups.next()? {
            let (lines, done) = self.answer_rows(&rows);
            unwritten.push_str(&lines);
            if groups.has_prompts {
                write(&unwritten)?;
                unwritten.clear();
            }
            all.counts = all.counts.plus(done.counts);
            all.bad.extend(done.bad);
            answered += rows.len();
            on_progress(groups.skipped + answered, groups.total);
        }
        if !groups.has_prompts {
            return Err(self.input.nothing_read(groups.first_bad.take()));
        }
        // The only prompts may be in another shard, after the last row of this one.
        if !unwritten.is_empty() {
            write(&unwritten)?;
        }
        let rows = groups.skipped + answered;
        on_progress(rows, Some(rows));
        Ok((answered, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Columns;
    use toolroute_catalog::{Catalog, Tool};

    #[test]
    fn a_resumed_batch_tells_the_bad_rows_of_an_uninterrupted_one() {
        let tools = vec![Tool::new(Some("mail"), "send", "Sends an email")];
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        let rows = "{\"query\": \"send an email\"}\n".repeat(600);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("q.jsonl");
        std::fs::write(&path, format!("not json\n{rows}[]\n")).unwrap();
        let input = Input::open(&path, FileFormat::default(), Columns::default()).unwrap();
        let job = BatchJob {
            engine: &engine,
            input: &input,
            output_format: FileFormat::default(),
            settings: String::new(),
            explain: false,
            requires_tools: false,
            strict: false,
            shard: Shard::default(),
            overwrite: false,
        };
        let at = |name: &str| Output::File(dir.path().join(name));
        let whole = job.run(&at("whole"), &|_, _| {}).unwrap();
        let written = std::fs::read_to_string(dir.path().join("whole")).unwrap();
        let first: String = written.split_inclusive('\n').take(300).collect();
        let mut journal =
            Journal::open(&dir.path().join("cut"), &job.fingerprint(), GROUP, false).unwrap();
        journal.append(&first).unwrap();
        drop(journal);
        let resumed = job.run(&at("cut"), &|_, _| {}).unwrap();
        assert_eq!((resumed.rows, resumed.resumed), (602, GROUP));
        assert_eq!((resumed.bad.len(), resumed.bad), (2, whole.bad));
        assert_eq!((resumed.counts.failed, resumed.counts), (2, whole.counts));
        assert_eq!(whole.counts.answered, 600);
        assert_eq!(std::fs::read_to_string(dir.path().join("cut")).unwrap(), written);
    }
}
