//! The input of a batch: a file, which is read again after an interruption, or a stream, which is
//! read as it arrives.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use toolroute_vectors::durable;

use crate::columns::{self, Columns};
use crate::csv_bytes::{CsvBytes, CsvError};
use crate::csv_rows::CsvRows;
use crate::format::{Compression, FileFormat, Format, no_text};
use crate::json_rows::{JSON_LINES, JsonRows, Misspelt};
use crate::record::IdType;
use crate::row::OpenRows;
use crate::{Error, compression};

/// The beginning of the input, for the error that describes an input without any readable row.
type Head = Arc<Mutex<Vec<u8>>>;

/// The length of the beginning in bytes.
const HEAD_BYTES: usize = 4_096;

/// A file of prompts, or a stream of them.
pub struct Input {
    path: PathBuf,
    pub format: FileFormat,
    columns: Columns,
    kind: Kind,
    head: Head,
    misspelt: Misspelt,
}

enum Kind {
    /// A regular file, with the hash of its content and its number of rows. The number is estimated
    /// from the line breaks for JSON lines, and unknown for CSV and Arrow.
    File {
        hash: String,
        total: Option<usize>,
    },
    /// A pipe or a device, which is opened once.
    Pipe,
    Stdin,
}

impl Input {
    /// Opens a file and checks that at least one of its rows is a prompt, before the catalog is
    /// loaded, which takes longer. A pipe is not read yet.
    pub fn open(path: &Path, format: FileFormat, columns: Columns) -> Result<Self, Error> {
        let about = std::fs::metadata(path).map_err(Error::io("read", path))?;
        if about.is_dir() {
            return Err(Error::InputIsFolder { path: path.to_owned() });
        }
        let input = Self::new(path, format, columns, Kind::Pipe);
        if !about.is_file() {
            return Ok(input);
        }
        let (hash, lines) = input.survey()?;
        let total = input.check()?.or(lines);
        Ok(Self { kind: Kind::File { hash, total }, ..input })
    }

    pub fn stdin(format: FileFormat, columns: Columns) -> Self {
        Self::new(Path::new("stdin"), format, columns, Kind::Stdin)
    }

    fn new(path: &Path, format: FileFormat, columns: Columns, kind: Kind) -> Self {
        Self {
            path: path.to_owned(),
            format,
            columns,
            kind,
            head: Head::default(),
            misspelt: Misspelt::default(),
        }
    }

