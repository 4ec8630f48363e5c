//! Measurements for those who develop toolroute, not for its users. Nothing here is shipped.
//!
//! [`signals`] measures what each signal contributes on a set made for it. [`answers`] answers prompts over
//! many catalogs in one process, for `scripts/rules.py`. The library prints
//! nothing; `main.rs` does. Gates and plots of suites are in `scripts/suite.py`.

pub mod answers;
pub mod signals;
