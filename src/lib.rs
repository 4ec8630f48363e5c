//! Gives an LLM agent the right tools for a prompt, on the user's own machine.
//!
//! An agent with hundreds of tools cannot show them all to its model. This crate keeps a catalog of
//! tools, ranks it for a prompt by meaning (a sentence-transformer that runs in process) and by
//! words (BM25), excludes what a policy on reliability, cost and latency forbids, and explains the
//! rank of each tool.
//!
//! It reads only the paths that it is given: it uses no environment variables, no network and no
//! global state. Only [`embedding::hub`] downloads models, and it is never called automatically.
//! Equal requests to equal engines give equal answers, byte for byte.
//!
//! # The main type
//!
//! [`Engine`] makes a [`Catalog`] searchable. It is `Send + Sync`; share it by `Arc`. Without a
//! model it ranks by words only, which the selection states:
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
//! With the built-in model, tools from files, and vectors that are stored on disk between runs
//! (another model comes from a [`ModelStore`] or a folder, through [`embedding::load`]):
//!
//! ```no_run
//! # #[cfg(feature = "built-in-model")] {
//! use std::sync::Arc;
//! use toolroute::catalog::LoadOptions;
//! use toolroute::{BertEmbedder, Catalog, Engine, SelectRequest};
//!
//! let loaded = Catalog::load(&["filesystem.json"], &LoadOptions::default())?;
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
//! | module | what it answers |
//! |---|---|
//! | [`engine`] | which tools, for this prompt? |
//! | [`catalog`] | what tools are there? |
//! | [`embedding`] | what is the vector of a text? |
//! | [`session`] | what was said, offered and called in this conversation? |
//! | `execution` | what does the chosen tool answer, or else another? (feature `execution`) |
//! | `conductor` | are the obligations of a request discharged, and by what? (feature `obligations`) |
//! | `server` | how do agents and programs reach all this? (feature `server`) |
//!
//! These are the names that a program writes: what it creates, implements, calls, matches or keeps;
//! `docs/public-api.txt` lists them. What it only reads as a member of an answer or sets as a member
//! of an option struct is documented in the crates that they come from (`toolroute-rank` and others).
//! Those have more public names, which they use among each other and which change without notice.
//!
//! # Features
//!
//! `cli` (default) is the `toolroute` binary; `built-in-model` (default) adds the models to the
//! program, 30 MB of it; `hub` (default) downloads models; `obligations` is the conductor;
//! `execution` runs tools that are functions or local programs, and `mcp` those of servers;
//! `server` (default) is all three. Without `hub` and `mcp` the crate has no network code. `cuda`
//! and `metal` let candle run models on an NVIDIA GPU or an Apple GPU.

/// The command line. Hidden, because only the binary calls it.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

pub use toolroute_catalog::{Catalog, Tool, ToolId};
pub use toolroute_rank::engine::{
    Context, Engine, EngineBuilder, EngineConfig, Policy, SelectRequest, Selection, Strategy,
};
pub use toolroute_vectors::embedding::{BertEmbedder, Embedder, ModelStore, StaticEmbedder};

/// The catalog of tools: how they are declared, loaded and changed.
pub mod catalog {
    pub use toolroute_catalog::{
        Change, Cost, Error, Hints, LatencyTier, LoadOptions, Reliability, Schema,
    };
}

/// Ranks tools for a prompt: outcomes, learning and the weights of signals.
pub mod engine {
    pub use toolroute_rank::engine::{
        Error, Fit, History, PastPrompt, SelectedTool, SignalWeights, Undeclared,
    };
    pub use toolroute_rank::feedback::{Execution, StoreOptions, UsageVectors};
}

/// The vectors of texts, and the models that compute them.
pub mod embedding {
    pub use toolroute_vectors::embedding::{
        Backend, DEFAULT_MODEL, Device, Embedded, EncoderOptions, Error, ModelFiles, ModelIdentity,
        Precision, Role, load,
    };

    /// Downloads models.
    #[cfg(feature = "hub")]
    pub mod hub {
        pub use toolroute_vectors::embedding::hub::{HubOptions, pull};
    }
}

/// One conversation with one client: its prompts, selections, calls and their outcomes.
pub mod session {
    pub use toolroute_session::Session;
    #[cfg(feature = "execution")]
    pub use toolroute_session::{Plan, join};
}

/// Calls of tools: arguments, retries, breakers, fallbacks.
///
/// ```
/// use std::sync::Arc;
/// use serde_json::{Value, json};
/// use toolroute::Tool;
/// use toolroute::execution::{
///     Blocking, Candidate, Closures, Executor, ExecutorOptions, Order, Outcome, Servers,
/// };
///
/// let tool = Tool::new(Some("math"), "double", "Doubles a number");
/// let double = |given: serde_json::Map<String, Value>| match given["n"].as_i64() {
///     Some(n) => Ok(json!({"result": 2 * n})),
///     None => Err("`n` must be a whole number".to_owned()),
/// };
/// let servers = Servers::new().with("math", Closures::new().with(tool.clone(), double));
/// let executor = Executor::new(servers, ExecutorOptions::default());
/// let calls = Blocking::with_threads(Arc::new(executor))?;
///
/// let candidates = vec![Candidate::asked(Arc::new(tool))];
/// let arguments = [("n".to_owned(), json!(21))].into_iter().collect();
/// let report = calls.call(Order { candidates, arguments, ..Order::default() }).unwrap();
/// let Outcome::Answered(answer) = report.outcome else { panic!("{:?}", report.outcome) };
/// assert_eq!(answer.output.data, Some(json!({"result": 42})));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "execution")]
pub mod execution {
    pub use toolroute_run::execution::{
        ArgumentSources, Blocking, CallLimits, Candidate, Closures, Confirm, Error, Executor,
        ExecutorOptions, LocalTime, Order, Outcome, Output, Report, Request, Servers, ServersFile,
        prepare_arguments,
    };
    #[cfg(feature = "mcp")]
    pub use toolroute_run::pins::{Mode, Pins};
}

/// Obligations, which tools discharge and the conductor verifies.
#[cfg(feature = "obligations")]
pub mod conductor {
    #[cfg(feature = "execution")]
    pub use toolroute_conduct::ExecutionRunner;
    pub use toolroute_conduct::{Begin, Builtins, Call, Conductor, Error, Ledger, Outcome, Runner};
}

/// The servers for agents and programs: the MCP gateway, the HTTP API and the proxy.
#[cfg(feature = "server")]
pub mod server {
    pub use toolroute_serve::{
        Assembly, Error, Gateway, GatewayOptions, McpHttpOptions, Service, Shutdown, Sources,
        Token, Upstreams, serve_mcp,
    };

    /// The HTTP API.
    pub mod http {
        pub use toolroute_serve::http::{App, HttpOptions, serve};
    }

    /// The proxy, which removes tools from requests to a language model.
    pub mod proxy {
        pub use toolroute_serve::proxy::{Proxy, ProxyOptions};
    }
}
