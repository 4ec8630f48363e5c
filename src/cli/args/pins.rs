//! Arguments for pinning the definitions of tools.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::paths;
use crate::cli::words::{Pinning, joined, word};
use toolroute_run::pins::{Mode, Pins};

/// How changed definitions of a server's tools are handled.
#[derive(Args, Clone, Default)]
pub struct PinArgs {
    /// Which definitions of a server's tools are accepted: first-use accepts new tools and changed
    /// wording and holds back other changes; strict holds back everything that was not approved;
    /// off accepts everything [env: TOOLROUTE_PIN]
    #[arg(long, value_parser = word::<Pinning>(), value_name = joined::<Pinning>())]
    pub pin_mode: Option<Pinning>,
    /// The file of approved definitions [default: in the user's data folder] [env: TOOLROUTE_PINS]
    #[arg(long, value_name = "FILE")]
    pub pins: Option<PathBuf>,
}

impl PinArgs {
    /// Opens the pins; `None` if pinning is off.
    pub fn open(&self) -> anyhow::Result<Option<Pins>> {
        let mode = match self.pin_mode {
            Some(Pinning::Off) => return Ok(None),
            Some(Pinning::Strict) => Mode::Strict,
            Some(Pinning::FirstUse) | None => Mode::FirstUse,
        };
        pins_at(self.pins.as_deref(), mode).map(Some)
    }
}

/// Opens the pins in the named file, or in the user's data folder.
pub fn pins_at(named: Option<&Path>, mode: Mode) -> anyhow::Result<Pins> {
    let pins = Pins::new(paths::pins(named)?, mode);
    Ok(if named.is_some() { pins.name_file_in_commands() } else { pins })
}
