//! What may be typed after `doctor`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{CatalogArgs, EngineArgs};
use crate::cli::settings::{Configure, Settings, keys};

#[derive(Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    /// The log of executions [default: the user's data folder] [env: TOOLROUTE_FEEDBACK]
    #[arg(long, value_name = "FILE")]
    pub feedback: Option<PathBuf>,
    /// The conductor's ledger [default: the user's data folder] [env: TOOLROUTE_LEDGER]
    #[arg(long, value_name = "FILE")]
    pub ledger: Option<PathBuf>,
    /// Seconds that a server may take to start, which for a program that is fetched first, as by npx,
    /// may be minutes
    #[arg(long, default_value_t = 180, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=600))]
    pub wait: u64,
    /// Start no server
    #[arg(long)]
    pub no_start: bool,
}

impl Configure for DoctorArgs {
    fn configure(&mut self, settings: &Settings) {
        self.catalog.configure(settings);
        self.catalog.live.or_imported();
        self.engine.configure(settings);
        settings.put_path(&keys::FEEDBACK, &mut self.feedback);
        settings.put_path(&keys::LEDGER, &mut self.ledger);
    }
}
