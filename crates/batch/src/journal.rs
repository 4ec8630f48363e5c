//! The unfinished output of a batch, from which an interrupted run is resumed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use toolroute_eval::BadRow;
use toolroute_rank::engine::Fit;
use toolroute_vectors::durable::{self, Readers};

use crate::format::{Compression, FileFormat, Format};
use crate::groups::GROUP;
use crate::output::{partial_path, same_metadata};
use crate::record::{Layout, OutputRecord};
use crate::summary::RowOutcome;
use crate::{BatchCounts, Error, writer};

/// The beginning and the end of the first line of every journal.
const HEADER: (&[u8], &[u8]) = (b"{\"job\":\"", b"}\n");

/// Returns the first line of a journal. `overwrite` says whether the job may replace an existing
/// output, so that it may still do so when it is resumed.
fn header(job: &str, overwrite: bool) -> Vec<u8> {
    let overwrite = if overwrite { ",\"overwrite\":true" } else { "" };
    format!("{{\"job\":\"{job}\"{overwrite}}}\n").into_bytes()
}

/// The number of bytes that are read to recognize the header; longer than any header of ours.
const MAX_HEADER_BYTES: u64 = 1_024;

/// `R.jsonl.partial` beside the output `R.jsonl`: one line that identifies the job, then the rows
/// answered so far, as JSON lines. After the last row the output is written from it in its own
/// format. It is locked while it is open, because two jobs that write the same file would mix their
/// rows.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    output: PathBuf,
    header: u64,
    /// Whether an existing output is replaced.
    replaces: bool,
    /// The number of complete rows that an interrupted run of the same job left.
    pub rows: usize,
    /// The rows with an error among them.
    pub bad: Vec<BadRow>,
    /// The counts of these rows.
    pub counts: BatchCounts,
}

impl Journal {
    /// Opens the journal of this job, or creates one. `job` identifies the job. Rows after the last
    /// multiple of `chunk` are discarded, so that each chunk is computed as a whole. With
    /// `overwrite`, an existing output and the rows of another job are replaced.
    ///
    /// # Errors
    /// Returns [`Error::Busy`] if another job is writing the file, [`Error::NotOurPartial`] if a
    /// file of this name was not written by a batch, [`Error::OtherJob`] if another job left rows,
    /// or [`Error::Exists`].
    pub fn open(output: &Path, job: &str, chunk: usize, overwrite: bool) -> Result<Self, Error> {
        let path = partial_path(output);
        let file = open_locked(&path)?;
        let existing = read_existing(&file, job, chunk).map_err(Error::io("read", &path))?;
        let CompleteRows { rows, end, bad, counts, replaces } = match existing {
            ExistingJournal::Foreign => return Err(Error::NotOurPartial { path }),
            ExistingJournal::OtherJob { rows } if rows > 0 && !overwrite => {
                return Err(Error::OtherJob { path, rows });
            }
            ExistingJournal::OtherJob { .. } => {
                CompleteRows { replaces: overwrite, ..CompleteRows::default() }
            }
            ExistingJournal::SameJob(complete) => complete,
        };
        let header = header(job, replaces);
        let replaces = replaces || overwrite;
        // Checked while the lock is held, because a job that ended in the meantime has written its
        // output.
        if output.exists() && !replaces {
            if file.metadata().is_ok_and(|found| found.len() == 0) {
                std::fs::remove_file(&path).ok();
            }
            return Err(Error::Exists { path: output.to_owned() });
        }
        let (output, header_len) = (output.to_owned(), header.len() as u64);
        // The rows are as private as the output that they will replace.
        if let Ok(before) = std::fs::metadata(&output) {
            file.set_permissions(before.permissions()).map_err(Error::io("write", &path))?;
        }
        let mut journal =
            Self { file, path, output, header: header_len, replaces, rows, bad, counts };
        journal.start_at(end, &header)?;
        Ok(journal)
    }

    fn start_at(&mut self, end: u64, header: &[u8]) -> Result<(), Error> {
        let mut cut = || {
            self.file.set_len(end)?;
            self.file.seek(SeekFrom::Start(end))?;
            if end == 0 { self.file.write_all(header) } else { Ok(()) }
        };
        cut().map_err(Error::io("write", &self.path))
    }

    pub fn append(&mut self, rows: &str) -> Result<(), Error> {
        self.file.write_all(rows.as_bytes()).map_err(Error::io("write", &self.path))
    }

