//! Reads rows from Arrow and Parquet.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use toolroute_eval::{BadRow, RowId};

use super::cells;
use super::guard::catch_panics;
use crate::Error;
use crate::columns::{CANDIDATES_FLAG, ColumnPositions, Columns, ID_FLAG, PROMPT_FLAG, TOOLS_FLAG};
use crate::format::Format;
use crate::record::IdType;
use crate::row::{self, Cells, OpenRows, Row};

/// The number of rows that are decoded together.
const BATCH: usize = 1_024;

/// The first and last bytes of an Arrow file. Between them are a stream and a table with the
/// positions of its parts.
const ARROW_MAGIC: &[u8] = b"ARROW1";

/// Opens a Parquet file. Only the required columns are read.
pub(crate) fn open_parquet(file: File, path: &Path, columns: &Columns) -> Result<OpenRows, Error> {
    let damaged = |error: &dyn std::fmt::Display| damaged(path, Format::Parquet, error);
    let builder = catch_panics(|| ParquetRecordBatchReaderBuilder::try_new(file));
    let builder = builder.map_err(|error| damaged(&error))?;
    let table = Table::new(path, builder.schema(), columns)?;
    let is_needed = |column: &&ColumnChunkMetaData| {
        let name = column.column_path().parts().first();
        table.needed().iter().any(|place| Some(&table.header[*place]) == name)
    };
    let groups = builder.metadata().row_groups();
    let needed = groups.iter().flat_map(RowGroupMetaData::columns).filter(is_needed);
    if let Some(codec) = needed.map(ColumnChunkMetaData::compression).find_map(unread_codec) {
        return Err(Error::Codec { path: path.to_owned(), codec });
    }
    let total = usize::try_from(builder.metadata().file_metadata().num_rows()).ok();
    let mask = ProjectionMask::roots(builder.parquet_schema(), table.needed());
    let reader = catch_panics(|| builder.with_projection(mask).with_batch_size(BATCH).build());
    let reader = reader.map_err(|error| damaged(&error))?;
    // The projection removed columns, so the positions have changed.
    let table = Table::new(path, &reader_schema(&reader), &table.chosen())?;
    let id = table.id_type();
    let rows = TableRows { batches: reader, table, format: Format::Parquet, batch: None, next: 0 };
    Ok(OpenRows { rows: Box::new(rows), id, total })
}

/// Returns the name of a compression that this program is built without.
fn unread_codec(of: Compression) -> Option<&'static str> {
    match of {
        Compression::BROTLI(_) => Some("brotli"),
        Compression::LZO => Some("LZO"),
        _ => None,
    }
}

fn reader_schema(reader: &impl arrow_array::RecordBatchReader) -> Schema {
    reader.schema().as_ref().clone()
}

/// Opens Arrow IPC, either a stream or a file. Both are read sequentially, so that either can be
/// read from a pipe.
pub(crate) fn open_arrow(
    mut from: Box<dyn Read + Send>,
    path: &Path,
    columns: &Columns,
) -> Result<OpenRows, Error> {
    let (head, is_file) = begin(&mut from).map_err(Error::io("read", path))?;
    let stream: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(from));
    let stream = catch_panics(|| StreamReader::try_new(stream, None));
    let stream = stream.map_err(|error| damaged(path, Format::Arrow, &error))?;
    let table = Table::new(path, &stream.schema(), columns)?;
    let id = table.id_type();
    let batches = ArrowBatches { stream, is_file };
    let rows = TableRows { batches, table, format: Format::Arrow, batch: None, next: 0 };
    Ok(OpenRows { rows: Box::new(rows), id, total: None })
}

/// Reads the beginning. Returns the bytes that belong to the stream, and whether the format is the
/// file format.
fn begin(from: &mut impl Read) -> std::io::Result<(Vec<u8>, bool)> {
    let mut block = || {
        let mut block = Vec::new();
        from.by_ref().take(8).read_to_end(&mut block).map(|_| block)
    };
    let mut head = block()?;
    let is_file = head.starts_with(ARROW_MAGIC);
    if is_file {
        // Writers pad the first bytes to a multiple of 8 or of 64.
        head = block()?;
        while head.len() == 8 && head.iter().all(|byte| *byte == 0) {
            head = block()?;
        }
    }
    Ok((head, is_file))
}

/// The batches of a stream. At the end of the file format, its last bytes are checked.
struct ArrowBatches {
    stream: StreamReader<Box<dyn Read + Send>>,
    is_file: bool,
}

impl Iterator for ArrowBatches {
    type Item = Result<RecordBatch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.stream.next() {
            return Some(batch.map_err(|error| error.to_string()));
        }
        if !std::mem::take(&mut self.is_file) {
            return None;
        }
        // Rows may be missing if the last bytes are, because a stream may end between any two
        // batches.
        let mut rest = Vec::new();
        match self.stream.get_mut().read_to_end(&mut rest) {
            Ok(_) if rest.ends_with(ARROW_MAGIC) => None,
            Ok(_) => Some(Err("its end is missing".to_owned())),
            Err(error) => Some(Err(error.to_string())),
        }
    }
}

