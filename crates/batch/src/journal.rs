//! The unfinished output of a batch: what is in it, and whether it may be gone on with.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use toolroute_eval::BadRow;
use toolroute_rank::engine::Fit;
use toolroute_vectors::durable::{self, Readers};

use crate::format::{Compression, FileFormat, Format};
use crate::job::GROUP;
use crate::output::same_metadata;
use crate::record::Layout;
use crate::{BatchCounts, Error, writer};

/// How the first line of every partial output begins and ends; the job stands between.
const HEADER: (&[u8], &[u8]) = (b"{\"job\":\"", b"\"}\n");

/// Longer than any header of ours: how far a file is read before it is told whose it is.
const HEADER_ROOM: u64 = 1_024;

/// `R.jsonl.partial` beside the output `R.jsonl`: one line that names the job, then the rows done
/// so far, as JSON lines. The output is written from it, in its own format, when the last row is done.
/// While it is open it is locked: two jobs that wrote one file would mix their rows.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    output: PathBuf,
    header: u64,
    /// Whole rows that an interrupted run of the same job left.
    pub rows: usize,
    /// Those of them that hold an error.
    pub bad: Vec<BadRow>,
    /// What became of them.
    pub counts: BatchCounts,
}

/// Where the rows of a job gather before it is done.
pub(crate) fn partial_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

impl Journal {
    /// Opens the unfinished output of this very job, or starts one. `job` tells jobs apart; rows
    /// past the last multiple of `chunk` are dropped, so that what is computed together stays so.
    ///
    /// # Errors
    /// [`Error::Busy`] where another job writes it; [`Error::NotOurPartial`] for a file of that
    /// name that no batch made.
    pub fn open(output: &Path, job: &str, chunk: usize) -> Result<Self, Error> {
        let path = partial_path(output);
        let header = [HEADER.0, job.as_bytes(), HEADER.1].concat();
        let file = open_locked(&path)?;
        let done = survey(&file, &header, chunk).map_err(Error::io("read", &path))?;
        let Survey { rows, end, bad, counts } =
            done.ok_or(Error::NotOurPartial { path: path.clone() })?;
        let output = output.to_owned();
        let mut journal =
            Self { file, path, output, header: header.len() as u64, rows, bad, counts };
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

    /// Writes the rows to the output's place, in its format, and removes the journal.
    ///
    /// # Errors
    /// Where the output cannot be written; the journal stays.
    pub fn finish(mut self, format: FileFormat, layout: Layout) -> Result<(), Error> {
        let published = durable::replace_with(&self.output, Readers::All, |whole| {
            self.file.seek(SeekFrom::Start(self.header))?;
            if (format.format, format.compression) == (Format::JsonLines, Compression::None) {
                return std::io::copy(&mut self.file, whole).map(|_| ());
            }
            convert(&self.file, format, layout, whole.try_clone()?)
        });
        published.map_err(Error::io("write", &self.output))?;
        self.remove()
    }

    /// Removes the journal of a run that leaves none.
    pub fn remove(self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            // Where files cannot be locked, the same job may have run twice and be done.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            done => done.map_err(Error::io("remove", &self.path)),
        }
    }
}

/// Writes the rows of a journal in another format, a group at a time.
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

/// Whether a run of this very job into an output was begun and not ended.
pub(crate) fn is_started(output: &Path, job: &str) -> bool {
    let header = [HEADER.0, job.as_bytes(), HEADER.1].concat();
    let first = File::open(partial_path(output)).map(|file| {
        let mut line = Vec::new();
        BufReader::new(file).take(HEADER_ROOM).read_until(b'\n', &mut line).map(|_| line)
    });
    matches!(first, Ok(Ok(line)) if line == header)
}

/// Opens the file for this process alone.
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
        // A job that ended in between has removed what was opened here: rows would go nowhere.
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

/// What an interrupted run of the same job left, in whole chunks.
#[derive(Default)]
struct Survey {
    rows: usize,
    /// The byte after the last of these rows; 0 where the job is another or none.
    end: u64,
    bad: Vec<BadRow>,
    counts: BatchCounts,
}

/// What a row of the output says of itself.
#[derive(Deserialize)]
struct OutputRow {
    tools: Vec<IgnoredAny>,
    degraded: Option<String>,
    fit: Option<String>,
    error: Option<IgnoredAny>,
}

