//! Rows of a file of past prompts: what was asked, and which tools served it.

use serde::Deserialize;

use super::Error;
use super::dataset::{BadRow, Query, Right, RowFile};
use toolroute_catalog::row_fault;
use toolroute_rank::engine::PastPrompt;

/// The members in which a row may name its tools.
#[derive(Deserialize)]
struct Served {
    #[serde(default)]
    tools: Option<Vec<String>>,
    #[serde(default)]
    gold: Option<Vec<Right>>,
}

impl RowFile {
    /// Returns the past prompts, and the rows that are invalid. A row is
    /// `{"query", "tools": [ids]}`. It may have `gold` instead of `tools`, so that files of prompts
    /// with known answers are accepted.
    pub fn past(&self) -> Result<(Vec<PastPrompt>, Vec<BadRow>), Error> {
        self.each(past_of)
    }
}

fn past_of(row: &[u8], query: Query) -> Result<PastPrompt, BadRow> {
    let bad = |error: String| BadRow { id: query.id.clone(), line: query.line, error };
    let expected = "expected {\"query\": \"…\", \"tools\": [ids]}";
    let served: Served = serde_json::from_slice(row)
        .map_err(|error| bad(format!("{}; {expected}", row_fault(&error))))?;
    let gold = || Some(served.gold?.into_iter().flat_map(Right::into_ids).collect());
    let tools = served.tools.or_else(gold).unwrap_or_default();
    if tools.is_empty() {
        return Err(bad(format!("no tool served it; {expected}")));
    }
    Ok(PastPrompt { prompt: query.query, tools })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_give_their_tools_by_either_name() {
        let rows = "{\"query\": \"a\", \"tools\": [\"x\", \"y\"]}\n\
                    {\"query\": \"b\", \"gold\": [\"z\"]}\n\
                    {\"id\": 3, \"query\": \"c\", \"tools\": []}\n\
                    {\"id\": 4, \"query\": \"d\", \"tools\": [1]}\n\
                    {\"tools\": [\"x\"]}\n";
        let file = RowFile::read_from("past", rows.as_bytes()).unwrap();
        let (past, bad) = file.past().unwrap();
        let past: Vec<_> =
            past.iter().map(|past| (past.prompt.as_str(), &past.tools[..])).collect();
        assert_eq!(past, [("a", &["x".into(), "y".into()][..]), ("b", &["z".into()])]);
        let lines: Vec<usize> = bad.iter().map(|row| row.line).collect();
        assert_eq!(lines, [3, 4, 5]);
        assert!(bad.iter().all(|row| row.error.contains("expected {")), "{bad:?}");
    }
}
