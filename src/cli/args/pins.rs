//! Arguments for pinning the definitions of tools.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use crate::cli::pins::pins_at;
use crate::cli::settings::{Configure, Settings, keys};
use crate::cli::words::{joined, word};
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

/// Which definitions are accepted without approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    FirstUse,
    Strict,
    Off,
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

impl Configure for PinArgs {
    fn configure(&mut self, settings: &Settings) {
        settings.put_path(&keys::PINS, &mut self.pins);
        if let Some(word) = settings.text(&keys::PIN_MODE) {
            let word = toml::Value::from(word.to_lowercase());
            // An invalid word must not reduce the protection, so it means `strict`.
            self.pin_mode = Some(word.try_into().unwrap_or(Pinning::Strict));
        }
    }
}
