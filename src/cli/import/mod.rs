//! `toolroute import`: imports the servers of other programs, and installs our gateway into them.

mod clients;
mod codex;
mod installation;
mod jsonc;
mod merge;
mod report;
mod runnable;
mod server_entry;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum as _};

use self::clients::{Client, Place};
use self::installation::RemainingServer;
use self::report::{Imported, Origin, Report, State};
use super::args::Global;
use super::{paths, render};
use toolroute_run::pins::shell_word;

#[derive(Args)]
pub struct ImportArgs {
    /// Read this program's configuration; repeatable [default: of every program that is found]
    #[arg(long, value_enum, value_name = "PROGRAM")]
    from: Vec<Client>,
    /// Read this file too, JSON or TOML, or with --into write it; repeatable
    #[arg(long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// The servers file to add to [default: toolroute/servers.json in the user's configuration
    /// folder]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// The folder in which project files are looked for [default: the current folder]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Write nothing, and show what would be written
    #[arg(long)]
    dry_run: bool,
    /// Allow imported servers to be called at addresses of this machine and its network
    #[arg(long)]
    allow_private: bool,
    /// Then add the gateway to this program's configuration
    #[arg(long, value_enum, value_name = "PROGRAM")]
    into: Option<Client>,
    /// With --into: remove the program's other servers, because the gateway provides them now;
    /// servers that it cannot run stay. Servers over HTTP are asked for their tools to find out
    #[arg(long, requires = "into", conflicts_with = "undo")]
    replace: bool,
    /// Remove the gateway from the program's configuration, and restore what it replaced
    #[arg(long, requires = "into", conflicts_with_all = ["from", "allow_private"])]
    undo: bool,
}

pub fn run(args: &ImportArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let mut report = Report { dry_run: args.dry_run, ..Report::default() };
    report.servers = match &args.to {
        Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
        None => paths::servers()?,
    };
    if !args.undo {
        let (files, looked_in) = places(args)?;
        merge::run(&files, args.allow_private, &mut report)?;
        note_unstartable(&mut report)?;
        if report.imported.is_empty() {
            report.looked_in = looked_in;
        }
    }
    if let Some(client) = args.into {
        let is_empty = report.imported.is_empty() && !report.servers.is_file();
        anyhow::ensure!(
            args.undo || !is_empty,
            "no server was found, so the gateway would have nothing to run and {} is as it was: name a file of servers \
             with --from or --file, or write {}",
            client.word(),
            report.servers.display()
        );
        put(client, args, &mut report)?;
    }
    if global.json {
        render::json(&report)?
    } else {
        tell(&report, args, global)?
    }
    Ok(ExitCode::SUCCESS)
}

fn home(args: &ImportArgs) -> anyhow::Result<clients::Home> {
    let project = match &args.project {
        Some(project) => project.clone(),
        None => std::env::current_dir().context("cannot tell the present folder; use --project")?,
    };
    Ok(clients::Home {
        home: dirs::home_dir().context("this user has no home folder; name files with --file")?,
        config: dirs::config_dir(),
        codex: std::env::var_os("CODEX_HOME").map(PathBuf::from),
        project,
    })
}

/// The files to read: those of the named programs, or else of every program, and the named files.
/// Also returns every path that was looked for.
fn places(args: &ImportArgs) -> anyhow::Result<(Vec<Place>, Vec<PathBuf>)> {
    let named = if args.into.is_some() { &[][..] } else { &args.file };
    let every = args.from.is_empty() && named.is_empty();
    let clients = if every { Client::value_variants().to_vec() } else { args.from.clone() };
    let (mut places, mut looked_in) = (Vec::new(), Vec::new());
    if !clients.is_empty() {
        let home = home(args)?;
        places = clients.into_iter().flat_map(|client| home.places(client)).collect();
        looked_in.extend(places.iter().map(|place| place.path.clone()));
        places.retain(|place| place.path.is_file());
        places.iter_mut().for_each(|place| place.was_named = !every);
    }
    places.extend(named.iter().map(|path| Place::of_file(path)));
    looked_in.extend(named.iter().cloned());
    looked_in.dedup();
    // In the home folder, a project's files are the user's own, which come first.
    let mut seen = BTreeSet::new();
    places.retain(|place| {
        seen.insert(place.path.canonicalize().unwrap_or_else(|_| place.path.clone()))
    });
    Ok((places, looked_in))
}

