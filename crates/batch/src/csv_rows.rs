//! Reads rows from CSV and TSV.

use std::io::Read;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};
use toolroute_eval::{BadRow, RowId};

use crate::Error;
use crate::columns::{ColumnPositions, Columns};
use crate::record::IdType;
use crate::row::{self, Cells, Row};

/// The rows of a CSV or TSV table, whose first line names the columns.
pub(crate) struct CsvRows<R> {
    reader: Reader<R>,
    header: Vec<String>,
    positions: ColumnPositions,
    number: usize,
}

/// `None` for an empty text.
pub(crate) type Opened<R> = Option<CsvRows<R>>;

impl<R: Read> CsvRows<R> {
    /// Reads the header.
    pub fn open(
        from: R,
        delimiter: u8,
        (path, columns): (&Path, &Columns),
        failed: impl FnOnce(std::io::Error) -> Error,
    ) -> Result<Opened<R>, Error> {
        let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(from);
        let header = match reader.byte_headers() {
            Ok(header) => header,
            Err(error) => return Err(failed(cause(error))),
        };
        let mut header: Vec<String> =
            header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        if let Some(first) = header.first_mut()
            && let Some(rest) = first.strip_prefix('\u{feff}')
        {
            *first = rest.trim_matches('"').to_owned();
        }
        if header.is_empty() {
            return Ok(None);
        }
        let positions = columns.find(path, &header);
        let positions =
            positions.map_err(|error| separator(path, delimiter, &header).unwrap_or(error))?;
        Ok(Some(Self { reader, header, positions, number: 0 }))
    }

    /// Returns the type of the ids: integers (the numbers of the rows) if there is no column of
    /// ids, otherwise text.
    pub fn id_type(&self) -> IdType {
        #[cfg(feature = "arrow")]
        if self.positions.id.is_none() {
            return IdType::Column(arrow_schema::DataType::Int64);
        }
        IdType::Text
    }

    fn row(&self, record: &ByteRecord) -> Row {
        let line = record.position().map_or(0, csv::Position::line) as usize;
        let id = match self.positions.id {
            None => Ok(RowId::from(self.number as u64)),
            Some(place) => text(record, place, &self.header).map(|id| RowId::from(id.as_str())),
        };
        let (id, error) = match (id, self.cells(record)) {
            (Ok(id), Ok(cells)) => {
                let name = &self.header[self.positions.prompt];
                return Cells { id, ..cells }.row(self.number, line, name);
            }
            (Ok(id), Err(error)) => (id, error),
            (Err(error), _) => (RowId::default(), error),
        };
        row::bad_row(self.number, BadRow { id, line, error })
    }

    fn cells(&self, record: &ByteRecord) -> Result<Cells, String> {
        if record.len() != self.header.len() {
            let (found, expected) = (record.len(), self.header.len());
            return Err(format!(
                "{found} values; expected {expected}, as the header names: put values with a separator in quotes"
            ));
        }
        let cell = |place: Option<usize>| {
            place.map_or(Ok(String::new()), |place| text(record, place, &self.header))
        };
        Ok(Cells {
            id: RowId::default(),
            prompt: Some(cell(Some(self.positions.prompt))?),
            candidates: row::candidates(&cell(self.positions.candidates)?)?,
            tools: row::tools(&cell(self.positions.tools)?)?,
            context: None,
        })
    }
}

/// Returns the error of a header that contains another separator instead of this one.
fn separator(path: &Path, delimiter: u8, header: &[String]) -> Option<Error> {
    let expected = char::from(delimiter);
    let others = [
        (';', "write commas, with quotes around values that hold one"),
        ('\t', "give --input-format tsv"),
        (',', "give --input-format csv"),
        ('|', "write commas, with quotes around values that hold one"),
    ];
    let [name] = header else { return None };
    let (found, cure) = others.into_iter().find(|(other, _)| name.contains(*other))?;
    Some(Error::Separator { path: path.to_owned(), found, expected, cure })
}

fn text(record: &ByteRecord, place: usize, header: &[String]) -> Result<String, String> {
    let bytes = record.get(place).unwrap_or_default();
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        let (name, byte) = (&header[place], error.valid_up_to() + 1);
        format!(
            "`{name}` is not UTF-8 at byte {byte}; expected UTF-8: convert the file with `iconv`"
        )
    })
}

impl<R: Read> Iterator for CsvRows<R> {
    type Item = std::io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = ByteRecord::new();
        match self.reader.read_byte_record(&mut record) {
            Ok(false) => None,
            Ok(true) => {
                let row = self.row(&record);
                self.number += 1;
                Some(Ok(row))
            }
            Err(error) => Some(Err(cause(error))),
        }
    }
}

/// Returns the I/O error that caused a CSV error, if there is one, because the library's own
/// conversion hides its kind.
pub(crate) fn cause(error: csv::Error) -> std::io::Error {
    let said = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        _ => std::io::Error::other(said),
    }
}
