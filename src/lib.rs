//! Gives an LLM agent the right tools for a prompt, on the user's own machine.
//!
//! An agent with hundreds of tools cannot show them all to its model. This crate keeps a catalog of
//! tools, ranks it for a prompt by meaning (a sentence-transformer that runs in process) and by
//! words (BM25), excludes what a policy on reliability, cost and latency forbids, and explains the
//! rank of each tool.
//!
//! It reads only the paths that it is given: no environment variable configures it, and it uses no network
//! and no global state. Calls of tools find programs by `PATH` and use the system's proxy. Only [`embedding::hub`] downloads models, and it is never called automatically.
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
//! | `conductor` | are the obligations of a request discharged, and by what? (feature `execution`) |
//! | `server` | how do agents and programs reach all this? (feature `server`) |
//!
//! The root and the modules have the names that a program writes: what it creates, implements, calls
//! or keeps. The types of members of answers, options and errors are in a module `parts` of each, so
//! that every reason can be matched. Examples at types leave out their `use` lines.
//! `docs/public-api.txt` lists all of it. The crates that the names come from (`toolroute-rank` and
//! others) have more public names, which they use among each other and which change without notice.
//!
//! # Features
//!
//! The default features are those of the program `toolroute`; a library names what it uses:
//!
//! - `built-in-model` adds the models to the program, 30 MB of it; `hub` downloads others.
//! - `execution` calls tools that are functions or invokers of your own, and has the conductor of
//!   obligations: `session::join`, `session::Plan` and the methods of `Session` about calls need it.
//!   `mcp` (with `execution`) calls those of a servers file, which are MCP servers, OpenAPI
//!   operations and local programs, and has pins. `server` (with `mcp`) serves MCP, HTTP and the
//!   proxy.
//! - `candle` runs models that the native encoder does not support; `cuda` and `metal` let it run on
//!   an NVIDIA GPU or an Apple GPU.
//! - `cli` is the `toolroute` binary, and `arrow` its Parquet and Arrow files.
//!
//! Without `hub` and `mcp` the crate has no network code. In a debug build vectors are computed about
//! 70 times slower unless your `Cargo.toml` has
//!
//! ```toml
//! [profile.dev.package.toolroute-vectors]
//! opt-level = 3
//! ```

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

    /// The types of members, and what is read from a catalog.
    pub mod parts {
        pub use toolroute_catalog::{
            CallHints, ChangedCatalog, ComplexityRange, EffectKind, EffectSource, Effects, Facet,
            FacetIndex, Facets, Fallback, IntentSignal, LoadedCatalog, Need, Operation,
            OperationArgument, OperationBody, ParameterHints, Place, Problem, Retry, RetryOn,
            Routing, Severity, Sparse, Suspicion, SuspicionKind,
        };
    }
}

