//! What is asked: what a prompt's text says by itself, before any tool is looked at.
//!
//! This room never knows a score, a vector or an index. It reads a prompt as words and gives back
//! plain values that `selection` decides with.
//!
//! ```
//! use toolroute::query::clauses;
//!
//! let prompt = "I'm off to Oslo on Friday. Check the weather there, then book me a hotel.";
//! assert_eq!(
//!     clauses(prompt),
//!     ["I'm off to Oslo on Friday. Check the weather there", "book me a hotel."],
//! );
//! assert_eq!(clauses("Find bread and butter recipes"), ["Find bread and butter recipes"]);
//! ```

mod clauses;
mod features;
mod moment;
mod requests;
mod script;

pub use clauses::{MAX_CLAUSES, clauses};
pub use features::{
    CodeStructure, ContextFeatures, Grade, Phase, Structure, TaskType, TestingStatus,
};
pub use moment::{Speaker, Turn, goes_on, is_urgent, needs_web, with_conversation};
pub use script::latin_share;
