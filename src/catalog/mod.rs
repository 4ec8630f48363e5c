//! What tools exist.

mod tool;

pub use tool::{
    ComplexityRange, Cost, Facets, Hints, LatencyTier, Reliability, Schema, Tool, ToolId,
};
