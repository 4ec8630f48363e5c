//! The catalog of tools.
//!
//! This crate reads tools from files (MCP `tools/list` results, the tool lists of OpenAI, Anthropic,
//! Gemini, Bedrock and others, OpenAPI 3, Swagger 2.0, agent skills, JSON lines, TOML), checks them,
//! assigns an id and a row to each, and builds the texts that searches use.
//!
//! It must never know how tools are searched, ranked or called, so it has no vectors, scores or
//! connections. It reads only the files whose paths it is given, and no environment variables.
//!
//! ```
//! use toolroute_catalog::{Catalog, Tool, embedding_text};
//!
//! let tools = vec![
//!     Tool::new(Some("files"), "readText", "Read a text file."),
//!     Tool::new(Some("web"), "fetch", "Fetch a page."),
//! ];
//! let catalog = Catalog::from_tools(tools).catalog;
//!
//! assert_eq!(catalog.get("files:readText"), catalog.get("files__readText"));
//! assert_eq!(catalog.row("fetch"), Some(1));
//! assert_eq!(catalog.near("read_txt", 1)[0].as_str(), "files__readText");
//! assert_eq!(embedding_text(&catalog.tools()[0]), "files: read Text. Read a text file.");
//! ```

mod call_hints;
mod change;
mod clause_words;
mod deprecation;
mod details;
mod effects;
mod error;
mod excerpt;
mod expansion;
mod facet;
mod fallback;
mod file;
mod import;
mod list;
mod load;
mod members;
mod needs;
mod obligation;
mod operation;
mod overlay;
mod parse_fault;
mod plural;
mod problem;
mod routing;
mod row;
mod sanitize;
mod source;
mod sparse;
mod suspicion;
#[cfg(test)]
mod tests;
mod text;
mod tool;
mod validate;
mod words;

pub use call_hints::{CallHints, Retry, RetryOn};
pub use change::{Change, ChangedCatalog};
pub use clause_words::{begins_clause, is_time_word};
pub use effects::{EffectKind, EffectSource, Effects, is_reading_verb, writes};
pub use error::Error;
pub use excerpt::{did_you_mean, first_chars, first_names, one_line, shortened};
pub use expansion::{Expansion, MOST_PARTS, TooLarge};
pub use facet::{Facet, FacetIndex, PHASES, TASK_TYPES};
pub use fallback::Fallback;
pub use list::{Catalog, LoadedCatalog};
pub use load::{LoadOptions, files_below};
pub use members::{Members, pointer_part, properties, required};
pub use needs::{Need, RequiredId, Supplier, objects};
pub use obligation::covers;
pub use operation::{Operation, OperationArgument, OperationBody, Place};
pub use parse_fault::{json_fault, member_fault, row_fault, type_fault, value_fault};

pub use plural::{same_things, singular};
pub use problem::{Problem, Severity};
pub use routing::{IntentSignal, ParameterHints, Routing, everyday_prompts};
pub use row::near_word;
pub use sanitize::visible;
pub use sparse::Sparse;
pub use suspicion::{Suspicion, SuspicionKind, clones, suspicions};
pub use text::{embedding_text, purpose, split_identifier, words_of};
pub use tool::{
    ComplexityRange, Cost, Facets, Hints, LatencyTier, MCP_MEMBERS, Reliability, Schema, Tool,
    ToolId,
};
pub use words::{KeywordFields, keyword_fields};
