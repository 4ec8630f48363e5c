//! Ranks tools for a file of prompts: for each input row, an output row with ranked tools, in the
//! same order.
//!
//! Rows are JSON lines, CSV, Parquet or Arrow, from a file or a pipe (`input`). The rows that are
//! answered are written to a journal of JSON lines beside the output, so that an interrupted run
//! can be resumed (`journal`). The output is written from it in any of these formats (`writer`).
//! This crate must not know how an engine ranks tools, and must not print: the caller receives the
//! progress. Without the feature `arrow`, it supports JSON lines, CSV and gzip.
//!
//! ```
//! use toolroute_batch::{BatchJob, Columns, FileFormat, Input, Shard};
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_rank::engine::Engine;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("prompts.csv");
//! std::fs::write(&path, "id,prompt\n7,send an email\n")?;
//! let tools = vec![Tool::new(Some("mail"), "send", "Sends an email")];
//! let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
//! let format = FileFormat::of_path(&path);
//! let input = Input::open(&path, format, Columns::default())?;
//! let job = BatchJob { engine: &engine, input: &input, output_format: "csv".parse()?,
//!     settings: String::new(), explain: false, requires_tools: false, strict: false,
//!     shard: Shard::default(), overwrite: false };
//! let summary = job.run(&toolroute_batch::Output::at(&path.with_extension("out"), &[])?, &|_, _| {})?;
//! assert_eq!(summary.counts.answered, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod columns;
mod compression;
mod csv_bytes;
mod csv_rows;
mod error;
mod format;
mod groups;
mod input;
mod job;
mod journal;
mod json_rows;
mod output;
mod record;
mod row;
mod shard;
mod summary;
#[cfg(feature = "arrow")]
mod tables;
mod writer;

pub use columns::Columns;
pub use error::Error;
pub use format::{Compression, FileFormat, Format, UnknownFormat};
pub use input::Input;
pub use job::{BatchJob, OnProgress};
pub use output::Output;
pub use shard::{Shard, ShardError};
pub use summary::{BatchCounts, BatchSummary};
