//! Measurements for those who develop toolroute, not for its users. Nothing here is shipped.
//!
//! [`signals`] measures what each signal contributes on a set made for it. [`gate`] and [`plot`]
//! read [`report`]s that `toolroute eval --suite DIR --json` wrote, so that sets are measured by
//! the program that users have. The library prints nothing; `main.rs` does.

pub mod gate;
pub mod plot;
pub mod report;
pub mod signals;
