//! toolroute
pub mod catalog;
