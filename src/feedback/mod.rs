//! What worked: past prompts and the tools that served them, kept as what they teach.
//!
//! [`UsageVectors`] sums up, tool by tool, the vectors of the prompts that a tool has served, and
//! says how far that moves the tool's own vector. The two are kept apart: forgetting a tool, or the
//! whole file, brings back what was before.
//!
//! This room knows tools by their ids, and vectors as numbers. It must never know how a vector is
//! made, how tools are found, or what a prompt said: no text of a prompt is kept.
//!
//! ```
//! use std::sync::Arc;
//! use toolroute::catalog::Tool;
//! use toolroute::feedback::{UsageModel, UsageVectors};
//!
//! let model = UsageModel { name: "m".into(), fingerprint: "f".into(), dimension: 2 };
//! let tools = [Arc::new(Tool::new(Some("mail"), "send", "Sends an email"))];
//! let own = |_row| &[1.0, 0.0][..];
//! let mut usage = UsageVectors::new(model);
//! usage.learn("tell Dana that I am late", &[0.0, 1.0], &[tools[0].id.clone()])?;
//!
//! let moved = &usage.moves(&tools, own)[0];
//! assert_eq!((moved.usage.prompts, moved.usage.share), (1, 0.45));
//! assert!(moved.vector[1] > 0.0);
//! usage.forget(&tools[0].id);
//! assert!(usage.moves(&tools, own).is_empty());
//! # Ok::<(), toolroute::feedback::Error>(())
//! ```

mod error;
mod layout;
mod moves;
mod sample;
#[cfg(test)]
mod tests;
mod usage_vectors;

pub use error::Error;
pub use moves::{Moved, RowUsage, UsageRows};
pub use usage_vectors::{UsageModel, UsageVectors};
