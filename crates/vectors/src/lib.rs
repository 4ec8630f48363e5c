//! Turns texts into vectors and finds the nearest rows: encoders ([`embedding`]), indexes
//! ([`index`]) and crash-safe files ([`durable`]).
//!
//! This crate must never know what a tool or a prompt is.

pub mod durable;
pub mod embedding;
pub mod index;
mod kernels;
