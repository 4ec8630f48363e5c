//! The reasons for which a request to a language model keeps all of its tools.

use serde::{Serialize, Serializer};

/// Why no tool of a request was removed, as its text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    NoTools,
    TwoLists,
    Format,
    FewTools,
    ManyTools,
    NoPrompt,
    Language,
    Encoded,
    TooLarge,
    NoRoom,
    Unlabelled,
    NotJson,
    Busy,
    Failed,
}

impl SkipReason {
    /// The label of metrics, and the text.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::NoTools => ("no_tools", "there is no list of tools"),
            Self::TwoLists => ("two_lists", "there are two lists of tools"),
            Self::Format => (
                "format",
                "the tools are in a format that is not read; it reads OpenAI's and Anthropic's",
            ),
            Self::FewTools => ("few_tools", "there are no more tools than may stay"),
            Self::ManyTools => ("many_tools", "there are more tools than are looked at"),
            Self::NoPrompt => ("no_prompt", "no message of the user says what is wanted"),
            Self::Language => {
                ("language", "the prompt is in a language that the model does not read")
            }
            Self::Encoded => ("encoded", "the body is compressed"),
            Self::TooLarge => ("too_large", "the body is larger than --max-body"),
            Self::NoRoom => ("no_room", "all bodies together are larger than what is kept of them"),
            Self::Unlabelled => ("unlabelled", "the content type of the body is not JSON"),
            Self::NotJson => ("not_json", "the body is not a JSON object"),
            Self::Busy => ("busy", "too many requests wait for their turn; see --queue"),
            Self::Failed => {
                ("failed", "the tools could not be ranked; toolroute's standard error says why")
            }
        }
    }

    /// The reason as text, also for the header `x-toolroute-untouched`.
    pub fn as_str(self) -> &'static str {
        self.words().1
    }

    /// The reason as a label of metrics.
    #[doc(hidden)] // For our own crates.
    pub fn label(self) -> &'static str {
        self.words().0
    }

    /// Whether tools might have been removed without this reason.
    #[doc(hidden)] // For our own crates.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::NoTools | Self::FewTools)
    }
}

impl std::fmt::Display for SkipReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for SkipReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
