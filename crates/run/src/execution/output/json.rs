//! Truncation of JSON to valid JSON.

use serde_json::{Map, Value, json};

use super::{LEAST_CHARS, marker};
use toolroute_catalog::shortened;

/// The member, or the last item, that states what is missing.
const MARK: &str = "_truncated";

pub(super) fn truncate(text: &str, most: usize, handle: Option<&str>) -> String {
    // `shape` has parsed it, but without building the value.
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    truncate_value(&value, most, text, handle).to_string()
}

/// Truncates a value to at most `most` characters of JSON, by the largest cut that fits. Lists and
/// texts are shortened from their ends first and nesting depth last, because the important parts of
/// an answer are near its top. `whole` is the text that is stored under the handle.
pub(in crate::execution) fn truncate_value(
    value: &Value,
    most: usize,
    whole: &str,
    handle: Option<&str>,
) -> Value {
    let most = most.max(LEAST_CHARS);
    let chars = whole.chars().count();
    // The longest marker.
    let said = json!(marker(chars, chars, handle));
    let fits = |cut: &Cut| cut.with_mark(value, &said).to_string().chars().count() <= most;
    match Cut::descending(most).find(fits) {
        Some(cut) => {
            let shown = common_chars(whole, &cut.value(value, cut.depth).to_string());
            cut.with_mark(value, &json!(marker(shown, chars, handle)))
        }
        None => json!({ MARK: marker(0, chars, handle) }),
    }
}

/// The characters at the beginning of the whole text that a cut has too, so that no part is lost for
/// who reads on after them. Spaces do not count, because the whole text may be indented.
fn common_chars(whole: &str, cut: &str) -> usize {
    let mut cut = cut.chars().filter(|c| !c.is_ascii_whitespace());
    whole.chars().take_while(|c| c.is_ascii_whitespace() || cut.next() == Some(*c)).count()
}

/// How much of a value is kept.
#[derive(Clone, Copy)]
struct Cut {
    items: usize,
    chars: usize,
    depth: usize,
}

impl Cut {
    fn descending(most: usize) -> impl Iterator<Item = Self> {
        // The sizes shrink by a third, so that at least two thirds of the possible content is kept.
        let sizes = std::iter::successors(Some(most), |size| Some(size * 2 / 3).filter(|s| *s > 0));
        let wide = sizes.map(|size| Self { items: size, chars: (size * 2).max(24), depth: 64 });
        wide.chain((0..6).rev().map(|depth| Self { items: 3, chars: 24, depth }))
    }

    fn with_mark(self, value: &Value, said: &Value) -> Value {
        match self.value(value, self.depth) {
            Value::Object(mut members) => {
                members.insert(MARK.to_owned(), said.clone());
                Value::Object(members)
            }
            Value::Array(mut items) => {
                items.push(json!({ MARK: said }));
                Value::Array(items)
            }
            leaf => json!({ "value": leaf, MARK: said }),
        }
    }

    fn value(self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => Value::String(shortened(text, self.chars)),
            Value::Array(items) if depth > 0 => {
                let kept = items.iter().take(self.items).map(|item| self.value(item, depth - 1));
                let mut kept: Vec<Value> = kept.collect();
                if items.len() > kept.len() {
                    kept.push(json!(format!("… {} more items", items.len() - kept.len())));
                }
                Value::Array(kept)
            }
            Value::Object(members) if depth > 0 => {
                let kept = members.iter().take(self.items);
                let kept = kept.map(|(name, member)| (name.clone(), self.value(member, depth - 1)));
                let mut kept: Map<String, Value> = kept.collect();
                if members.len() > kept.len() {
                    let said = format!("… {} more members", members.len() - kept.len());
                    kept.insert("…".to_owned(), Value::String(said));
                }
                Value::Object(kept)
            }
            Value::Array(items) => json!(format!("… {} items", items.len())),
            Value::Object(members) => json!(format!("… {} members", members.len())),
            leaf => leaf.clone(),
        }
    }
}
