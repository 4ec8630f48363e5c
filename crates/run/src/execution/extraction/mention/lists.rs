//! Lists in brackets.

use serde_json::Value;

use super::{Content, Mention};

/// Finds the lists in square brackets that are JSON, with single quotes too, and the lists of numbers in
/// round ones.
pub(super) fn scan(text: &str) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(['[', '(']).map(|at| from + at) {
        let Some((end, items)) =
            end_of(text, at).and_then(|end| Some((end, read(&text[at..end])?)))
        else {
            from = at + 1;
            continue;
        };
        mentions.push(Mention { span: at..end, content: Content::List(items) });
        from = end;
    }
    mentions
}

/// The end of the brackets that open at `at`.
fn end_of(text: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, c) in text[at..].char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' if depth == 1 => return Some(at + offset + 1),
            ']' | ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn read(text: &str) -> Option<Vec<Value>> {
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        let items: Vec<Value> = serde_json::from_str(&format!("[{inner}]")).ok()?;
        return (items.len() > 1 && items.iter().all(Value::is_number)).then_some(items);
    }
    let parsed =
        serde_json::from_str(text).or_else(|_| serde_json::from_str(&text.replace('\'', "\"")));
    parsed.ok().filter(|items: &Vec<Value>| !items.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_read_from_brackets() {
        for (text, expected) in [
            ("sort [3, 1, 2] now", json!([[3, 1, 2]])),
            ("names ['Sam', 'Al']", json!([["Sam", "Al"]])),
            ("[[1, 2], [3, 4]]", json!([[[1, 2], [3, 4]]])),
            ("from (40.7, -74.0) to (34.1, -118.2)", json!([[40.7, -74.0], [34.1, -118.2]])),
            ("the tower (see above) [1]", json!([[1]])),
            ("(12) and [x", json!([])),
        ] {
            let found: Vec<Value> = scan(text)
                .into_iter()
                .map(|mention| match mention.content {
                    Content::List(items) => items.into(),
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(json!(found), expected, "{text}");
        }
    }
}
