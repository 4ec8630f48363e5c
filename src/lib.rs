//! toolroute
pub mod catalog;
pub mod index;