/// `None` for a file that no batch made.
fn survey(file: &File, header: &[u8], chunk: usize) -> std::io::Result<Option<Survey>> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.by_ref().take(HEADER_ROOM).read_until(b'\n', &mut line)?;
    if line != header {
        return Ok(is_ours(&line).then(Survey::default));
    }
    let (mut at, mut rows, mut bad) = (header.len() as u64, 0, Vec::new());
    let mut counts = BatchCounts::default();
    let mut whole = Survey { end: at, ..Survey::default() };
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok(Some(whole));
        }
        rows += 1;
        at += read as u64;
        bad.extend(serde_json::from_slice::<BadRow>(&line).ok());
        if let Ok(row) = serde_json::from_slice::<OutputRow>(&line) {
            let is_unread = row.degraded.as_deref() == Some("unread_language");
            counts.add(row.tools.len(), is_unread, row.error.is_some());
            counts.unsure += usize::from(row.fit.as_deref() == Some(Fit::Unsure.as_str()));
        }
        if rows % chunk == 0 {
            whole.counts = counts;
            whole.bad.append(&mut bad);
            (whole.rows, whole.end) = (rows, at);
        }
    }
}

/// Whether a first line is a header of ours, or the beginning of one that was cut off.
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
    use crate::Shard;
    use crate::record::IdType;

    fn layout() -> Layout {
        let (id, shard) = (IdType::Text, Shard::default());
        Layout { id, explain: false, shard, numbers_missing_ids: false }
    }

    #[test]
    fn it_goes_on_after_the_last_whole_chunk_of_the_same_job() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut first = Journal::open(&output, "a", 2).unwrap();
        assert_eq!(first.rows, 0);
        first.append("1\n2\n3\n4\n5\nto").unwrap();
        drop(first);
        let mut again = Journal::open(&output, "a", 2).unwrap();
        assert_eq!(again.rows, 4);
        again.append("5\n").unwrap();
        assert!(!output.exists());
        again.finish(FileFormat::default(), layout()).unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "1\n2\n3\n4\n5\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_job_starts_anew() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        Journal::open(&output, "a", 1).unwrap().append("1\n").unwrap();
        assert_eq!(Journal::open(&output, "b", 1).unwrap().rows, 0);
    }

    #[test]
    fn one_job_at_a_time_writes_an_output() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut first = Journal::open(&output, "a", 1).unwrap();
        first.append("1\n").unwrap();
        for job in ["a", "b"] {
            assert!(matches!(Journal::open(&output, job, 1), Err(Error::Busy { .. })), "{job}");
        }
        // Someone took the partial away, as the same job does where files cannot be locked.
        std::fs::remove_file(partial_path(&output)).unwrap();
        first.finish(FileFormat::default(), layout()).unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "1\n");
        Journal::open(&output, "a", 1).unwrap();
    }

    #[test]
    fn a_file_that_no_batch_made_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        for text in ["my notes\nof today\n", "my notes", "{\"id\":1}\n", "{\"job\":\"a\"} \n"] {
            std::fs::write(partial_path(&output), text).unwrap();
            let refused = Journal::open(&output, "a", 1).map(|partial| partial.rows);
            assert!(matches!(refused, Err(Error::NotOurPartial { .. })), "{text}: {refused:?}");
            assert_eq!(std::fs::read_to_string(partial_path(&output)).unwrap(), text);
        }
        for cut in ["", "{\"j", "{\"job\":\"abc"] {
            std::fs::write(partial_path(&output), cut).unwrap();
            assert_eq!(Journal::open(&output, "a", 1).unwrap().rows, 0, "{cut}");
        }
    }

    #[test]
    fn the_bad_rows_of_the_first_part_are_not_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let bad = |line: usize| {
            format!("{{\"id\":1.50,\"tools\":[],\"line\":{line},\"error\":\"no\"}}\n")
        };
        let good = "{\"id\":2,\"tools\":[]}\n";
        let mut first = Journal::open(&output, "a", 2).unwrap();
        first.append(&[&bad(3), good, &bad(7)].concat()).unwrap();
        drop(first);
        let again = Journal::open(&output, "a", 2).unwrap();
        assert_eq!((again.rows, again.bad.len()), (2, 1));
        assert_eq!(
            serde_json::to_string(&again.bad).unwrap(),
            r#"[{"id":1.50,"line":3,"error":"no"}]"#
        );
    }
}
