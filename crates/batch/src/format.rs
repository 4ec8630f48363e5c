//! The formats in which rows are read and written.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::Error;

/// The format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object per line.
    #[default]
    JsonLines,
    /// Comma-separated values, with a header.
    Csv,
    /// Tab-separated values, with a header.
    Tsv,
    Parquet,
    /// The file format of Arrow IPC. The input may be a stream too; the output is a stream if it
    /// goes into a pipe.
    Arrow,
    /// The stream format of Arrow IPC.
    ArrowStream,
}

impl Format {
    /// Whether rows are lines of a text, which can be compressed as a whole.
    pub fn is_text(self) -> bool {
        matches!(self, Self::JsonLines | Self::Csv | Self::Tsv)
    }
}

/// The compression of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    #[default]
    None,
    Gzip,
    Zstd,
}

/// A format with its compression. Written as `jsonl`, `csv.gz`, `parquet`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileFormat {
    pub format: Format,
    /// `None` for Parquet and Arrow, which have their own compression inside.
    pub compression: Compression,
}

/// The extensions of the formats. The first one of a format is its name.
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

const COMPRESSION_EXTENSIONS: &[(&str, Compression)] =
    &[("gz", Compression::Gzip), ("zst", Compression::Zstd)];

fn known<T: Copy>(list: &[(&str, T)], extension: &str) -> Option<T> {
    list.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension)).map(|(_, known)| *known)
}

impl FileFormat {
    /// Returns the format of a path by its extensions, or JSON lines if they are unknown.
    pub fn of_path(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (inner, last) = extension(&name);
        let Some(compression) = known(COMPRESSION_EXTENSIONS, last) else {
            let format = known(EXTENSIONS, last).unwrap_or_default();
            return Self { format, compression: Compression::None };
        };
        let format = known(EXTENSIONS, extension(inner).1).filter(|format| format.is_text());
        Self { format: format.unwrap_or_default(), compression }
    }

    /// Returns the format of an output by its extensions. Unlike [`FileFormat::of_path`], it does
    /// not fall back to JSON lines for an unknown extension, because the user would notice the
    /// wrong format only after the work.
    pub fn of_output(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (inner, last) = extension(&name);
        let (last, is_packed) = match known(COMPRESSION_EXTENSIONS, last) {
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

/// Splits a name into the rest and its last extension, which is empty if there is none.
fn extension(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((name, ""))
}

/// A name that belongs to no format.
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
            Some(packed) if format.is_text() => {
                known(COMPRESSION_EXTENSIONS, packed).ok_or_else(unknown)?
            }
            Some(_) => return Err(unknown()),
        };
        Ok(Self { format, compression })
    }
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = EXTENSIONS.iter().find(|(_, format)| *format == self.format);
        f.write_str(named.map_or("", |(name, _)| name))?;
        match COMPRESSION_EXTENSIONS
            .iter()
            .find(|(_, compression)| *compression == self.compression)
        {
            Some((name, _)) => write!(f, ".{name}"),
            None => Ok(()),
        }
    }
}

/// Returns the cure for a file that is binary or compressed although the format requires text.
pub(crate) fn no_text(head: &[u8], format: &str) -> Option<String> {
    let packed = match head {
        [0x1f, 0x8b, ..] => "gz",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zst",
        [b'P', b'A', b'R', b'1', ..] => {
            return Some("it is Parquet: give --input-format parquet".to_owned());
        }
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => {
            return Some("it is Arrow: give --input-format arrow".to_owned());
        }
        [b'P', b'K', 3, 4, ..] | [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Some(toolroute_eval::cure(head).to_owned());
        }
        _ => return None,
    };
    Some(format!("{}, or give --input-format {format}.{packed}", toolroute_eval::cure(head)))
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
