//! What a tool answers that says of itself that it failed: with all its parts, and without secrets.

use serde_json::Value;

use super::super::invoker::Output;
use super::super::redact::Redactor;
use super::super::report::Answer;
use super::{Executor, Request};
use toolroute_catalog::Tool;

/// Bytes of an error's text that is looked through for secrets; of a longer one its first words do.
const MOST_BYTES: usize = 1 << 20;

/// Members of MCP's parts that hold no words.
const BYTES: [&str; 2] = ["data", "blob"];

impl Executor {
    /// The tool's own answer, for those who pass it on to an agent; `None` where there is nothing in
    /// it, or too much.
    pub(super) fn own(
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

/// Cleans all texts but those under some names.
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
