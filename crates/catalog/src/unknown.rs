//! Fields that our own formats do not have: most often a slip of the pen.

use super::row::{Row, near_word};
use super::{Problem, Severity};

impl Row<'_> {
    /// Warns of each field that is not in `known`, with the name that was probably meant.
    pub fn warn_unknown(&mut self, known: &[&str]) {
        let unknown: Vec<String> =
            self.fields.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            let cure = match near_word(&key, known) {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => "remove it; it has no effect".to_owned(),
            };
            let found = format!("the unknown field {key:?}");
            let problem = Problem::new(Severity::Warning, "a field of a tool", found, cure);
            self.problem(&key, problem);
        }
    }
}
