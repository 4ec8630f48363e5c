//! The unfinished output of a batch: what is in it, and whether it may be gone on with.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::Error;

/// `R.jsonl.partial` beside the output `R.jsonl`: one line that names the job, then the rows done
/// so far. It becomes the output when the last row is written.
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    output: PathBuf,
    header: u64,
    /// Whole rows that an interrupted run of the same job left.
    pub rows: usize,
}

impl Partial {
    /// Opens the unfinished output of this very job, or starts one. `job` tells jobs apart; rows
    /// past the last multiple of `chunk` are dropped, so that what is computed together stays so.
    pub fn open(output: &Path, job: &str, chunk: usize) -> Result<Self, Error> {
        let mut path = output.as_os_str().to_owned();
        path.push(".partial");
        let path = PathBuf::from(path);
        let header = format!("{{\"job\":\"{job}\"}}\n");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(&path).map_err(Error::io("write", &path))?;
        let (rows, end) = survey(&file, &header, chunk).map_err(Error::io("read", &path))?;
        let mut partial =
            Self { file, path, output: output.to_owned(), header: header.len() as u64, rows };
        partial.start_at(end, &header)?;
        Ok(partial)
    }

    fn start_at(&mut self, end: u64, header: &str) -> Result<(), Error> {
        let mut cut = || {
            self.file.set_len(end)?;
            self.file.seek(SeekFrom::Start(end))?;
            if end == 0 { self.file.write_all(header.as_bytes()) } else { Ok(()) }
        };
        cut().map_err(Error::io("write", &self.path))
    }

    pub fn append(&mut self, rows: &str) -> Result<(), Error> {
        self.file.write_all(rows.as_bytes()).map_err(Error::io("write", &self.path))
    }

    /// Moves the rows, without the header, to the output's place.
    pub fn finish(mut self) -> Result<(), Error> {
        let folder = self.output.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let mut publish = || {
            let mut whole = tempfile::NamedTempFile::new_in(folder)?;
            self.file.seek(SeekFrom::Start(self.header))?;
            std::io::copy(&mut self.file, &mut whole)?;
            whole.as_file().sync_all()?;
            allow_reading(whole.as_file())?;
            whole.persist(&self.output).map_err(|error| error.error)
        };
        publish().map_err(Error::io("write", &self.output))?;
        std::fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }
}

/// How many whole rows of the same job there are, in whole chunks, and where they end.
fn survey(file: &File, header: &str, chunk: usize) -> std::io::Result<(usize, u64)> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line != header.as_bytes() {
        return Ok((0, 0));
    }
    let (mut rows, mut at) = (0, header.len() as u64);
    let (mut whole_rows, mut whole_end) = (0, at);
    loop {
        line.clear();
        let read = reader.read_until(b'\n', &mut line)?;
        if read == 0 || line.last() != Some(&b'\n') {
            return Ok((whole_rows, whole_end));
        }
        rows += 1;
        at += read as u64;
        if rows % chunk == 0 {
            (whole_rows, whole_end) = (rows, at);
        }
    }
}

/// Temporary files are for their owner alone; an output is a file like any other.
#[cfg(unix)]
fn allow_reading(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn allow_reading(_: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_after_the_last_whole_chunk_of_the_same_job() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        let mut first = Partial::open(&output, "a", 2).unwrap();
        assert_eq!(first.rows, 0);
        first.append("1\n2\n3\n4\n5\nto").unwrap();
        drop(first);
        let mut again = Partial::open(&output, "a", 2).unwrap();
        assert_eq!(again.rows, 4);
        again.append("5\n").unwrap();
        assert!(!output.exists());
        again.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "1\n2\n3\n4\n5\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn another_job_starts_anew() {
        let dir = tempfile::tempdir().unwrap();
        let output = dir.path().join("R.jsonl");
        Partial::open(&output, "a", 1).unwrap().append("1\n").unwrap();
        assert_eq!(Partial::open(&output, "b", 1).unwrap().rows, 0);
    }
}
