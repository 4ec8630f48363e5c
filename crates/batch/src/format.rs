//! In which format rows are read and written.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::Error;

/// How rows are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// A JSON object a line.
    #[default]
    JsonLines,
    /// Comma-separated values, with a header.
    Csv,
    /// Values separated by tabs, with a header.
    Tsv,
    Parquet,
    /// Arrow IPC as a file. What is read may be a stream too; what is written into a pipe is one.
    Arrow,
    /// Arrow IPC as a stream.
    ArrowStream,
}

impl Format {
    /// Whether a row is a line or several, in a text that can be compressed as a whole.
    pub fn is_text(self) -> bool {
        matches!(self, Self::JsonLines | Self::Csv | Self::Tsv)
    }
}

/// How the bytes of a text are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Gzip,
    Zstd,
}

/// A format, and how its text is packed. Written `jsonl`, `csv.gz`, `parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFormat {
    pub format: Format,
    /// Parquet and Arrow have a compression of their own, and none around them.
    pub compression: Compression,
}

/// Extensions; the first of a format is the one that it is called by.
const EXTENSIONS: &[(&str, Format)] = &[
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("json", Format::JsonLines),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("parquet", Format::Parquet),
    ("arrow", Format::Arrow),
    ("ipc", Format::Arrow),
    ("feather", Format::Arrow),
    ("arrows", Format::ArrowStream),
];

const PACKED: &[(&str, Compression)] = &[("gz", Compression::Gzip), ("zst", Compression::Zstd)];

fn known<T: Copy>(list: &[(&str, T)], extension: &str) -> Option<T> {
    list.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension)).map(|(_, known)| *known)
}

impl FileFormat {
    /// What the extensions of a path say: JSON lines where they say nothing.
    pub fn of_path(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (inner, last) = extension(&name);
        let Some(compression) = known(PACKED, last) else {
            let format = known(EXTENSIONS, last).unwrap_or_default();
            return Self { format, compression: Compression::None };
        };
        let format = known(EXTENSIONS, extension(inner).1).filter(|format| format.is_text());
        Self { format: format.unwrap_or_default(), compression }
    }

    /// What the extensions of an output say: rows that nobody asked for as JSON lines would be found out
    /// after the work.
    ///
    /// # Errors
    /// [`Error::UnknownExtension`] where they name no format, or Parquet or Arrow that is packed.
    pub fn of_output(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (inner, last) = extension(&name);
        let (last, is_packed) = match known(PACKED, last) {
            Some(_) => (extension(inner).1, true),
            None => (last, false),
        };
        let is_known = match known(EXTENSIONS, last) {
            Some(format) => format.is_text() || !is_packed,
            None => last.is_empty() || last.eq_ignore_ascii_case("txt"),
        };
        if !is_known {
            return Err(Error::UnknownExtension { path: path.to_owned() });
        }
        Ok(Self::of_path(path))
    }
}

/// The rest of a name, and its last extension; empty where there is none.
fn extension(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// A name that no format has.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is no format; expected jsonl, csv, tsv, parquet, arrow or arrows, the first three also with .gz or .zst"
)]
pub struct UnknownFormat(String);

impl FromStr for FileFormat {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let unknown = || UnknownFormat(name.to_owned());
        let (format, packed) = name.split_once('.').map_or((name, None), |(f, p)| (f, Some(p)));
        let format = known(EXTENSIONS, format).ok_or_else(unknown)?;
        let compression = match packed {
            None => Compression::None,
            Some(packed) if format.is_text() => known(PACKED, packed).ok_or_else(unknown)?,
            Some(_) => return Err(unknown()),
        };
        Ok(Self { format, compression })
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = EXTENSIONS.iter().find(|(_, format)| *format == self.format);
        f.write_str(named.map_or("", |(name, _)| name))?;
        match PACKED.iter().find(|(_, compression)| *compression == self.compression) {
            Some((name, _)) => write!(f, ".{name}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_its_format_by_its_extensions() {
        for (path, format) in [
            ("q.jsonl", "jsonl"),
            ("q.ndjson.gz", "jsonl.gz"),
            ("dir.csv/q", "jsonl"),
            ("Q.CSV", "csv"),
            ("q.tsv.zst", "tsv.zst"),
            ("q.v2.parquet", "parquet"),
            ("q.feather", "arrow"),
            ("q.arrows", "arrows"),
            ("q.gz", "jsonl.gz"),
            ("q.txt", "jsonl"),
        ] {
            assert_eq!(FileFormat::of_path(Path::new(path)).to_string(), format, "{path}");
            assert_eq!(format.parse::<FileFormat>().unwrap().to_string(), format);
        }
        for (path, format) in [
            ("r", Some("jsonl")),
            ("r.txt", Some("jsonl")),
            ("r.txt.gz", Some("jsonl.gz")),
            ("r.gz", Some("jsonl.gz")),
            ("r.v2.CSV.zst", Some("csv.zst")),
            ("r.arrow", Some("arrow")),
            ("r.parquet.gz", None),
            ("r.arrow.zst", None),
            ("r.parqet", None),
            ("r.csv.bz2", None),
        ] {
            let found = FileFormat::of_output(Path::new(path)).ok();
            assert_eq!(found.map(|found| found.to_string()).as_deref(), format, "{path}");
        }
        for name in ["xml", "parquet.gz", "csv.bz2", ""] {
            assert!(name.parse::<FileFormat>().is_err(), "{name}");
        }
    }
}
