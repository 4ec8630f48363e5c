//! The reasons for which a request to a language model keeps all of its tools.

use serde::{Serialize, Serializer};

/// Why no tool of a request was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// The request has no list of tools.
    NoTools,
    /// The request has more than one list of tools.
    TwoLists,
    /// No tool is in a format that is read.
    Format,
    /// There are no more tools than may stay.
    FewTools,
    /// The list is longer than the longest that is ranked.
    ManyTools,
    /// No message of the user states what is wanted.
    NoPrompt,
    /// The prompt is in a language that the model does not read.
    Language,
    /// The body is compressed.
    Encoded,
    /// The body is larger than the largest that is read.
    TooLarge,
    /// All bodies together exceed the budget.
    NoRoom,
    /// The content type of the body is not JSON.
    Unlabelled,
    /// The body is not a JSON object.
    NotJson,
    /// The queue is full.
    Busy,
    /// Ranking the tools failed.
    Failed,
}

impl SkipReason {
    /// The reason as text, also for the header `x-toolroute-untouched`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoTools => "there is no list of tools",
            Self::TwoLists => "there are two lists of tools",
            Self::Format => {
                "the tools are in a format that is not read; it reads OpenAI's and Anthropic's"
            }
            Self::FewTools => "there are no more tools than may stay",
            Self::ManyTools => "there are more tools than are looked at",
            Self::NoPrompt => "no message of the user says what is wanted",
            Self::Language => "the prompt is in a language that the model does not read",
            Self::Encoded => "the body is compressed",
            Self::TooLarge => "the body is larger than --max-body",
            Self::NoRoom => "all bodies together are larger than what is kept of them",
            Self::Unlabelled => "the content type of the body is not JSON",
            Self::NotJson => "the body is not a JSON object",
            Self::Busy => "too many requests wait for their turn; see --queue",
            Self::Failed => "the tools could not be ranked; the log says why",
        }
    }

    /// The reason as a label of metrics.
    #[doc(hidden)] // For our own crates.
    pub fn label(self) -> &'static str {
        match self {
            Self::NoTools => "no_tools",
            Self::TwoLists => "two_lists",
            Self::Format => "format",
            Self::FewTools => "few_tools",
            Self::ManyTools => "many_tools",
            Self::NoPrompt => "no_prompt",
            Self::Language => "language",
            Self::Encoded => "encoded",
            Self::TooLarge => "too_large",
            Self::NoRoom => "no_room",
            Self::Unlabelled => "unlabelled",
            Self::NotJson => "not_json",
            Self::Busy => "busy",
            Self::Failed => "failed",
        }
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
