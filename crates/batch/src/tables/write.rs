//! Converts rows of the journal to columns.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, Float32Array, LargeStringArray, ListArray, PrimitiveArray, RecordBatch, StringArray,
    StringViewArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::record::{IdType, Layout, OutputRecord};
use crate::writer::{self, RowWriter, Sink};

/// The size, in bytes, from which the rows collected so far are written as a Parquet row group.
const GROUP_BYTES: usize = 16 << 20;

/// A tool of a row. `explanation` and `needs` are present with `--explain`.
#[derive(Deserialize)]
struct ToolRecord<'a> {
    id: String,
    score: f32,
    #[serde(borrow)]
    explanation: Option<&'a RawValue>,
    #[serde(borrow)]
    needs: Option<&'a RawValue>,
}

/// Builds batches from rows.
struct Batches {
    layout: Layout,
    schema: SchemaRef,
    tools: Fields,
}

impl Batches {
    fn new(layout: Layout) -> Self {
        let mut tools = vec![
            Field::new("id", DataType::Utf8, false),
            Field::new("score", DataType::Float32, false),
        ];
        if layout.explain {
            let more = ["explanation", "needs"];
            tools.extend(more.map(|name| Field::new(name, DataType::Utf8, true)));
        }
        let tools = Fields::from(tools);
        let id = match &layout.id {
            IdType::Text => DataType::Utf8,
            IdType::Column(of) => of.clone(),
        };
        let item = |of, nullable| Arc::new(Field::new("item", of, nullable));
        let types = [
            (id, true),
            (DataType::List(item(DataType::Struct(tools.clone()), false)), false),
            (DataType::Utf8, true),
            (DataType::Utf8, true),
            (DataType::Float32, true),
            (DataType::Utf8, true),
            (DataType::Utf8, true),
            (DataType::Utf8, true),
            (DataType::List(item(DataType::Utf8, false)), true),
            (DataType::Utf8, true),
            (DataType::Float32, true),
            (DataType::Float32, true),
        ];
        let fields = writer::columns(&layout).iter().zip(types);
        let fields: Vec<Field> =
            fields.map(|(name, (of, nullable))| Field::new(*name, of, nullable)).collect();
        Self { layout, schema: Arc::new(Schema::new(fields)), tools }
    }

    fn batch(&self, rows: &str) -> io::Result<RecordBatch> {
        let records = rows.lines().map(OutputRecord::parse);
        let records: Vec<OutputRecord<'_>> = records.collect::<io::Result<_>>()?;
        let rows = || records.iter();
        let ids = rows().map(OutputRecord::id);
        let mut columns: Vec<ArrayRef> = vec![
            id_column(&self.layout.id, ids.collect())?,
            self.tools(rows())?,
            Arc::new(rows().map(|row| row.fit.as_deref()).collect::<StringArray>()),
            Arc::new(rows().map(OutputRecord::fit_reason).collect::<StringArray>()),
            Arc::new(rows().map(|row| row.confidence).collect::<Float32Array>()),
            Arc::new(rows().map(|row| row.degraded.as_deref()).collect::<StringArray>()),
            Arc::new(rows().map(|row| row.no_tools.as_deref()).collect::<StringArray>()),
            Arc::new(rows().map(|row| row.read_as.as_deref()).collect::<StringArray>()),
            self.unknown(rows())?,
            Arc::new(rows().map(|row| row.error.as_deref()).collect::<StringArray>()),
        ];
        if self.layout.explain {
            columns.push(Arc::new(rows().map(|row| row.evidence).collect::<Float32Array>()));
            columns.push(Arc::new(rows().map(|row| row.background).collect::<Float32Array>()));
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(of_arrow)
    }

    fn tools<'r>(&self, rows: impl Iterator<Item = &'r OutputRecord<'r>>) -> io::Result<ArrayRef> {
        let (mut lengths, mut tools) = (Vec::new(), Vec::new());
        for row in rows {
            let of_row: Vec<ToolRecord<'_>> = serde_json::from_str(row.tools.get())?;
            lengths.push(of_row.len());
            tools.extend(of_row);
        }
        let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        let ids = tools.iter().map(|tool| Some(tool.id.as_str()));
        let mut members: Vec<ArrayRef> = vec![
            Arc::new(ids.collect::<StringArray>()),
            Arc::new(tools.iter().map(|tool| Some(tool.score)).collect::<Float32Array>()),
        ];
        if self.layout.explain {
            let explained = tools.iter().map(|tool| text(tool.explanation));
            members.push(Arc::new(explained.collect::<StringArray>()));
            let needs = tools.iter().map(|tool| text(tool.needs));
            members.push(Arc::new(needs.collect::<StringArray>()));
        }
        let count = tools.len();
        let tools = StructArray::try_new_with_length(self.tools.clone(), members, None, count);
        let tools = Arc::new(tools.map_err(of_arrow)?);
        self.list(1, (lengths, tools), None)
    }

