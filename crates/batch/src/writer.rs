//! Writes rows of the journal in the format of the output.

use std::io::{self, Write};

use crate::compression::Compressor;
use crate::csv_rows::cause;
use crate::format::{Compression, FileFormat, Format};
use crate::record::{Layout, OutputRecord};

/// Writes rows, which it receives as JSON lines.
pub(crate) trait RowWriter {
    /// Writes some rows. Formats that can be read as a stream are flushed, so that the reader of a
    /// pipe receives the rows.
    fn write(&mut self, rows: &str) -> io::Result<()>;

    /// Writes the end of the output.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The target of an output, such as a file or a pipe.
pub(crate) type Sink = Box<dyn Write + Send>;

pub(crate) fn open(format: FileFormat, layout: Layout, to: Sink) -> io::Result<Box<dyn RowWriter>> {
    Ok(match format.format {
        Format::JsonLines => Box::new(JsonLines(Compressor::new(to, format.compression)?)),
        Format::Csv => Box::new(CsvRows::new(to, format.compression, (b',', &layout))?),
        Format::Tsv => Box::new(CsvRows::new(to, format.compression, (b'\t', &layout))?),
        #[cfg(feature = "arrow")]
        Format::Parquet => Box::new(crate::tables::ParquetRows::new(to, layout)?),
        #[cfg(feature = "arrow")]
        of @ (Format::Arrow | Format::ArrowStream) => {
            Box::new(crate::tables::ArrowRows::new(to, layout, of == Format::ArrowStream)?)
        }
        #[cfg(not(feature = "arrow"))]
        _ => return Err(io::Error::other("this program was built without the feature `arrow`")),
    })
}

struct JsonLines(Compressor<Sink>);

impl RowWriter for JsonLines {
    fn write(&mut self, rows: &str) -> io::Result<()> {
        self.0.write_all(rows.as_bytes())?;
        self.0.flush()
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finish()
    }
}

/// The columns of a table. The last ones are present with `--explain`.
const COLUMNS: [&str; 12] = [
    "id",
    "tools",
    "fit",
    "fit_reason",
    "confidence",
    "degraded",
    "no_tools",
    "read_as",
    "unknown_candidates",
    "error",
    "evidence",
    "background",
];

/// Returns the columns of a table.
pub(crate) fn columns(layout: &Layout) -> &'static [&'static str] {
    if layout.explain { &COLUMNS } else { &COLUMNS[..10] }
}

struct CsvRows {
    table: csv::Writer<Compressor<Sink>>,
    columns: usize,
}

impl CsvRows {
    fn new(
        to: Sink,
        compression: Compression,
        (delimiter, layout): (u8, &Layout),
    ) -> io::Result<Self> {
        let to = Compressor::new(to, compression)?;
        let mut table = csv::WriterBuilder::new().delimiter(delimiter).from_writer(to);
        let columns = columns(layout);
        table.write_record(columns).map_err(cause)?;
        Ok(Self { table, columns: columns.len() })
    }
}

impl RowWriter for CsvRows {
    fn write(&mut self, rows: &str) -> io::Result<()> {
        for line in rows.lines() {
            let row = OutputRecord::parse(line)?;
            let number = |value: Option<f32>| value.map_or(String::new(), |it| it.to_string());
            let cells: [String; COLUMNS.len()] = [
                row.id().unwrap_or_default(),
                row.tools.get().to_owned(),
                row.fit.clone().unwrap_or_default(),
                row.fit_reason().unwrap_or_default(),
                number(row.confidence),
                row.degraded.unwrap_or_default(),
                row.no_tools.unwrap_or_default(),
                row.read_as.unwrap_or_default(),
                row.unknown_candidates.map_or(String::new(), |ids| ids.get().to_owned()),
                row.error.unwrap_or_default(),
                number(row.evidence),
                number(row.background),
            ];
            self.table.write_record(&cells[..self.columns]).map_err(cause)?;
        }
        self.table.flush()
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let packer = self.table.into_inner().map_err(|error| error.into_error())?;
        packer.finish()
    }
}