    /// Writes the rows to the output in its format and removes the journal.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written or was created in the meantime. The journal
    /// is kept then.
    pub fn finish(mut self, format: FileFormat, layout: Layout) -> Result<(), Error> {
        let file = &mut self.file;
        let fill = |whole: &mut File| {
            file.seek(SeekFrom::Start(self.header))?;
            if (format.format, format.compression) == (Format::JsonLines, Compression::None) {
                return std::io::copy(file, whole).map(|_| ());
            }
            convert(file, format, layout, whole.try_clone()?)
        };
        let published = if self.replaces {
            let is_new = !self.output.exists();
            let readers = if is_new { Readers::All } else { Readers::AsBefore };
            durable::replace_with(&self.output, readers, fill)
        } else {
            durable::create_with(&self.output, Readers::All, fill)
        };
        match published {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(Error::Exists { path: self.output });
            }
            published => published.map_err(Error::io("write", &self.output))?,
        }
        self.remove()
    }

    /// Removes the journal without writing the output.
    pub fn remove(self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            // Without file locks, the same job may have run twice, and the other run has ended.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(Error::io("remove", &self.path)),
        }
    }
}

/// Writes the rows of a journal in another format, one group at a time.
fn convert(rows: &File, format: FileFormat, layout: Layout, to: File) -> std::io::Result<()> {
    let mut writer = writer::open(format, layout, Box::new(BufWriter::new(to)))?;
    let (mut reader, mut group) = (BufReader::new(rows), String::new());
    loop {
        group.clear();
        for _ in 0..GROUP {
            if reader.read_line(&mut group)? == 0 {
                break;
            }
        }
        if group.is_empty() {
            return writer.finish();
        }
        writer.write(&group)?;
    }
}

/// Opens the file with an exclusive lock.
fn open_locked(path: &Path) -> Result<File, Error> {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Error::NotOurPartial { path: path.to_owned() });
    }
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false);
    loop {
        let file = options.open(path).map_err(Error::io("write", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => {
                tracing::debug!("{} cannot be locked: {error}", path.display());
            }
        }
        // A job that ended in the meantime has removed the file that was opened here, so its rows
        // would be lost.
        let (opened, there) = (file.metadata(), std::fs::metadata(path));
        let removed = match (opened, there) {
            (Ok(opened), Ok(there)) => same_metadata(&opened, &there) == Some(false),
            (_, there) => there.is_err(),
        };
        if !removed {
            return Ok(file);
        }
    }
}

/// The content of a file with the journal's name.
enum ExistingJournal {
    /// A file that was not written by a batch.
    Foreign,
    /// The number of rows of another job: 0 for a new file or an incomplete header.
    OtherJob {
        rows: usize,
    },
    SameJob(CompleteRows),
}

/// The complete chunks that an interrupted run of the same job left.
#[derive(Default)]
struct CompleteRows {
    rows: usize,
    /// The offset of the byte after the last of these rows; 0 for another job or none.
    end: u64,
    bad: Vec<BadRow>,
    counts: BatchCounts,
    /// Whether the run that left them may replace an existing output.
    replaces: bool,
}

fn read_existing(file: &File, job: &str, chunk: usize) -> std::io::Result<ExistingJournal> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.by_ref().take(MAX_HEADER_BYTES).read_until(b'\n', &mut line)?;
    for replaces in [false, true] {
        if line == header(job, replaces) {
            let complete = read_complete_rows(reader, line.len() as u64, chunk)?;
            return Ok(ExistingJournal::SameJob(CompleteRows { replaces, ..complete }));
        }
    }
    if !is_ours(&line) {
        return Ok(ExistingJournal::Foreign);
    }
    let mut rows = 0;
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(ExistingJournal::OtherJob { rows });
        }
        rows += 1;
    }
}

/// Reads the complete chunks before the first invalid line, because a crash of the machine may
/// leave any bytes.
fn read_complete_rows(
    mut from: impl BufRead,
    first: u64,
    chunk: usize,
) -> std::io::Result<CompleteRows> {
    let (mut at, mut rows, mut bad, mut line) = (first, 0, Vec::new(), Vec::new());
    let mut counts = BatchCounts::default();
    let mut whole = CompleteRows { end: at, ..CompleteRows::default() };
    loop {
        line.clear();
        let read = from.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') || !count(&line, &mut counts, &mut bad) {
            return Ok(whole);
        }
        rows += 1;
        at += read as u64;
        if rows % chunk == 0 {
            whole.counts = counts;
            whole.bad.append(&mut bad);
            (whole.rows, whole.end) = (rows, at);
        }
    }
}

