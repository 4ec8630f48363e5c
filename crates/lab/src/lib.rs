//! Measurements for those who change toolroute, not for those who use it. Nothing here is shipped.
//!
//! [`signals`] measures what each signal gives on a set made for it. [`gate`] and [`plot`] read
//! [`report`]s that `toolroute eval --suite DIR --json` wrote, so that sets are measured by the
//! program that users have. This room prints nothing; `main.rs` does.

pub mod gate;
pub mod plot;
pub mod report;
pub mod signals;
