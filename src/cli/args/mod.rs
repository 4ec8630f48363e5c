//! Arguments that several commands share, and those of the servers.
//!
//! Nothing here reads a file or makes a decision: clap validates what was typed, and
//! [`Settings`](super::settings::Settings) adds the values of variables and files. The arguments of
//! a single command are in the command's own file.

#[cfg(feature = "mcp")]
mod call;
mod catalog;
mod context;
mod engine;
mod measure;
#[cfg(feature = "mcp")]
mod pins;
mod select;
#[cfg(feature = "server")]
mod server;
mod stores;

#[cfg(feature = "mcp")]
pub use self::{call::*, pins::*};
pub use self::{catalog::*, context::*, engine::*, measure::*, select::*, stores::*};
#[cfg(feature = "server")]
pub use server::*;

pub use super::global::Global;
