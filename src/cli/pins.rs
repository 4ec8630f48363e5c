//! `toolroute pins`: shows and approves the definitions of tools that servers list.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::args::{Global, LiveArgs, pins_at};
use super::exit;
use super::{paths, render, servers};
use toolroute_catalog::Catalog;
use toolroute_rank::engine::HeldTool;
use toolroute_run::pins::{
    Approve, Error, FieldChange, Mode, PinDiff, Pins, pins_option, screen_catalog, shell_word,
};

/// The digits of a hash that are shown.
const SHOWN_DIGITS: usize = 12;

/// Removes the tools that pins hold back from a catalog, and returns both.
///
/// # Errors
/// The pins' file cannot be read or written.
pub fn screened(
    catalog: Catalog,
    live: &LiveArgs,
    global: &Global,
) -> anyhow::Result<(Catalog, Vec<HeldTool>)> {
    // Without servers, pins need no folder: a user may have no home.
    let Some(path) = live.servers() else { return Ok((catalog, Vec::new())) };
    let Some(pins) = live.pinning.open()? else { return Ok((catalog, Vec::new())) };
    let file = servers::read(path)?;
    let (mut all_held, mut error) = (Vec::new(), None);
    let is_screened = |server: &str| file.entries.contains_key(server);
    let catalog = screen_catalog(catalog, is_screened, |server, tools| {
        let fingerprint = file.fingerprints.get(server).map_or("", String::as_str);
        let screened = pins.screen(server, fingerprint, tools);
        if matches!(screened.error, Some(Error::Io { .. })) {
            error = screened.error;
            return Vec::new();
        }
        screened.notes.iter().for_each(|note| render::warn(global, &render::plain(note)));
        let held = screened.held.into_iter().filter(|(tool, _)| file.offers.admits(tool));
        let held = held.map(|(tool, because)| HeldTool { tool: Arc::new(tool), because });
        all_held.extend(held);
        screened.accepted
    });
    match error {
        Some(error) => Err(error.into()),
        None => Ok((catalog, all_held)),
    }
}

#[derive(Args)]
pub struct PinsArgs {
    /// The file of approved definitions [default: in the user's data folder] [env: TOOLROUTE_PINS]
    #[arg(long, value_name = "FILE", global = true)]
    pub pins: Option<PathBuf>,
    #[command(subcommand)]
    pub command: PinsCommand,
}

#[derive(Subcommand)]
pub enum PinsCommand {
    /// List every tool that servers have listed, tools held back first
    List {
        /// Only tools that are held back
        #[arg(long)]
        held: bool,
    },
    /// Show how a tool that is held back differs from its approved definition
    Diff {
        /// The tool's id, or `server:tool`
        id: String,
    },
    /// Approve definitions that are held back
    Approve(ApproveArgs),
}

#[derive(Args)]
pub struct ApproveArgs {
    #[command(flatten)]
    pub what: WhatArgs,
    /// The first digits of the hash that you reviewed; any other definition is refused
    #[arg(long, value_name = "HEX", requires = "id", conflicts_with_all = ["server", "all"])]
    pub hash: Option<String>,
}

/// Exactly one of them must be given: clap puts every field of a derived group into the group.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct WhatArgs {
    /// A tool's id, or `server:tool`
    pub id: Option<String>,
    /// All tools of a server
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// All tools that are held back
    #[arg(long)]
    pub all: bool,
}

pub fn run(args: &PinsArgs, global: &Global) -> anyhow::Result<ExitCode> {
    paths::expect_named(args.pins.as_deref())?;
    let pins = pins_at(args.pins.as_deref(), Mode::FirstUse)?;
    match &args.command {
        PinsCommand::List { held } => list(&pins, *held, global),
        PinsCommand::Diff { id } => diff(&pins, id, global),
        PinsCommand::Approve(args) => approve(&pins, args, global),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(pins: &Pins, held: bool, global: &Global) -> anyhow::Result<()> {
    let mut listed = pins.list()?;
    listed.retain(|pin| !held || pin.state.is_held());
    listed.sort_by_key(|pin| !pin.state.is_held());
    if global.json {
        return render::json(&listed);
    }
    let mut table = render::table(&["tool", "state", "agreed", "held back"], &[]);
    let short = |hash: &Option<String>| {
        hash.as_deref().map_or("–".to_owned(), |hash| render::shortened(hash, SHOWN_DIGITS))
    };
    for pin in &listed {
        table.add_row([
            render::plain(pin.id.as_str()),
            format!("{}{}", pin.state, if pin.newcomer { ", newcomer" } else { "" }),
            short(&pin.sha256),
            short(&pin.held_sha256),
        ]);
    }
    render::print(table)?;
    let held = listed.iter().filter(|pin| pin.state.is_held()).count();
    render::warn(global, &format!("{}, {held} held back", render::counted(listed.len(), "tool")));
    Ok(())
}

fn diff(pins: &Pins, id: &str, global: &Global) -> anyhow::Result<()> {
    let PinDiff { held_sha256, changes } = pins.diff(id)?;
    if global.json {
        return render::json(&json!({"id": id, "held_sha256": held_sha256, "changes": changes}));
    }
    let Some(hash) = held_sha256 else {
        return render::line("nothing of it is held back");
    };
    for FieldChange { path, before, after } in &changes {
        render::line(&render::plain(path))?;
        for (sign, value) in [('-', before), ('+', after)] {
            let shown = value.as_ref().map(shown).unwrap_or_default();
            shown.lines().try_for_each(|line| render::line(&format!("  {sign} {line}")))?;
        }
    }
    let (id, file) = (shell_word(id), pins_option(pins.file_in_commands()));
    // Another program may have written the file.
    let hash = hash.get(..SHOWN_DIGITS).unwrap_or(&hash);
    render::line(&render::plain(&format!(
        "to approve exactly this: toolroute pins approve {id} --hash {hash}{file}"
    )))
}

/// A value with all invisible characters shown as their code points.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    let mut shown = String::new();
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            c if c.is_alphanumeric() || c == ' ' || c.is_ascii_graphic() => shown.push(c),
            c => shown.extend(c.escape_unicode()),
        }
    }
    shown
}

fn approve(pins: &Pins, args: &ApproveArgs, global: &Global) -> anyhow::Result<()> {
    let WhatArgs { id, server, all } = &args.what;
    let what = match (id, server) {
        (Some(id), _) => Approve::Tool { id: id.clone(), sha256: args.hash.clone() },
        (None, Some(server)) => Approve::Server(server.clone()),
        (None, None) if *all => Approve::All,
        (None, None) => {
            return Err(exit::bad_arguments("expected a tool's id, --server or --all"));
        }
    };
    let approved = pins.approve(&what)?;
    if global.json {
        return render::json(&json!({"approved": approved}));
    }
    for id in &approved {
        render::line(&render::plain(id.as_str()))?;
    }
    render::warn(
        global,
        &format!(
            "{} approved; a running gateway or server has them from its next request on",
            approved.len()
        ),
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_hides_nothing() {
        assert_eq!(shown(&json!("a\u{200b}b\u{1b}\nש")), "a\\u{200b}b\\u{1b}\nש");
    }
}
