//! Serves the engine and the executor to other programs: to agents over MCP, to all others over
//! HTTP.
//!
//! [`Assembly`] puts engine, executor, pins and log together, and builds a [`Service`]. The service
//! finds, describes and calls tools, and knows which of the MCP servers that run them are
//! available. [`Gateway`] offers a service over MCP, [`http`] offers it as an HTTP API. [`proxy`]
//! removes unneeded tools from requests to a language model.
//!
//! This crate must not know how tools are ranked or called: it asks the engine and the executor. It
//! reads no environment variables and no configuration: each value comes from an [`Assembly`], or
//! from the options of the gateway, the API or the proxy. It prints nothing, because over stdio the
//! output carries the protocol.
//!
//! ```
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_serve::{Assembly, FindRequest};
//!
//! let catalog = Catalog::from_tools(vec![
//!     Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
//!     Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
//! ])
//! .catalog;
//! let service = Assembly { catalog, ..Assembly::default() }.build()?;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let found = service.find(FindRequest::new("send an email to Dana")).await?;
//! assert_eq!(found.selection.tools[0].tool.id.as_str(), "mail__send_email");
//! assert!(found.unavailable.is_empty());
//! # Ok::<(), toolroute_serve::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assembly;
mod error;
pub mod filter;
pub mod http;
mod learning;
mod mcp;
mod profile;
pub mod proxy;
mod service;
mod shutdown;

pub use assembly::{Assembly, Sources, Upstreams, VectorFile};
pub use error::Error;
pub use http::Token;
pub use learning::{LearnEvery, learn_every};
pub(crate) use mcp::mcp_router;
pub use mcp::{
    CurrentService, Expose, Gateway, GatewayOptions, McpHttpOptions, SELECTED, catalog_hint,
    gateway_router, serve_mcp,
};
pub use profile::{Profile, Profiles};
pub use service::{
    About, CallRequest, Changes, FindRequest, FindResult, Keep, Notes, Notice, RecentSelection,
    RunRequest, Screening, ServerState, Service, Sessions, Status, UnavailableServer,
};
pub use shutdown::Shutdown;

/// The default length in characters of a page of a truncated answer.
pub(crate) const PAGE_CHARS: usize = 20_000;