/// Ranks tools for a prompt: conversations, outcomes, observations and the weights of signals.
///
/// Each reason is a value to match:
///
/// ```
/// use toolroute::engine::{Exclusion, Speaker, Turn};
/// use toolroute::{Catalog, Context, Engine, Policy, SelectRequest, Tool};
/// use toolroute::catalog::Cost;
///
/// let mut search = Tool::new(Some("web"), "search", "Searches the web for pages");
/// search.cost = Some(Cost::High);
/// let engine = Engine::builder(Catalog::from_tools(vec![search]).catalog).build()?;
///
/// let asked = Turn { role: Speaker::User, text: "Where do storks nest?".to_owned() };
/// let context = Context { conversation: vec![asked], ..Context::default() };
/// let cheap = Policy { max_cost: Some(Cost::Low), ..Policy::default() };
/// let request = SelectRequest::new("search the web for storks").context(context).policy(cheap);
/// let selection = engine.select(&request)?;
///
/// assert!(matches!(selection.excluded[0].because, Exclusion::Cost { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod engine {
    pub use toolroute_rank::engine::{
        Error, NoTools, Observations, PastPrompt, RunCounts, SelectedTool, SignalWeights, Speaker,
        Turn,
    };
    pub use toolroute_rank::feedback::{Execution, StoreOptions, UsageVectors};
    pub use toolroute_rank::selection::Exclusion;

    /// The types of members of requests, answers, options and errors: why, how much and where.
    pub mod parts {
        pub use toolroute_rank::engine::{
            Analysis, CacheSettings, Candidacies, Candidacy, CategoryWords, ChangeReport,
            ContextFeatures, Degradation, ExcludedTool, Explanation, Fit, FitReason, Fusion,
            HeldMatch, IndexKind, IndexReport, LearnReport, Level, MinShares, NoiseKind, Offer,
            OfferedTool, Omission, Part, RunStats, Signal, SmallModels, SnapshotState, SourceFile,
            Stage, StrategyReason, TextScore, Tiers, Timings, Undeclared, UsageReport,
        };
        pub use toolroute_rank::feedback::{
            CallAttempt, Choice, Error as UsageError, LoggedContext, NextTool, PromptHash,
            PromptVector, RecordOutcome, Retention, RowUsage, StoreError,
        };
        pub use toolroute_rank::query::{
            CodeStructure, Depth, Error as ContextError, Evidence, FeatureEvidence, Grade, Phase,
            Structure, TaskType, TestingStatus,
        };
        pub use toolroute_rank::selection::{
            Criterion, Error as RetrievalError, PreferenceReason, Supply,
        };
        pub use toolroute_vectors::index::{Error as IndexError, GraphError, Place, SnapshotError};
    }
}

/// The vectors of texts, and the models that compute them.
pub mod embedding {
    pub use toolroute_vectors::embedding::{
        DEFAULT_MODEL, Embedded, EncoderOptions, Error, ModelFiles, ModelIdentity, Role, load,
    };

    /// The types of members of options and answers.
    pub mod parts {
        pub use toolroute_vectors::embedding::{
            Backend, Calibration, Device, Installed, Precision,
        };
    }

    /// Downloads models.
    #[cfg(feature = "hub")]
    pub mod hub {
        pub use toolroute_vectors::embedding::hub::{HubOptions, OnProgress, pull};
    }
}

/// One conversation with one client: its prompts, selections, calls and their outcomes.
pub mod session {
    pub use toolroute_session::Session;
    #[cfg(feature = "execution")]
    pub use toolroute_session::{Plan, join};

