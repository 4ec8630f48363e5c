//! What is asked: what a prompt, the files around it and what was said before say by themselves,
//! before any tool is looked at.
//!
//! This room never knows a tool's score, an index or a model. It reads texts as words, compares
//! vectors that somebody else made ([`Classifier`]), and gives back plain values that `selection`
//! decides with. [`analyze`] puts them together.
//!
//! ```
//! use toolroute_rank::query::clauses;
//!
//! let prompt = "I'm off to Oslo on Friday. Check the weather there, then book me a hotel.";
//! assert_eq!(
//!     clauses(prompt),
//!     ["I'm off to Oslo on Friday. Check the weather there", "book me a hotel."],
//! );
//! assert_eq!(clauses("Find bread and butter recipes"), ["Find bread and butter recipes"]);
//! ```

mod analysis;
mod categories;
mod classify;
mod clauses;
mod complexity;
mod context;
mod depth;
mod direction;
mod error;
mod features;
mod follow_up;
mod foreign;
mod humps;
mod keywords;
mod labelled;
mod language;
mod mentions;
mod message;
mod negation;
mod number;
mod ordered;
mod phase;
mod reading;
mod requests;
mod reservation;
mod script;
mod spelling;
mod structure;
mod task;
mod testing;

pub use analysis::{Analysis, AnalysisTimes, Evidence, Found, Guesses, analyze};
pub use categories::{Categories, CategoryWords};
pub use classify::{Classifier, Guess};
pub use clauses::{MAX_CLAUSES, all_clauses, clauses};
pub use complexity::complexity;
pub use context::{Context, SourceFile, Speaker, Stage, Turn};
pub use depth::Depth;
pub use direction::{Direction, directions};
pub use error::Error;
pub use features::{
    CodeStructure, ContextFeatures, Grade, Phase, Structure, TaskType, TestingStatus,
};
pub use follow_up::{is_follow_up, routing_text};
pub use foreign::is_foreign;
pub use humps::without_humps;
pub use language::{language, language_name, languages};
pub use mentions::without_mentions;
pub use message::{SmallModels, needs_web, urgency};
pub use negation::without_negated;
pub use number::{asks_for_several, singular};
pub use ordered::ordered;
pub use phase::{phase_by_files, phase_by_keywords, phase_examples};
pub use reading::Reading;
pub(crate) use reading::then;
pub use requests::is_verb;
pub use reservation::reservation;
pub use script::{latin_part, latin_share};
pub use spelling::{KnownWords, without_typos};
pub use structure::structure;
pub use task::{task_by_keywords, task_examples};
pub use testing::testing_status;
