use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[test]
fn shapes_are_told_apart() {
    assert_eq!(shape(r#" {"a": [1]} "#), Shape::Json);
    assert_eq!(shape("name,age\nann,3\nbob,4"), Shape::Table);
    assert_eq!(shape("| a | b |\n|---|---|\n| 1 | 2 |"), Shape::Table);
    assert_eq!(shape("Well, this.\nIs, prose.\nAnd, more."), Shape::Text);
    assert_eq!(shape("{not json"), Shape::Text);
}

#[test]
fn json_keeps_its_beginning_and_says_what_is_missing() {
    let rows: Vec<Value> =
        (0..500).map(|id| json!({"id": id, "name": "a name ".repeat(9)})).collect();
    let cut = truncate(&json!({"total": 500, "rows": rows}).to_string(), 2_000, Some("abc"));
    let value: Value = serde_json::from_str(&cut).unwrap();
    assert_eq!((&value["total"], &value["rows"][0]["id"]), (&json!(500), &json!(0)));
    assert!(value["_truncated"].as_str().unwrap().contains("handle abc"), "{value}");
    assert!(cut.chars().count() <= 2_000 && cut.len() > 900, "{}", cut.len());
}

#[test]
fn a_value_that_is_not_the_stored_text_counts_no_characters_of_it() {
    let said = "yes and no. ".repeat(200);
    let cut = truncate_value(&json!({"said": said}), 500, &said, Some("abc"));
    assert!(cut["said"].as_str().unwrap().starts_with("yes and no. yes"), "{cut}");
    let expected = "[truncated: a part of 2400 characters; the whole answer is under handle abc]";
    assert_eq!(cut["_truncated"], expected);
}

/// Where a cut text says that its rest begins.
fn rest_of(cut: &str) -> usize {
    let (_, after) = cut.split_once(" from offset ").unwrap_or_else(|| panic!("{cut}"));
    after.split(']').next().unwrap().parse().unwrap()
}

#[test]
fn who_reads_on_from_the_marker_loses_no_row_and_gets_few_twice() {
    let rows: Vec<Value> = (0..300).map(|id| json!({"id": id, "name": "ä name"})).collect();
    let indented = serde_json::to_string_pretty(&rows).unwrap();
    let table: String = (0..300).map(|row| format!("{row},value {row}\r\n")).collect();
    for whole in [json!(rows).to_string(), indented, table] {
        let cut = truncate(&whole, 1_000, Some("abc"));
        let rest: String = whole.chars().skip(rest_of(&cut)).collect();
        let has = |text: &str, row: usize| {
            let rows =
                [format!("\"id\":{row},"), format!("\"id\": {row},"), format!("\n{row},value")];
            rows.iter().any(|row| format!("\n{text}").contains(row))
        };
        let next = (0..300).find(|row| has(&rest, *row));
        let next = next.unwrap();
        assert!(next > 10 && has(&cut, next - 1) && !has(&cut, next), "{next}: {cut}");
    }
}

#[test]
fn a_table_keeps_its_header_and_whole_rows() {
    let rows: String = (0..300).map(|row| format!("| {row} | value {row} |\n")).collect();
    let cut = truncate(&format!("| id | value |\n|---|---|\n{rows}"), 400, Some("abc"));
    let lines: Vec<&str> = cut.lines().collect();
    assert_eq!(lines[0], "| id | value |");
    assert_eq!(lines[2], "| 0 | value 0 |");
    assert!(lines[lines.len() - 2].ends_with(" |"), "{cut}");
    assert!(lines.last().unwrap().contains("of 300 rows"), "{cut}");
    assert!(cut.chars().count() <= 400);
}

#[test]
fn a_text_ends_with_a_sentence() {
    let text = "A first sentence of some words. ".repeat(40);
    let cut = truncate(&text, 300, None);
    let (kept, marker) = cut.rsplit_once('\n').unwrap();
    assert!(kept.ends_with("words."), "{cut}");
    assert!(marker.starts_with("[truncated: ") && !marker.contains("handle"), "{marker}");
    let unbroken = "x".repeat(1_000);
    assert!(truncate(&unbroken, 300, None).starts_with("xxxx"));
}

#[test]
fn the_rest_is_under_the_handle() {
    let folder = tempfile::tempdir().unwrap();
    for kept in
        [AnswerStore::in_memory(1 << 20), AnswerStore::in_folder(folder.path(), 1 << 20).unwrap()]
    {
        let text = "äbcdefghij".repeat(10);
        let handle = kept.put(&text).unwrap();
        let page = kept.get(&handle, 40, 40).unwrap();
        assert_eq!((page.text.chars().next(), page.next_offset), (Some('ä'), Some(80)));
        assert_eq!(kept.get(&handle, 80, 40).unwrap().next_offset, None);
        assert_eq!(kept.get(&handle, 999, 40).unwrap().text, "");
        assert!(kept.get("../../etc/passwd00000000", 0, 9).is_none());
    }
}

#[test]
fn the_oldest_go_where_there_is_no_room() {
    let folder = tempfile::tempdir().unwrap();
    for kept in [AnswerStore::in_memory(150), AnswerStore::in_folder(folder.path(), 150).unwrap()] {
        let first = kept.put(&"a".repeat(100)).unwrap();
        // The store orders files by their modification time.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = kept.put(&"b".repeat(100)).unwrap();
        assert!(kept.get(&first, 0, 1).is_none() && kept.get(&second, 0, 1).is_some());
        assert!(kept.put(&"c".repeat(200)).is_none());
    }
}

#[test]
fn a_summary_has_the_nearest_sentences_in_their_order() {
    let score = |question: &str, sentences: &[&str]| {
        Some(sentences.iter().map(|s| f32::from(s.contains(question))).collect())
    };
    let text = "Rain fell. The cat slept. It was cold. A cat woke. The end.";
    let summary = Extractive::new(score).summarize(text, "cat", 30).unwrap();
    assert_eq!(summary, "The cat slept. … A cat woke.");
}

#[test]
fn sizes_are_learned() {
    let (statistics, tool) =
        (AnswerStatistics::default(), toolroute_catalog::Tool::new(None, "a", ""));
    assert!(!statistics.estimate(&tool).learned);
    statistics.learn(&tool, 100.0, 1_000);
    statistics.learn(&tool, 200.0, 2_000);
    let estimate = statistics.estimate(&tool);
    assert_eq!((estimate.latency_ms, estimate.chars), (Some(120), 1_200));
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        ".{0,80}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::btree_map(".{0,9}", inner, 0..9)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn cut_json_always_parses_and_fits(value in any_json(), most in 0usize..2_000) {
        let cut = truncate(&value.to_string(), most, Some("0123456789abcdef01234567"));
        prop_assert!(cut.chars().count() <= most.max(LEAST_CHARS));
        if value.is_array() || value.is_object() {
            prop_assert!(serde_json::from_str::<Value>(&cut).is_ok(), "{cut}");
        }
        let value = truncate_value(&value, most, &value.to_string(), None);
        prop_assert!(value.to_string().chars().count() <= most.max(LEAST_CHARS));
    }

    #[test]
    fn any_text_is_cut_to_fit(text in "(?s).{0,900}", most in 0usize..600) {
        prop_assert!(truncate(&text, most, Some("0123456789abcdef01234567")).chars().count() <= most.max(LEAST_CHARS));
    }

    #[test]
    fn any_table_is_cut_to_fit(rows in prop::collection::vec("[a-z]{1,9},[a-z]{1,30}", 3..80), most in 0usize..600) {
        let cut = truncate(&rows.join("\n"), most, Some("0123456789abcdef01234567"));
        prop_assert!(cut.chars().count() <= most.max(LEAST_CHARS));
        prop_assert!(cut.starts_with(&rows[0]));
    }
}
