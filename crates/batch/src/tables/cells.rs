//! Reads the values of columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use serde_json::{Map, Value};
use toolroute_eval::RowId;

use crate::row;

/// Whether a column of this type contains text.
pub(super) fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Whether an id of this type can be written to the output, in its own type or as text.
pub(super) fn is_id(of: &DataType) -> bool {
    use DataType::{Boolean, Float32, Float64, Null};
    is_text(of) || of.is_integer() || matches!(of, Float32 | Float64 | Boolean | Null)
}

/// Returns the type of the elements if a column of this type contains lists.
pub(super) fn element(of: &DataType) -> Option<&DataType> {
    match of {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type())
        }
        _ => None,
    }
}

/// Whether a value of this type can be written as JSON.
pub(super) fn is_json(of: &DataType) -> bool {
    match of {
        DataType::Struct(fields) => fields.iter().all(|field| is_json(field.data_type())),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) => {
                pair.len() == 2 && is_text(pair[0].data_type()) && is_json(pair[1].data_type())
            }
            _ => false,
        },
        _ => element(of).map_or_else(|| is_id(of), is_json),
    }
}

/// Returns a text of a column for which [`is_text`] is true; `None` for null.
pub(super) fn text(column: &dyn Array, row: usize) -> Option<&str> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Utf8 => Some(column.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Some(column.as_string::<i64>().value(row)),
        DataType::Utf8View => Some(column.as_string_view().value(row)),
        DataType::Dictionary(..) => {
            let column = column.as_any_dictionary();
            let key = integer(column.keys(), row)?.as_u64()?;
            text(column.values().as_ref(), usize::try_from(key).ok()?)
        }
        _ => None,
    }
}

fn integer(column: &dyn Array, row: usize) -> Option<serde_json::Number> {
    Some(match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => column.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).into(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => column.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into(),
        _ => return None,
    })
}

fn float(column: &dyn Array, row: usize) -> Option<f64> {
    match column.data_type() {
        DataType::Float32 => Some(column.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Some(column.as_primitive::<Float64Type>().value(row)),
        _ => None,
    }
}

/// Returns an id of a column for which [`is_id`] is true: a number, a text, or null.
pub(super) fn id(column: &dyn Array, row: usize) -> RowId {
    if column.is_null(row) {
        return RowId::default();
    }
    if let Some(text) = text(column, row) {
        return RowId::from(text);
    }
    match column.data_type() {
        DataType::Boolean => RowId::from(column.as_boolean().value(row).to_string().as_str()),
        _ => match (integer(column, row), float(column, row)) {
            (Some(number), _) => RowId::from(number),
            (None, Some(number)) => RowId::from(number.to_string().as_str()),
            (None, None) => RowId::default(),
        },
    }
}

/// Returns the candidates of a row, from a list of texts or a JSON list.
pub(super) fn candidates(column: &dyn Array, row: usize) -> Result<Option<Vec<String>>, String> {
    if is_text(column.data_type()) {
        return row::candidates(text(column, row).unwrap_or_default());
    }
    let Some(list) = list(column, row) else { return Ok(None) };
    let ids = (0..list.len()).map(|at| text(&list, at).map(str::to_owned));
    ids.map(|id| id.ok_or_else(|| "a candidate is null; expected ids of tools".to_owned()))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Returns the tools of a row as JSON, from a JSON list, a list of texts with one definition each,
/// or a list of structs.
pub(super) fn tools(column: &dyn Array, row: usize) -> Result<Option<String>, String> {
    if is_text(column.data_type()) {
        return row::tools(text(column, row).unwrap_or_default());
    }
    let Some(list) = list(column, row) else { return Ok(None) };
    let one = |at| match text(&list, at) {
        Some(text) => text.to_owned(),
        None => json(&list, at).to_string(),
    };
    let tools: Vec<String> = (0..list.len()).map(one).collect();
    row::tools(&format!("[{}]", tools.join(",")))
}

/// Returns the elements of a list; `None` for null.
fn list(column: &dyn Array, row: usize) -> Option<ArrayRef> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::List(_) => Some(column.as_list::<i32>().value(row)),
        DataType::LargeList(_) => Some(column.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => Some(column.as_fixed_size_list().value(row)),
        _ => None,
    }
}

/// Returns a value of a column for which [`is_json`] is true. Null members of a struct are omitted,
/// because a table has a column for each member that any of its rows has.
fn json(column: &dyn Array, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    if let Some(list) = list(column, row) {
        return (0..list.len()).map(|at| json(&list, at)).collect();
    }
    match column.data_type() {
        DataType::Struct(fields) => {
            let columns = column.as_struct().columns();
            let members = fields.iter().zip(columns).filter(|(_, values)| values.is_valid(row));
            let members = members.map(|(field, values)| (field.name().clone(), json(values, row)));
            Value::Object(members.collect())
        }
        DataType::Map(..) => {
            let entries = Arc::new(column.as_map().value(row));
            let (names, values) = (entries.column(0), entries.column(1));
            let member = |at| Some((text(names, at)?.to_owned(), json(values, at)));
            Value::Object((0..entries.len()).filter_map(member).collect::<Map<_, _>>())
        }
        DataType::Boolean => column.as_boolean().value(row).into(),
        _ => match (text(column, row), integer(column, row)) {
            (Some(text), _) => text.into(),
            (None, Some(number)) => Value::Number(number),
            (None, None) => float(column, row).into(),
        },
    }
}
