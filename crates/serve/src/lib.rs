//! The engine and the executor, offered to programs: over MCP to agents, over HTTP to all others.
//!
//! [`Service`] is what both faces share: it finds tools, describes them, calls them, and knows which
//! of the servers behind them can be had. [`Gateway`] speaks MCP to agents: a few tools by which
//! all others are found and called, or the best ones directly.
//!
//! This room must never know how tools are ranked or called; it asks the engine and the executor.
//! It reads no environment and no file of the user: what it needs comes through [`ServiceOptions`].
//! It prints nothing: over stdio, what is printed is the protocol.
//!
//! ```
//! use std::sync::Arc;
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_rank::engine::Engine;
//! use toolroute_serve::{Find, Service, ServiceOptions};
//!
//! let catalog = Catalog::from_tools(vec![
//!     Tool::new(Some("fs"), "read_file", "Reads a file from disk"),
//!     Tool::new(Some("mail"), "send_email", "Sends an email to a person"),
//! ])
//! .catalog;
//! let engine = Arc::new(Engine::builder(catalog).build()?);
//! let service = Service::new(engine, ServiceOptions::default())?;
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let found = service.find(Find::new("send an email to Dana")).await?;
//! assert_eq!(found.selection.tools[0].tool.id.as_str(), "mail__send_email");
//! assert!(found.unavailable.is_empty());
//! # Ok::<(), toolroute_serve::Error>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bodies;
mod error;
pub mod filter;
mod guard;
mod health;
pub mod http;
mod learning;
mod mcp;
mod openapi;
mod profile;
pub mod proxy;
mod service;
mod shutdown;

use toolroute_catalog as catalog;
use toolroute_conduct::{self as conductor, session};
use toolroute_rank::{engine, feedback};
use toolroute_run::execution;

pub use error::Error;
pub use guard::Token;
pub use learning::{LearnEvery, learn_every};
pub use mcp::{
    Expose, Gateway, GatewayOptions, McpHttpOptions, Present, SELECTED, catalog_hint, mcp_router,
    serve_mcp,
};
pub use profile::{Profile, Profiles};
pub use service::{
    About, Admitted, CallTool, Edit, Find, Found, Hidden, Keep, Notice, Recent, RunPrompt, Screen,
    Screened, ServerState, Service, ServiceOptions, Sessions, Status, Unavailable,
};
pub use shutdown::Shutdown;

/// Characters of a page of an answer that was cut, where nothing is said.
pub(crate) const PAGE_CHARS: usize = 20_000;
