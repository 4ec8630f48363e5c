//! What may be typed of contexts and facets.

use clap::Args;

use super::args::{CatalogArgs, ModelChoice, precisions};
use super::context_source::ContextSourceArgs;
use crate::embedding::Precision;

#[derive(Args)]
pub struct ListArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub facets: FacetArgs,
}

/// Each leaves only tools with that value; several values of one facet are alternatives.
#[derive(Args)]
#[command(next_help_heading = "Only tools of")]
pub struct FacetArgs {
    /// A phase that the tool names, or any where it names none; repeatable, as are the others
    #[arg(long, value_name = "PHASE")]
    pub phase: Vec<String>,
    /// A programming language, or any where the tool names none
    #[arg(long, value_name = "LANGUAGE")]
    pub language: Vec<String>,
    /// A kind of work, or any where the tool names none
    #[arg(long, value_name = "TASK")]
    pub task_type: Vec<String>,
    /// A category
    #[arg(long, value_name = "CATEGORY")]
    pub category: Vec<String>,
    /// A server
    #[arg(long, value_name = "SERVER")]
    pub server: Vec<String>,
    /// A type of obligation that the tool discharges
    #[arg(long, value_name = "TYPE")]
    pub satisfies: Vec<String>,
}

#[derive(Args)]
pub struct AnalyzeArgs {
    /// What is wanted; `-` or nothing reads it from the context, else from stdin
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub source: ContextSourceArgs,
    /// Go by keywords, without a model
    #[arg(long)]
    pub words_only: bool,
    #[command(flatten)]
    pub choice: ModelChoice,
    /// How the model is run
    #[arg(long, default_value = "int8", value_parser = precisions(), value_name = "int8|f32")]
    pub precision: Precision,
    /// Show where the time went
    #[arg(long)]
    pub timings: bool,
}