    /// The types that a session is stored in and a plan reports.
    pub mod parts {
        pub use toolroute_session::SessionRecord;
        #[cfg(feature = "execution")]
        pub use toolroute_session::{PlanReport, PlannedCall, Step, StepState};
    }
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
        Blocking, CallLimits, Candidate, Closures, Error, Executor, ExecutorOptions, Fallbacks,
        Order, Outcome, Output, Report, Request, Servers, ServersFile, candidates,
    };

    /// Arguments, read from a prompt.
    pub mod arguments {
        pub use toolroute_run::execution::{
            ArgumentSources, LocalTime, LocalTimeError, PreparedArguments, Question, Source,
            TakenValue, UnusedMention, prepare_arguments,
        };
    }

    /// Ways of your own to run tools, beside closures.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolroute::Tool;
    /// use toolroute::execution::invoker::{Call, Fault, FaultKind, Invoker, Pending};
    /// use toolroute::execution::{Candidate, Executor, ExecutorOptions, Outcome, Output, Request, Servers};
    /// use toolroute::execution::parts::{Ending, LoopGuard};
    ///
    /// /// Answers only once.
    /// #[derive(Default)]
    /// struct Once(std::sync::atomic::AtomicBool);
    ///
    /// impl Invoker for Once {
    ///     fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
    ///         let was_asked = self.0.swap(true, std::sync::atomic::Ordering::Relaxed);
    ///         Box::pin(async move {
    ///             match was_asked {
    ///                 false => Ok(Output::text(format!("{} of {:?}", call.tool.name, call.arguments["n"]))),
    ///                 true => Err(Fault::before(FaultKind::Refused, "it answered before")),
    ///             }
    ///         })
    ///     }
    /// }
    ///
    /// let executor = Executor::new(Servers::new().with("own", Once::default()), ExecutorOptions::default());
    /// let asked = [Candidate::asked(Tool::new(Some("own"), "double", "Doubles a number").into())];
    /// let arguments = [("n".to_owned(), json!(2))].into_iter().collect();
    /// let guard = LoopGuard::default();
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// let report = executor.call(&Request::new(&asked, &arguments, &guard)).await;
    /// assert!(matches!(report.outcome, Outcome::Answered(_)));
    /// let report = executor.call(&Request::new(&asked, &arguments, &guard)).await;
    /// assert!(matches!(report.attempts[0].ending, Ending::Skipped { .. }));
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub mod invoker {
        pub use toolroute_run::execution::{
            Arguments, Attachment, Call, Changed, Fault, FaultKind, Invoker, OnChange, OnProgress,
            Pending, Progress,
        };
    }

    /// Agreed definitions of tools. Needs the feature `mcp`.
    #[cfg(feature = "mcp")]
    pub mod pins {
        pub use toolroute_run::pins::{
            Approve, Error, FieldChange, Mode, PinCheck, PinDiff, PinEntry, PinState, Pins,
            QuarantinedTool, Reason, Rewording,
        };
    }

    /// The types of members of options, requests and reports: why, how long and how often.
    pub mod parts {
        #[cfg(feature = "mcp")]
        pub use toolroute_run::execution::McpOptions;
        pub use toolroute_run::execution::{
            Answer, AnswerStore, Attempt, BreakerOptions, BreakerState, Change, Clarification,
            Confirm, Ending, Entry, Estimate, Event, Exceeded, Failure, Hint, LeftOut, Listed,
            LoopGuard, Missing, Neighbor, Offers, OnEvent, OnFailure, Origin, Page, Patterns,
            Permissions, Phase, ProcessOptions, Program, Redactor, Remote, Retries, Shape, Skip,
            Timing, Truncation, Variables, Verdict,
        };
    }
}

/// Obligations, which tools discharge and the conductor verifies.
#[cfg(feature = "execution")]
pub mod conductor {
    pub use toolroute_conduct::{
        Answer, Begin, Builtins, Call, Conductor, Effect, Error, ExecutionRunner, Ledger, Outcome,
        Runner,
    };

    /// The types of members of answers and of the ledger's rows.
    pub mod parts {
        pub use toolroute_conduct::{
            Duty, Entry, EventRow, Exchange, ObligationRow, ObligationType, Purpose, RunRow,
            RunStatus, Standing, Status,
        };
    }
}

/// The servers for agents and programs: the MCP gateway, the HTTP API and the proxy.
#[cfg(feature = "server")]
pub mod server {
    pub use toolroute_serve::{Assembly, Error, Service, Shutdown, Sources, Token, Upstreams};

    /// The MCP gateway.
    pub mod mcp {
        pub use toolroute_serve::{
            Expose, Gateway, GatewayOptions, McpHttpOptions, gateway_router as router,
            serve_mcp as serve,
        };
    }

    /// The HTTP API.
    pub mod http {
        pub use toolroute_serve::http::{
            App, Conduct, HttpOptions, Limits, Persist, router, serve,
        };
    }

    /// The proxy, which removes tools from requests to a language model.
    pub mod proxy {
        pub use toolroute_serve::proxy::{Proxy, ProxyOptions};
    }

    /// The types of members of an assembly and of a service's state.
    pub mod parts {
        pub use toolroute_serve::{
            Keep, Notes, Profile, Profiles, ServerState, Status, VectorFile,
        };
    }
}
