//! `toolroute config`: shows and checks the configuration.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::args::{CatalogArgs, EngineArgs, Global, SelectArgs};
use super::limit::Limit;
use super::settings::{Setting, Settings};
use super::{exit, render};

#[derive(Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Print every key, its value, and where the value comes from: a flag, a variable, a file or
    /// the default
    Show(Box<ShowArgs>),
    /// Check the configuration files; exit code 3 if they are invalid
    Check,
}

/// The flags of `route` whose values are shown.
#[derive(Args)]
pub struct ShowArgs {
    #[command(flatten)]
    pub catalog: CatalogArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
    #[command(flatten)]
    pub select: SelectArgs,
    /// Maximum number of tools
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub limit: Option<Limit>,
}

#[derive(Serialize)]
struct SettingsReport<'a> {
    files: &'a [PathBuf],
    values: Vec<&'a Setting>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warnings: &'a [String],
}

pub fn run(args: &ConfigArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let settings = &global.settings;
    match &args.command {
        _ if global.json => render::json(&SettingsReport {
            files: &settings.files,
            values: settings.of_files().collect(),
            errors: &settings.errors,
            warnings: &settings.warnings,
        })?,
        ConfigCommand::Show(_) => show(settings)?,
        ConfigCommand::Check => check(settings)?,
    }
    Ok(exit::bad_data_if(!settings.errors.is_empty()))
}

fn show(settings: &Settings) -> anyhow::Result<()> {
    let mut table = render::table(&["key", "value", "from"], &[]);
    for setting in settings.of_files() {
        let value = match &setting.value {
            Some(toml::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => setting.default.to_owned(),
        };
        table.add_row([
            setting.key().to_owned(),
            render::plain(&value),
            render::plain(&setting.origin.to_string()),
        ]);
    }
    render::print(table)?;
    settings.errors.iter().for_each(|error| render::note(error));
    Ok(())
}

fn check(settings: &Settings) -> anyhow::Result<()> {
    for error in &settings.errors {
        render::line(&render::plain(error))?;
    }
    for file in &settings.files {
        let path = file.display().to_string();
        let bad = settings.errors.iter().filter(|error| error.starts_with(&path)).count();
        if bad == 0 {
            render::line(&render::plain(&format!("{path}: good")))?;
        }
    }
    if settings.files.is_empty() {
        render::line("no configuration file; every value is a flag, a variable or the default")?;
    }
    Ok(())
}