    /// Whether the input can be read again, so that an interrupted batch can be resumed.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.kind, Kind::File { .. })
    }

    /// Identifies the input: the content of a file and how it is read. A stream differs from every
    /// other.
    pub(crate) fn identity(&self) -> String {
        let hash = match &self.kind {
            Kind::File { hash, .. } => hash.clone(),
            _ => toolroute_vectors::durable::unique_id(),
        };
        format!("{hash} {:?} {:?}", self.format, self.columns)
    }

    /// Returns the rows from the first one on.
    pub(crate) fn rows(&self) -> Result<OpenRows, Error> {
        let from: Box<dyn Read + Send> = match self.kind {
            Kind::Stdin => Box::new(std::io::stdin()),
            _ => Box::new(self.file()?),
        };
        let opened = self.open_rows(from)?;
        let total = match &self.kind {
            Kind::File { total, .. } => *total,
            _ => opened.total,
        };
        Ok(OpenRows { total, ..opened })
    }

    fn file(&self) -> Result<File, Error> {
        File::open(&self.path).map_err(Error::io("read", &self.path))
    }

    fn open_rows(&self, from: Box<dyn Read + Send>) -> Result<OpenRows, Error> {
        let failed = read_error(&self.path, self.format);
        let from = compression::decompress(from, self.format.compression).map_err(&failed)?;
        self.head.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let from: Box<dyn Read + Send> = Box::new(WithHead { from, head: self.head.clone() });
        let from = self.checked(from);
        match self.format.format {
            Format::JsonLines => {
                let about = (self.path.clone(), self.columns.clone(), self.misspelt.clone());
                let rows = JsonRows::new(from, about, Box::new(failed));
                Ok(OpenRows { rows: Box::new(rows), id: IdType::Text, total: None })
            }
            Format::Csv | Format::Tsv => {
                let delimiter = delimiter(self.format.format).unwrap_or(b',');
                let about = (self.path.as_path(), &self.columns);
                let rows = CsvRows::open(from, delimiter, about, &failed)?;
                let id = rows.as_ref().map_or(IdType::Text, CsvRows::id_type);
                let rows = rows.into_iter().flatten().map(move |row| row.map_err(&failed));
                Ok(OpenRows { rows: Box::new(rows), id, total: None })
            }
            Format::Parquet | Format::Arrow | Format::ArrowStream => {
                self.open_table(from).map_err(|error| self.with_likely_format(error))
            }
        }
    }

    /// Names the likely format of a text that is no table.
    fn with_likely_format(&self, error: Error) -> Error {
        let head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Error::Damaged { path, format, .. } if head.starts_with(b"{") => {
                let found = "it begins as JSON lines do: give --input-format jsonl".to_owned();
                Error::Damaged { path, format, found }
            }
            error => error,
        }
    }

    /// Checks CSV for errors that the parser ignores.
    fn checked(&self, from: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        match delimiter(self.format.format) {
            Some(delimiter) => Box::new(CsvBytes::new(from, delimiter)),
            None => from,
        }
    }

    #[cfg(feature = "arrow")]
    fn open_table(&self, mut from: Box<dyn Read + Send>) -> Result<OpenRows, Error> {
        if self.format.format != Format::Parquet {
            return crate::tables::open_arrow(from, &self.path, &self.columns);
        }
        let file = if matches!(self.kind, Kind::Stdin) || !self.path.is_file() {
            // The metadata of Parquet is at its end, so a pipe is first copied to a file.
            let mut kept = tempfile::tempfile().map_err(Error::io("keep", &self.path))?;
            std::io::copy(&mut from, &mut kept).map_err(Error::io("read", &self.path))?;
            kept
        } else {
            // Only the beginning, for the error of a file in another format.
            from.read(&mut [0]).map_err(Error::io("read", &self.path))?;
            self.file()?
        };
        crate::tables::open_parquet(file, &self.path, &self.columns)
    }

    #[cfg(not(feature = "arrow"))]
    fn open_table(&self, _: Box<dyn Read + Send>) -> Result<OpenRows, Error> {
        let format = self.format.to_string();
        Err(Error::NotBuilt { path: self.path.clone(), format })
    }

    /// Returns the hash of a file and, for JSON lines, the number of its line breaks. A compressed
    /// file is decompressed, so that truncation is detected before any work.
    fn survey(&self) -> Result<(String, Option<usize>), Error> {
        let failed = read_error(&self.path, self.format);
        let survey = || {
            let file: Box<dyn Read + Send> = Box::new(File::open(&self.path)?);
            let mut from = self.checked(compression::decompress(file, self.format.compression)?);
            let (mut hash, mut lines, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
            loop {
                match from.read(&mut buffer) {
                    Ok(0) => return Ok((durable::hex(&hash.finalize()), lines)),
                    Ok(read) => {
                        hash.update(&buffer[..read]);
                        lines += buffer[..read].iter().filter(|byte| **byte == b'\n').count();
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        };
        let (hash, lines) = survey().map_err(failed)?;
        Ok((hash, (self.format.format == Format::JsonLines).then_some(lines)))
    }

    /// Checks that at least one row is a prompt. Returns the number of rows if it is known.
    fn check(&self) -> Result<Option<usize>, Error> {
        let opened = self.open_rows(Box::new(self.file()?))?;
        // In JSON lines any row may have the chosen columns, so all rows are read to find out that
        // none has.
        let reads_all = self.format.format == Format::JsonLines && self.columns.names_optional();
        let (mut first, mut has_prompts) = (None, false);
        for row in opened.rows {
            match row?.query {
                Ok(_) if reads_all => has_prompts = true,
                Ok(_) => return Ok(opened.total),
                Err(bad) => first = first.or(Some((bad.line, bad.error))),
            }
        }
        if has_prompts { Ok(opened.total) } else { Err(self.nothing_read(first)) }
    }

    /// Returns the error of an input without a prompt. `first` is the line and the error of its
    /// first row.
    pub(crate) fn nothing_read(&self, first: Option<(usize, String)>) -> Error {
        let path = self.path.clone();
        let expected = match self.format.format {
            Format::JsonLines => JSON_LINES,
            _ => "a row for each prompt",
        };
        let Some((line, found)) = first else { return Error::NoRows { path, expected } };
        let found = found.split("; expected").next().unwrap_or_default().to_owned();
        let head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let cure = match (row_cure(&found), self.format.format) {
            (Some(cure), _) => cure,
            (None, Format::JsonLines) => cure(&head),
            (None, _) => format!("name the column of the prompts with {}", columns::PROMPT_FLAG),
        };
        Error::NothingRead { path, expected, cure, line, found }
    }
}

/// Returns the separator of a text format.
fn delimiter(format: Format) -> Option<u8> {
    match format {
        Format::Csv => Some(b','),
        Format::Tsv => Some(b'\t'),
        _ => None,
    }
}

/// Returns the cure for rows that all fail with the error of the first one, if that error implies a
/// cure.
fn row_cure(found: &str) -> Option<String> {
    let without = |flag| format!("leave that column out with {flag} \"\"");
    if found.starts_with("the tools") {
        Some(without(columns::TOOLS_FLAG))
    } else if found.starts_with("the candidates") || found.starts_with("a candidate") {
        Some(without(columns::CANDIDATES_FLAG))
    } else if found.ends_with(" is empty") {
        let flag = columns::PROMPT_FLAG;
        Some(format!("the rows have no prompts in it: name another column or member with {flag}"))
    } else if found.contains("is not UTF-8") {
        Some("write it as UTF-8, with `iconv -f ENCODING -t UTF-8`".to_owned())
    } else {
        None
    }
}

/// Returns the cure for a text without any JSON row.
fn cure(head: &[u8]) -> String {
    let text = toolroute_eval::cure(head);
    match no_text(head, "jsonl") {
        Some(cure) => cure,
        None if text.contains("CSV") => format!("{text}, or give --input-format csv"),
        None if text.contains("other members") => {
            format!("{text}, or give their name with {}", columns::PROMPT_FLAG)
        }
        None => text.to_owned(),
    }
}

/// Converts an error of reading: of the file itself, or of its decompression.
fn read_error(
    path: &Path,
    format: FileFormat,
) -> impl Fn(std::io::Error) -> Error + Send + 'static {
    let path = path.to_owned();
    move |source| {
        let damaged = match format.compression {
            _ if source.get_ref().is_some_and(|inner| inner.is::<CsvError>()) => "CSV",
            Compression::Gzip if source.raw_os_error().is_none() => "gzip",
            Compression::Zstd if source.raw_os_error().is_none() => "zstd",
            _ => return Error::Io { action: "read", path: path.clone(), source },
        };
        Error::Damaged { path: path.clone(), format: damaged, found: source.to_string() }
    }
}

/// Keeps the first bytes that are read.
struct WithHead<R> {
    from: R,
    head: Head,
}

impl<R: Read> Read for WithHead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        let mut head = self.head.lock().unwrap_or_else(PoisonError::into_inner);
        let room = HEAD_BYTES.saturating_sub(head.len());
        head.extend_from_slice(&buffer[..read.min(room)]);
        Ok(read)
    }
}