fn damaged(path: &Path, format: Format, error: &dyn std::fmt::Display) -> Error {
    let format = if format == Format::Parquet { "Parquet" } else { "Arrow IPC" };
    Error::Damaged { path: path.to_owned(), format, found: error.to_string() }
}

/// The path and the columns of a table.
struct Table {
    path: PathBuf,
    header: Vec<String>,
    types: Vec<DataType>,
    positions: ColumnPositions,
}

impl Table {
    fn new(path: &Path, schema: &Schema, columns: &Columns) -> Result<Self, Error> {
        let header: Vec<String> =
            schema.fields().iter().map(|field| field.name().clone()).collect();
        let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        let positions = columns.find(path, &header)?;
        let table = Self { path: path.to_owned(), header, types, positions };
        table.check_types()?;
        Ok(table)
    }

    fn check_types(&self) -> Result<(), Error> {
        let ColumnPositions { prompt, id, candidates, tools } = self.positions;
        let is_list_of = |of: &DataType, is: fn(&DataType) -> bool| {
            let is_element = |of: &DataType| of.is_null() || is(of);
            cells::is_text(of) || of.is_null() || cells::element(of).is_some_and(is_element)
        };
        let check =
            |place: Option<usize>, is: &dyn Fn(&DataType) -> bool, expected, flag| match place
                .filter(|place| !is(&self.types[*place]))
            {
                None => Ok(()),
                Some(place) => Err(Error::ColumnType {
                    path: self.path.clone(),
                    column: self.header[place].clone(),
                    found: self.types[place].to_string(),
                    expected,
                    flag,
                }),
            };
        check(Some(prompt), &cells::is_text, "texts", PROMPT_FLAG)?;
        check(id, &cells::is_id, "texts or whole numbers", ID_FLAG)?;
        let is_ids = |of: &DataType| is_list_of(of, cells::is_text);
        check(candidates, &is_ids, "lists of tool ids", CANDIDATES_FLAG)?;
        let is_tools = |of: &DataType| is_list_of(of, cells::is_json);
        check(tools, &is_tools, "lists of tool definitions, or such lists as JSON", TOOLS_FLAG)
    }

    fn needed(&self) -> Vec<usize> {
        let ColumnPositions { prompt, id, candidates, tools } = self.positions;
        [Some(prompt), id, candidates, tools].into_iter().flatten().collect()
    }

    /// Returns the names of the columns that were found, so that they are found again after others
    /// are removed.
    fn chosen(&self) -> Columns {
        let name = |place: Option<usize>| {
            Some(place.map_or_else(String::new, |place| self.header[place].clone()))
        };
        let ColumnPositions { prompt, id, candidates, tools } = self.positions;
        Columns {
            prompt: name(Some(prompt)),
            id: name(id),
            candidates: name(candidates),
            tools: name(tools),
        }
    }

    fn id_type(&self) -> IdType {
        match self.positions.id.map(|place| &self.types[place]) {
            None => IdType::Column(DataType::Int64),
            Some(of @ (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)) => {
                IdType::Column(of.clone())
            }
            Some(of) if of.is_integer() => IdType::Column(of.clone()),
            Some(_) => IdType::Text,
        }
    }

    /// Reads a row of a batch. `number` counts the rows of the table from 0.
    fn row(&self, batch: &RecordBatch, at: usize, number: usize) -> Row {
        let id = match self.positions.id {
            Some(place) => cells::id(batch.column(place), at),
            None => RowId::from(number as u64),
        };
        match self.cells(batch, at) {
            Ok(cells) => {
                let name = &self.header[self.positions.prompt];
                Cells { id, ..cells }.row(number, number + 1, name)
            }
            Err(error) => row::bad_row(number, BadRow { id, line: number + 1, error }),
        }
    }

    fn cells(&self, batch: &RecordBatch, at: usize) -> Result<Cells, String> {
        let ColumnPositions { prompt, candidates, tools, .. } = self.positions;
        let prompt = cells::text(batch.column(prompt), at).map(str::to_owned);
        let candidates = candidates.map(|place| cells::candidates(batch.column(place), at));
        let tools = tools.map(|place| cells::tools(batch.column(place), at));
        let (candidates, tools) = (candidates.transpose()?, tools.transpose()?);
        let (candidates, tools) = (candidates.flatten(), tools.flatten());
        Ok(Cells { prompt, candidates, tools, ..Cells::default() })
    }
}

/// The rows of a table, one batch after the other.
struct TableRows<B> {
    batches: B,
    table: Table,
    format: Format,
    /// The current batch and its next row. A row is read only when it is requested.
    batch: Option<(RecordBatch, usize)>,
    next: usize,
}

impl<B, E> Iterator for TableRows<B>
where
    B: Iterator<Item = Result<RecordBatch, E>>,
    E: std::fmt::Display,
{
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((batch, at)) = &mut self.batch
                && *at < batch.num_rows()
            {
                let row = self.table.row(batch, *at, self.next);
                *at += 1;
                self.next += 1;
                return Some(Ok(row));
            }
            self.batch = match catch_panics(|| self.batches.next().transpose()) {
                Ok(batch) => Some((batch?, 0)),
                Err(error) => return Some(Err(damaged(&self.table.path, self.format, &error))),
            };
        }
    }
}