    fn unknown<'r>(
        &self,
        rows: impl Iterator<Item = &'r OutputRecord<'r>>,
    ) -> io::Result<ArrayRef> {
        let (mut lengths, mut ids, mut there) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let of_row: Vec<String> = match row.unknown_candidates {
                Some(list) => serde_json::from_str(list.get())?,
                None => Vec::new(),
            };
            there.push(row.unknown_candidates.is_some());
            lengths.push(of_row.len());
            ids.extend(of_row.into_iter().map(Some));
        }
        let ids: StringArray = ids.into_iter().collect();
        self.list(8, (lengths, Arc::new(ids)), Some(NullBuffer::from(there)))
    }

    /// Builds the column at `place` from lists of these lengths.
    fn list(
        &self,
        place: usize,
        (lengths, items): (Vec<usize>, ArrayRef),
        there: Option<NullBuffer>,
    ) -> io::Result<ArrayRef> {
        let DataType::List(item) = self.schema.field(place).data_type() else {
            return Err(io::Error::other(format!("column {place} is no list. This is a bug.")));
        };
        let offsets = OffsetBuffer::from_lengths(lengths);
        let list = ListArray::try_new(item.clone(), offsets, items, there).map_err(of_arrow)?;
        Ok(Arc::new(list))
    }
}

/// Builds the column of ids in the type of the input's column.
fn id_column(of: &IdType, ids: Vec<Option<String>>) -> io::Result<ArrayRef> {
    let IdType::Column(of) = of else { return Ok(Arc::new(StringArray::from(ids))) };
    Ok(match of {
        DataType::LargeUtf8 => Arc::new(ids.into_iter().collect::<LargeStringArray>()),
        DataType::Utf8View => Arc::new(ids.into_iter().collect::<StringViewArray>()),
        DataType::Int8 => integers::<Int8Type>(ids)?,
        DataType::Int16 => integers::<Int16Type>(ids)?,
        DataType::Int32 => integers::<Int32Type>(ids)?,
        DataType::Int64 => integers::<Int64Type>(ids)?,
        DataType::UInt8 => integers::<UInt8Type>(ids)?,
        DataType::UInt16 => integers::<UInt16Type>(ids)?,
        DataType::UInt32 => integers::<UInt32Type>(ids)?,
        DataType::UInt64 => integers::<UInt64Type>(ids)?,
        _ => Arc::new(StringArray::from(ids)),
    })
}

fn integers<T>(ids: Vec<Option<String>>) -> io::Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: std::str::FromStr<Err: Display>,
{
    let parse = |id: String| {
        id.parse::<T::Native>().map_err(|error| io::Error::other(format!("the id {id}: {error}")))
    };
    let ids = ids.into_iter().map(|id| id.map(parse).transpose());
    let ids: Vec<Option<T::Native>> = ids.collect::<io::Result<_>>()?;
    Ok(Arc::new(ids.into_iter().collect::<PrimitiveArray<T>>()))
}

pub(crate) struct ArrowRows {
    batches: Batches,
    to: ArrowSink,
}

enum ArrowSink {
    File(Box<FileWriter<Sink>>),
    Stream(Box<StreamWriter<Sink>>),
}

impl ArrowRows {
    pub fn new(to: Sink, layout: Layout, stream: bool) -> io::Result<Self> {
        let batches = Batches::new(layout);
        let schema = &batches.schema;
        let to = match stream {
            true => StreamWriter::try_new(to, schema).map(|to| ArrowSink::Stream(Box::new(to))),
            false => FileWriter::try_new(to, schema).map(|to| ArrowSink::File(Box::new(to))),
        };
        Ok(Self { to: to.map_err(of_arrow)?, batches })
    }
}

impl RowWriter for ArrowRows {
    fn write(&mut self, rows: &str) -> io::Result<()> {
        let batch = self.batches.batch(rows)?;
        let written = match &mut self.to {
            ArrowSink::File(to) => to.write(&batch).and_then(|()| to.flush()),
            ArrowSink::Stream(to) => to.write(&batch).and_then(|()| to.flush()),
        };
        written.map_err(of_arrow)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let done = match &mut self.to {
            ArrowSink::File(to) => to.finish().and_then(|()| to.flush()),
            ArrowSink::Stream(to) => to.finish().and_then(|()| to.flush()),
        };
        done.map_err(of_arrow)
    }
}

/// Writes Parquet with snappy, which every reader supports.
pub(crate) struct ParquetRows {
    batches: Batches,
    to: ArrowWriter<Sink>,
}

impl ParquetRows {
    pub fn new(to: Sink, layout: Layout) -> io::Result<Self> {
        let batches = Batches::new(layout);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let to = ArrowWriter::try_new(to, batches.schema.clone(), Some(properties));
        Ok(Self { batches, to: to.map_err(of_parquet)? })
    }
}

impl RowWriter for ParquetRows {
    fn write(&mut self, rows: &str) -> io::Result<()> {
        let batch = self.batches.batch(rows)?;
        self.to.write(&batch).map_err(of_parquet)?;
        if self.to.in_progress_size() >= GROUP_BYTES {
            self.to.flush().map_err(of_parquet)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.to.close().map(|_| ()).map_err(of_parquet)
    }
}

/// Returns the I/O error that caused an Arrow error, if there is one.
fn of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}

fn of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
