//! Tests that a damaged table results in an error or other rows, and never in a panic.

use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};

use crate::format::Format;
use crate::{Columns, FileFormat, Input};

fn table() -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..300));
    let prompts = (0..300).map(|at| format!("the weather of city {at}"));
    let prompts: ArrayRef = Arc::new(StringArray::from_iter_values(prompts));
    let mut candidates = ListBuilder::new(StringBuilder::new());
    for at in 0..300 {
        candidates.append_option((at % 3 > 0).then_some([Some("a"), Some("b")]));
    }
    let candidates: ArrayRef = Arc::new(candidates.finish());
    let columns = [("id", ids), ("query", prompts), ("candidates", candidates)];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn bytes(format: Format) -> Vec<u8> {
    let table = table();
    if format == Format::Parquet {
        let mut to = ArrowWriter::try_new(Vec::new(), table.schema(), None).unwrap();
        to.write(&table).unwrap();
        return to.into_inner().unwrap();
    }
    let mut to = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &table.schema()).unwrap();
    to.write(&table).unwrap();
    to.into_inner().unwrap()
}

fn prompts(path: &Path, format: Format) -> Result<usize, crate::Error> {
    let format = FileFormat { format, ..FileFormat::default() };
    let input = Input::open(path, format, Columns::default())?;
    let mut prompts = 0;
    for row in input.rows()?.rows {
        prompts += usize::from(row?.query.is_ok());
    }
    Ok(prompts)
}

#[test]
fn a_damaged_table_is_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("q");
    for format in [Format::Parquet, Format::Arrow] {
        let whole = bytes(format);
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(prompts(&path, format).unwrap(), 300);
        for at in (0..whole.len()).step_by(31) {
            let mut damaged = whole.clone();
            damaged[at] ^= [0x01, 0x55, 0x80, 0xff][at % 4];
            std::fs::write(&path, damaged).unwrap();
            prompts(&path, format).ok();
        }
        for end in (0..whole.len()).step_by(97) {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert!(prompts(&path, format).is_err(), "{format:?} cut after {end} bytes");
        }
    }
}

#[test]
fn a_compression_that_is_not_read_is_told_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("q");
    std::fs::write(&path, bytes(Format::Parquet)).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let mut metadata = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap().into_builder();
    let of_brotli = |group: parquet::file::metadata::RowGroupMetaData| {
        let columns = group.columns().iter().cloned().map(|column| {
            let codec = Compression::BROTLI(parquet::basic::BrotliLevel::default());
            column.into_builder().set_compression(codec).build().unwrap()
        });
        let columns = columns.collect();
        group.into_builder().set_column_metadata(columns).build().unwrap()
    };
    let groups = metadata.take_row_groups().into_iter().map(of_brotli).collect();
    let metadata = metadata.set_row_groups(groups).build();
    let mut whole = bytes(Format::Parquet);
    ParquetMetaDataWriter::new(&mut whole, &metadata).finish().unwrap();
    std::fs::write(&path, whole).unwrap();
    let said = prompts(&path, Format::Parquet).unwrap_err().to_string();
    assert!(said.contains("is written with brotli, which is not read"), "{said}");
}
