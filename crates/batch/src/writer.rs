//! Writes rows of the journal in the format of the output.

use std::io::{self, Write};

use crate::compression::Compressor;
use crate::csv_rows::cause;
use crate::format::{FileFormat, Format};
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

/// Creates the writer for a format.
///
/// # Errors
/// Returns an error if the beginning of the output cannot be written, or if the program is built
/// without the format.
#[cfg_attr(not(feature = "arrow"), expect(unused_variables, reason = "text has one layout"))]
pub(crate) fn open(format: FileFormat, layout: Layout, to: Sink) -> io::Result<Box<dyn RowWriter>> {
    Ok(match format.format {
        Format::JsonLines => Box::new(JsonLines(Compressor::new(to, format.compression)?)),
        Format::Csv => Box::new(CsvRows::new(Compressor::new(to, format.compression)?, b',')?),
        Format::Tsv => Box::new(CsvRows::new(Compressor::new(to, format.compression)?, b'\t')?),
        #[cfg(feature = "arrow")]
        Format::Parquet => Box::new(crate::tables::ParquetRows::new(to, layout)?),
        #[cfg(feature = "arrow")]
        Format::Arrow => Box::new(crate::tables::ArrowRows::file(to, layout)?),
        #[cfg(feature = "arrow")]
        Format::ArrowStream => Box::new(crate::tables::ArrowRows::stream(to, layout)?),
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

/// The columns of CSV. Arrow and Parquet use the same names.
pub(crate) const COLUMNS: [&str; 8] =
    ["id", "tools", "fit", "fit_reason", "confidence", "degraded", "unknown_candidates", "error"];

struct CsvRows {
    table: csv::Writer<Compressor<Sink>>,
}

impl CsvRows {
    fn new(to: Compressor<Sink>, delimiter: u8) -> io::Result<Self> {
        let mut table = csv::WriterBuilder::new().delimiter(delimiter).from_writer(to);
        table.write_record(COLUMNS).map_err(cause)?;
        Ok(Self { table })
    }
}

impl RowWriter for CsvRows {
    fn write(&mut self, rows: &str) -> io::Result<()> {
        for line in rows.lines() {
            let row = OutputRecord::parse(line)?;
            let confidence = row.confidence.map(|confidence| confidence.to_string());
            let written = self.table.write_record([
                row.id().as_deref().unwrap_or_default(),
                row.tools.get(),
                row.fit.as_deref().unwrap_or_default(),
                row.fit_reason().as_deref().unwrap_or_default(),
                confidence.as_deref().unwrap_or_default(),
                row.degraded.as_deref().unwrap_or_default(),
                row.unknown_candidates.map_or("", |ids| ids.get()),
                row.error.as_deref().unwrap_or_default(),
            ]);
            written.map_err(cause)?;
        }
        self.table.flush()
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let packer = self.table.into_inner().map_err(|error| error.into_error())?;
        packer.finish()
    }
}
