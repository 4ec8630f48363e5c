//! An element of a list of tools: a function of the caller, which may be removed, or anything else.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// The kind of an element.
#[derive(Debug, PartialEq, Eq)]
pub enum ListElement {
    /// A function that the caller runs, with its name. It may be removed.
    Function(String),
    /// A tool of the provider, one with a cache mark, or one that is loaded on demand. It is kept.
    Other,
    /// Anything else, such as a tool in the format of another API. It is kept.
    Unread,
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Option<FunctionName<'a>>,
    #[serde(default)]
    input_schema: Option<IgnoredAny>,
    #[serde(default)]
    cache_control: Option<IgnoredAny>,
    #[serde(default)]
    defer_loading: Option<bool>,
}

#[derive(Deserialize)]
struct FunctionName<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
}

impl ListElement {
    pub fn read(raw: &RawValue) -> Self {
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(raw.get()) else { return Self::Unread };
        if shape.cache_control.is_some() || shape.defer_loading == Some(true) {
            return Self::Other;
        }
        let name = match (shape.kind.as_deref(), shape.function, shape.name) {
            (None | Some("function"), Some(function), _) => function.name,
            (None | Some("function"), None, Some(name)) => name,
            // Anthropic's type for functions. OpenAI's custom tools have no schema and take free
            // text.
            (Some("custom"), None, Some(name)) if shape.input_schema.is_some() => name,
            (None, None, None) => return Self::Unread,
            _ => return Self::Other,
        };
        if name.trim().is_empty() { Self::Other } else { Self::Function(name.into_owned()) }
    }

    /// The name of a function.
    pub fn function(&self) -> Option<&str> {
        match self {
            Self::Function(name) => Some(name),
            Self::Other | Self::Unread => None,
        }
    }
}
