//! How the definitions of tools that servers list are watched.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use crate::cli::pins::pins_at;
use crate::cli::settings::{Configure, Settings, keys};
use crate::cli::words::{joined, word};
use toolroute_run::pins::{Mode, Pins};

/// How the definitions that servers list are watched.
#[derive(Args, Clone, Default)]
pub struct PinArgs {
    /// What is done with a server's tools: first-use takes new ones, and other words for those it has,
    /// and holds back what has changed otherwise; strict holds back all that nobody approved; off
    /// watches nothing [env: TOOLROUTE_PIN]
    #[arg(long, value_parser = word::<Pinning>(), value_name = joined::<Pinning>())]
    pub pin_mode: Option<Pinning>,
    /// Where agreed definitions are kept [default: the user's data folder] [env: TOOLROUTE_PINS]
    #[arg(long, value_name = "FILE")]
    pub pins: Option<PathBuf>,
}

/// What is done with definitions that nobody agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    FirstUse,
    Strict,
    Off,
}

impl PinArgs {
    /// The pins to check with; `None` where they are off.
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
            // A word that is none of the three must not watch less than was meant.
            self.pin_mode = Some(word.try_into().unwrap_or(Pinning::Strict));
        }
    }
}