fn put(client: Client, args: &ImportArgs, report: &mut Report) -> anyhow::Result<()> {
    let target = match args.file.first() {
        Some(file) => file.clone(),
        None => home(args)?
            .target(client)
            .context("this user has no configuration folder; use --file")?,
    };
    let (replaced_servers, remaining) =
        if args.replace { split_by_runnable(report, &target)? } else { Default::default() };
    let request =
        installation::Request { client, servers: report.servers.clone(), replaced_servers };
    let mut put = if args.undo {
        installation::undo(&target, &request, args.dry_run)?
    } else {
        installation::put(&target, &request, args.dry_run)?
    };
    put.remaining = remaining;
    report.backups.extend(put.backup.clone());
    report.into = Some(put);
    Ok(())
}

/// Splits the servers of a program's file into those that the gateway can run and those that it
/// cannot.
fn split_by_runnable(
    report: &Report,
    target: &Path,
) -> anyhow::Result<(BTreeSet<String>, Vec<RemainingServer>)> {
    let own: Vec<&Origin> = report.origins.iter().filter(|one| one.file == *target).collect();
    let ours: Vec<&str> = own.iter().map(|one| one.ours.as_str()).collect();
    if ours.is_empty() {
        return Ok(Default::default());
    }
    let faults = runnable::faults(&report.text, &ours)?;
    let (mut replaced_servers, mut remaining) = (BTreeSet::new(), Vec::new());
    for Origin { name, ours, is_disabled, .. } in own {
        let fault =
            if *is_disabled { Some("disabled") } else { faults.get(ours).map(String::as_str) };
        match fault {
            Some(because) => {
                remaining.push(RemainingServer { name: name.clone(), because: because.to_owned() })
            }
            None => _ = replaced_servers.insert(name.clone()),
        }
    }
    Ok((replaced_servers, remaining))
}

/// Notes which of the servers will not start, unless another note says what is wrong with them.
fn note_unstartable(report: &mut Report) -> anyhow::Result<()> {
    let names: Vec<&str> = report.imported.iter().map(|one| one.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    for (name, because) in runnable::unstartable(&report.text, &names)? {
        let begin = format!("server `{name}`");
        if !report.notes.iter().any(|note| note.starts_with(&begin)) {
            report.notes.push(format!("{begin} will not start: {because}"));
        }
    }
    Ok(())
}

/// Says which commands read the servers file, and how the others do.
fn reading(servers: &Path) -> String {
    let command =
        format!("`toolroute tools list --servers {}`", shell_word(&servers.to_string_lossy()));
    match paths::servers().is_ok_and(|default| default == servers) {
        true => format!(
            "mcp, call, run and doctor read it, the other commands with --servers: {command}"
        ),
        false => format!("commands read it with --servers: {command}"),
    }
}

fn tell(report: &Report, args: &ImportArgs, global: &Global) -> anyhow::Result<()> {
    if !report.imported.is_empty() {
        let mut table = render::table(&["server", "", "from"], &[]);
        for Imported { name, from, state } in &report.imported {
            let state = match state {
                State::Added => "added",
                State::Renamed => "added under another name",
                State::AlreadyThere => "already there",
                State::Allowed => "allowed at its private address",
            };
            let from = render::plain(&from.display().to_string());
            table.add_row([render::plain(name), state.to_owned(), from]);
        }
        render::print(table)?;
    } else if !args.undo {
        let places = report.looked_in.iter().map(|path| format!("  {}", path.display()));
        let places: Vec<String> = places.map(|place| render::plain(&place)).collect();
        render::line("no server was found in:")?;
        places.iter().try_for_each(|place| render::line(place))?;
        render::line("name another file with --file")?;
    }
    report.notes.iter().for_each(|note| render::warn(global, &render::plain(note)));
    for backup in &report.backups {
        render::warn(global, &format!("what was there before is kept at {}", backup.display()));
    }
    if let Some(put) = &report.into {
        render::line(&render::plain(&put.to_string()))?;
        if !put.removed.is_empty() {
            let names: Vec<&str> = put.removed.iter().map(String::as_str).collect();
            let would = if put.dry_run { "would be" } else { "are" };
            let said = format!(
                "its own {} {would} removed, because the gateway runs them: {}",
                render::counted(names.len(), "server"),
                names.join(", ")
            );
            render::line(&render::plain(&said))?;
        }
        for RemainingServer { name, because } in &put.remaining {
            let said = format!("server `{name}` stays there: the gateway cannot run it: {because}");
            render::line(&render::plain(&said))?;
        }
    }
    if args.undo {
        return Ok(());
    }
    let is_new = |one: &&Imported| matches!(one.state, State::Added | State::Renamed);
    let added = render::counted(report.imported.iter().filter(is_new).count(), "server");
    let would = if report.dry_run { "would be " } else { "" };
    let to = report.servers.display();
    render::warn(global, &format!("{added} {would}added to {to}"));
    if !report.imported.is_empty() && !report.dry_run {
        render::warn(global, &reading(&report.servers));
    }
    Ok(())
}
