//! Gives an LLM agent the right tools for a prompt, on the user's own machine.
//!
//! An agent with hundreds of tools cannot show them all to its model. This crate keeps a catalog of
//! tools, ranks it for a prompt by meaning (a sentence-transformer run in process) and by words
//! (BM25), leaves out what a policy on reliability, cost and latency forbids, and says of each tool
//! why it stands where it stands.
//!
//! It reads what it is given a path to, and nothing else: no environment, no network, no global
//! state. A model is fetched only by [`embedding::hub`], which nothing here calls on its own.
//! Equal requests to equal engines give equal answers, byte for byte.
//!
//! # The object that users hold
//!
//! [`Engine`] is a [`Catalog`] made searchable. It is `Send + Sync`; share it by `Arc`. Without a
//! model it ranks by words alone and says so:
//!
//! ```
//! use toolroute::catalog::Cost;
//! use toolroute::{Catalog, Engine, Policy, SelectRequest, Strategy, Tool};
//!
//! let mut research = Tool::new(Some("web"), "research", "Researches a question on the web");
//! research.cost = Some(Cost::High);
//! let search = Tool::new(Some("web"), "search", "Searches the web for pages");
//! let loaded = Catalog::from_tools(vec![research, search]);
//! assert!(loaded.problems.is_empty());
//!
//! let engine = Engine::builder(loaded.catalog).build()?;
//! let cheap = Policy { max_cost: Some(Cost::Medium), ..Policy::default() };
//! let request = SelectRequest::new("research this question on the web").policy(cheap);
//! let selection = engine.select(&request)?;
//!
//! assert_eq!(selection.strategy, Strategy::Keyword);
//! assert_eq!(selection.tools[0].tool.id.as_str(), "web__search");
//! assert_eq!(selection.tools[0].explanation.why, "words: web");
//! assert_eq!(selection.excluded[0].because.to_string(), "cost high is above medium");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With the built-in model, with tools from files, and with the vectors kept on disk between runs
//! (another model comes from a [`ModelStore`] or a folder, through [`embedding::load`]):
//!
//! ```no_run
//! # #[cfg(feature = "built-in-model")] {
//! use std::sync::Arc;
//! use toolroute::catalog::LoadOptions;
//! use toolroute::{BertEmbedder, Catalog, Engine, SelectRequest};
//!
//! let loaded = Catalog::load(&["filesystem.json".into()], &LoadOptions::default())?;
//! for problem in &loaded.problems {
//!     eprintln!("{problem}");
//! }
//! let engine = Engine::builder(loaded.catalog)
//!     .embedder(Arc::new(BertEmbedder::built_in()?))
//!     .snapshot("filesystem.snapshot")
//!     .build()?;
//! for selected in engine.select(&SelectRequest::new("rename a file").limit(3))?.tools {
//!     println!("{} {:.3} {}", selected.tool.id, selected.score, selected.explanation.why);
//! }
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The modules
//!
//! Each module has an error of its own; `ARCHITECTURE.md` says which may import which.
//!
//! | module | what it answers |
//! |---|---|
//! | [`engine`] | which tools, for this prompt? |
//! | [`catalog`] | what tools are there? |
//! | [`query`] | what does the prompt ask for? |
//! | [`selection`] | how are candidates scored, filtered, ordered and explained? |
//! | [`feedback`] | what worked? |
//! | `execution` | what does the chosen tool answer, or else another? (feature `execution`) |
//! | `pins` | is a tool still the one that was agreed to? (feature `mcp`) |
//! | [`session`] | what was said, offered and called in this conversation? |
//! | [`conductor`] | are the obligations of a request discharged, and by what? |
//! | `server` | how do agents and programs reach all this? (feature `server`) |
//! | [`eval`] | how good and how fast are the answers to a file of prompts? |
//! | [`embedding`] | what is the vector of a text? |
//! | [`index`] | which rows are near, and which hold these words? |
//! | [`durable`] | is this file whole, and the one that was written? |
//! | `cli` | what was typed, and how is it shown? (feature `cli`) |
//!
//! # Features
//!
//! `cli` (default) is the `toolroute` binary; `built-in-model` (default) puts the models into the
//! program, 32 MB of it; `hub` (default) is the download of models; `execution` runs tools that are
//! functions or local programs, and `mcp` (default) those of servers. Without `hub` and `mcp` the
//! crate has no network code. `cuda` and `metal` let candle run models on an NVIDIA card
//! and on a graphics processor of Apple.
#[cfg(feature = "cli")]
pub mod cli;

pub use toolroute_catalog as catalog;
pub use toolroute_conduct as conductor;
pub use toolroute_conduct::session;
pub use toolroute_eval as eval;
pub use toolroute_rank::{engine, feedback, query, selection};
#[cfg(feature = "execution")]
pub use toolroute_run::execution;
#[cfg(feature = "mcp")]
pub use toolroute_run::pins;
#[cfg(feature = "server")]
pub use toolroute_serve as server;
pub use toolroute_vectors::{durable, embedding, index};

pub use catalog::{Catalog, Tool, ToolId};
pub use embedding::{BertEmbedder, Embedder, ModelStore, StaticEmbedder};
pub use engine::{
    Context, Engine, EngineBuilder, EngineConfig, Fusion, Policy, SelectRequest, Selection,
    Strategy,
};
