//! The answer of a tool that reports a failure, with all its parts and without secrets.

use serde_json::Value;

use super::super::invoker::Output;
use super::super::redact::Redactor;
use super::super::report::Answer;
use super::{Executor, Request};
use toolroute_catalog::Tool;

/// Longer error texts, in bytes, are not searched for secrets and not passed on.
const MOST_BYTES: usize = 1 << 20;

/// Members of MCP's content blocks that hold binary data.
const BYTES: [&str; 2] = ["data", "blob"];

impl Executor {
    /// Returns the tool's own error answer, which callers pass on to an agent, or `None` if it is
    /// empty or too long.
    pub(super) fn error_answer(
        &self,
        request: &Request<'_>,
        tool: &Tool,
        mut output: Output,
    ) -> Option<Box<Answer>> {
        if output.is_empty() || output.text.len() > MOST_BYTES {
            return None;
        }
        let redactor = &self.options.redactor;
        output.text = redactor.clean(&output.text);
        output.data.iter_mut().for_each(|data| clean(redactor, data, &[]));
        output.blocks.iter_mut().for_each(|block| clean(redactor, block, &BYTES));
        Some(Box::new(self.answer(request, tool, output, Vec::new())))
    }
}

/// Removes secrets from all texts except those under the names in `but`.
fn clean(redactor: &Redactor, value: &mut Value, but: &[&str]) {
    match value {
        Value::String(text) => *text = redactor.clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| clean(redactor, item, but)),
        Value::Object(members) => {
            let words = members.iter_mut().filter(|(name, _)| !but.contains(&name.as_str()));
            words.for_each(|(_, member)| clean(redactor, member, but));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_cleaned_and_pictures_are_not() {
        let mut redactor = Redactor::default();
        redactor.hide(["aGVsbG8xMjM".to_owned()]);
        let mut block = json!({"type": "image", "data": "aGVsbG8xMjM", "note": ["aGVsbG8xMjM"]});
        clean(&redactor, &mut block, &BYTES);
        assert_eq!(block, json!({"type": "image", "data": "aGVsbG8xMjM", "note": ["[secret]"]}));
        clean(&redactor, &mut block, &[]);
        assert_eq!(block["data"], "[secret]");
    }
}
