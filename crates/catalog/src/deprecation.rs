//! Tells whether the author of a tool says that another one should be used.

use std::sync::LazyLock;

use regex::Regex;

use crate::Tool;

/// What authors write: "(Deprecated)", "DEPRECATED: use …", "This endpoint is deprecated". A tool that lists deprecated
/// things is not meant.
static DEPRECATED: LazyLock<Regex> = LazyLock::new(|| {
    let expression = r"^\W*(?i:deprecated)\b|\bDEPRECATED\b|(?i:[(\[]deprecated[)\]]|\b(?:this|the) (?:\w+ )?(?:is|has been) deprecated\b)";
    Regex::new(expression).expect("a fixed expression. This is a bug.")
});

impl Tool {
    /// Whether its title or description says that it is deprecated.
    pub fn is_deprecated(&self) -> bool {
        let texts = self.title.iter().chain([&self.description]);
        texts.into_iter().any(|text| DEPRECATED.is_match(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deprecated_tool_says_so() {
        let is_deprecated = |text: &str| Tool::new(None, "read", text).is_deprecated();
        for text in [
            "Reads a file. DEPRECATED: Use read_text instead.",
            "Deprecated. Reads a file",
            "[deprecated] Reads a file",
            "Reads a file (deprecated)",
            "Reads a file. This endpoint is deprecated",
            "The tool has been deprecated",
        ] {
            assert!(is_deprecated(text), "{text}");
        }
        for text in ["Lists deprecated APIs", "Finds calls that are deprecated in 2.0", ""] {
            assert!(!is_deprecated(text), "{text}");
        }
        let titled =
            Tool { title: Some("Read (Deprecated)".to_owned()), ..Tool::new(None, "read", "") };
        assert!(titled.is_deprecated());
    }
}