/// Counts a line of the journal. Returns `false` if it is not a row.
fn count(line: &[u8], counts: &mut BatchCounts, bad: &mut Vec<BadRow>) -> bool {
    let Ok(Ok(row)) = std::str::from_utf8(line).map(OutputRecord::parse) else { return false };
    counts.add(match (&row.error, row.no_tools.as_deref()) {
        (Some(_), _) => {
            let Ok(row) = serde_json::from_slice(line) else { return false };
            bad.push(row);
            RowOutcome::Failed
        }
        (None, None) => {
            RowOutcome::Answered { is_unsure: row.fit.as_deref() == Some(Fit::Unsure.as_str()) }
        }
        (None, Some("nothing_fits")) => {
            RowOutcome::Empty { is_unread: row.degraded.as_deref() == Some("unread_language") }
        }
        (None, Some(_)) => RowOutcome::Filtered,
    });
    true
}

/// Whether a first line is a complete or truncated header of ours.
fn is_ours(line: &[u8]) -> bool {
    let (begin, end) = HEADER;
    match line.strip_suffix(b"\n") {
        Some(_) => line.starts_with(begin) && line.ends_with(end),
        None => line.starts_with(begin) || begin.starts_with(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::IdType;

    fn layout() -> Layout {
        Layout { id: IdType::Text, explain: false }
    }

    fn rows(ids: std::ops::RangeInclusive<u8>) -> String {
        ids.map(|id| format!("{{\"id\":{id},\"tools\":[]}}\n")).collect()
    }

    fn open(output: &Path, job: &str, chunk: usize) -> Result<Journal, Error> {
        Journal::open(output, job, chunk, false)
    }

    #[test]
    fn it_goes_on_after_the_last_whole_chunk_of_the_same_job() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut first = open(&output, "a", 2).unwrap();
        assert_eq!(first.rows, 0);
        // Neither an invalid line nor the lines after it are kept.
        first.append(&format!("{}\0\0\n{}", rows(1..=5), rows(7..=9))).unwrap();
        drop(first);
        let mut again = open(&output, "a", 2).unwrap();
        assert_eq!(again.rows, 4);
        again.append(&rows(5..=5)).unwrap();
        assert!(!output.exists());
        again.finish(FileFormat::default(), layout()).unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), rows(1..=5));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_job_starts_anew_when_it_may_drop_what_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        open(&output, "a", 1).unwrap();
        open(&output, "b", 1).unwrap().append(&rows(1..=3)).unwrap();
        let refused = open(&output, "a", 1).map(|journal| journal.rows);
        assert!(matches!(refused, Err(Error::OtherJob { rows: 3, .. })), "{refused:?}");
        assert_eq!(open(&output, "b", 1).unwrap().rows, 3);
        assert_eq!(Journal::open(&output, "a", 1, true).unwrap().rows, 0);
    }

    #[test]
    fn an_output_that_came_to_be_there_meanwhile_stays() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut journal = open(&output, "a", 1).unwrap();
        journal.append(&rows(1..=1)).unwrap();
        std::fs::write(&output, "mine").unwrap();
        let refused = journal.finish(FileFormat::default(), layout());
        assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "mine");
        let journal = Journal::open(&output, "a", 1, true).unwrap();
        assert_eq!(journal.rows, 1);
        journal.finish(FileFormat::default(), layout()).unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), rows(1..=1));
        // A job that would replace the output is not started either.
        let refused = open(&output, "a", 1).map(|journal| journal.rows);
        assert!(matches!(refused, Err(Error::Exists { .. })), "{refused:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_job_at_a_time_writes_an_output() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut first = open(&output, "a", 1).unwrap();
        first.append(&rows(1..=1)).unwrap();
        for job in ["a", "b"] {
            assert!(matches!(open(&output, job, 1), Err(Error::Busy { .. })), "{job}");
        }
        // The journal is removed, as by a second run of the same job if files cannot be locked.
        std::fs::remove_file(partial_path(&output)).unwrap();
        first.finish(FileFormat::default(), layout()).unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), rows(1..=1));
        std::fs::remove_file(&output).unwrap();
        open(&output, "a", 1).unwrap();
    }

    #[test]
    fn a_file_that_no_batch_made_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        for text in ["my notes\nof today\n", "my notes", "{\"id\":1}\n", "{\"job\":\"a\"} \n"] {
            std::fs::write(partial_path(&output), text).unwrap();
            let refused = open(&output, "a", 1).map(|partial| partial.rows);
            assert!(matches!(refused, Err(Error::NotOurPartial { .. })), "{text}: {refused:?}");
            assert_eq!(std::fs::read_to_string(partial_path(&output)).unwrap(), text);
        }
        for cut in ["", "{\"j", "{\"job\":\"abc"] {
            std::fs::write(partial_path(&output), cut).unwrap();
            assert_eq!(open(&output, "a", 1).unwrap().rows, 0, "{cut}");
        }
    }
}
