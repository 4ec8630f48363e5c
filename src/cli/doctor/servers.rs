//! Checks that the configured servers start and answer.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::check::{DoctorArgs, Finding};
use super::duplicates;
use crate::cli::global::Global;
use crate::cli::render::counted;
use crate::cli::{paths, render, servers};
use toolroute_catalog::Tool;
use toolroute_run::execution::{
    Announced, Entry, Fault, LeftOut, Listed, McpOptions, Program, ServersFile,
};
use toolroute_run::pins::{Mode, Pins, pins_option, shell_word};

const CHECK: &str = "servers";

pub fn check(path: Option<&Path>, args: &DoctorArgs, global: &Global) -> Vec<Finding> {
    let Some(path) = path else {
        return vec![Finding::ok(CHECK, "no servers file; `toolroute import` makes one")];
    };
    let file = match servers::read(path) {
        Ok(file) => file,
        Err(error) => {
            let cure = "correct the file, or make it anew with `toolroute import`";
            return vec![Finding::error(CHECK, format!("{error:#}"), cure)];
        }
    };
    let cure = format!("correct its entry in {}", path.display());
    let mut findings: Vec<Finding> = file
        .problems
        .iter()
        .map(|said| Finding::error(CHECK, file.redactor.clean(said), &*cure))
        .collect();
    let off = file.left_out.iter().filter(|(_, because)| **because == LeftOut::Disabled);
    findings.extend(off.map(|(name, off)| Finding::ok(CHECK, format!("`{name}`: {off}"))));
    let mut sound = ServersFile { entries: BTreeMap::new(), ..file.clone() };
    sound.problems.clear();
    for (name, entry) in &file.entries {
        match program(entry).and_then(|program| fault(name, program)) {
            Some(finding) => findings.push(finding),
            None => _ = sound.entries.insert(name.clone(), entry.clone()),
        }
    }
    if args.no_start {
        findings.push(startable(&file, &sound));
    } else {
        findings.extend(answers(&sound, args, global));
    }
    findings
}

/// How many servers of the file can be started, and which cannot. Other findings say why.
fn startable(file: &ServersFile, sound: &ServersFile) -> Finding {
    let all = file.entries.keys().chain(file.left_out.keys());
    let lacking: Vec<&str> =
        all.map(String::as_str).filter(|name| !sound.entries.contains_key(*name)).collect();
    let count = file.entries.len() + file.left_out.len();
    let mut found = format!("{} of {count} can be started", sound.entries.len());
    if !lacking.is_empty() {
        found.push_str(&format!("; not {}", lacking.join(", ")));
    }
    Finding::ok(CHECK, found)
}

fn program(entry: &Entry) -> Option<&Program> {
    match entry {
        Entry::Stdio(program) | Entry::Process(program, _) => Some(program),
        _ => None,
    }
}

/// Why a program cannot be started, if it cannot.
fn fault(name: &str, program: &Program) -> Option<Finding> {
    let said = program.check(&servers::process_options()).err()?;
    let cure = match program.command.as_str() {
        _ if said.starts_with("folder") => "make the folder, or correct `cwd`",
        "npx" | "node" => "install Node.js, or write the program's whole path",
        "uvx" | "uv" => "install uv, or write the program's whole path",
        "docker" => "install Docker, or write the program's whole path",
        _ => "install it, or write its whole path as `command`",
    };
    Some(Finding::error(CHECK, format!("server `{name}`: {said}"), cure))
}

/// Number of tools that pins hold back, by server. Unreadable pins are reported by another check.
fn held_back(args: &DoctorArgs) -> BTreeMap<String, usize> {
    let path = paths::pins(args.catalog.live.pinning.pins.as_deref());
    let listed = path.ok().and_then(|path| Pins::new(path, Mode::FirstUse).list().ok());
    let mut held = BTreeMap::new();
    for pin in listed.unwrap_or_default().into_iter().filter(|pin| pin.state.is_held()) {
        *held.entry(pin.server).or_default() += 1;
    }
    held
}

/// Starts every server and asks for its tools.
fn answers(file: &ServersFile, args: &DoctorArgs, global: &Global) -> Vec<Finding> {
    let asked = file.entries.iter().filter(|(_, entry)| !matches!(entry, Entry::OpenApi(_)));
    let asked = asked.map(|(name, _)| (name.clone(), None));
    let wait = Duration::from_secs(args.wait);
    let options = servers::gateway_options(file);
    let answer_timeout = options.answer_timeout.min(wait);
    let options = McpOptions { start_timeout: wait, answer_timeout, ..options };
    let listed = match servers::list(&servers::open_with(file, options.clone()), asked) {
        Ok(listed) => listed,
        Err(error) => return vec![Finding::error(CHECK, format!("{error:#}"), "free some memory")],
    };
    let mut unkept = Vec::new();
    for mut kept in servers::stored_lists(file) {
        let stored = listed.get(&kept.name).map(|answered| kept.keep(answered, file, Some(wait)));
        if let Some(Err(error)) = stored {
            let said = format!("what `{}` answered is not kept: {error:#}", kept.name);
            unkept.push(Finding::warning(
                CHECK,
                said,
                "make its folder writable, or free some space",
            ));
        }
    }
    if listed.values().any(Result::is_ok) {
        let said = "starting the servers that answered once more: some list more tools to clients with sampling or roots";
        render::warn(global, said);
    }
    let (held, withheld) = (held_back(args), withheld(file, &listed, options));
    let pins = pins_option(args.catalog.live.pinning.pins.as_deref());
    let answer = |(name, answered): (&String, &Result<Vec<_>, Fault>)| match answered {
        Ok(tools) => {
            let more = withheld.get(name).map(String::as_str).unwrap_or_default();
            let found = format!("`{name}` answers with {}{more}", counted(tools.len(), "tool"));
            let print = file.fingerprints.get(name).map_or("", String::as_str);
            match held.get(&Pins::key(name, print)) {
                Some(held) => Finding::warning(
                    CHECK,
                    format!("{found}, {held} of them held back by pins"),
                    format!(
                        "`toolroute pins list --held{pins}` shows them, `toolroute pins approve --server {}{pins}` lets them in",
                        shell_word(name)
                    ),
                ),
                None => Finding::ok(CHECK, found),
            }
        }
        Err(fault) => no_answer(name, fault, file),
    };
    let mut findings: Vec<Finding> = listed.iter().map(answer).collect();
    let answered = listed.iter().filter_map(|(name, tools)| Some((name, tools.as_ref().ok()?)));
    findings.extend(answered.filter_map(|(name, tools)| duplicates::within(name, tools)));
    findings.extend(unkept);
    findings
}

/// Finds tools that servers list only to clients with certain capabilities. Starts those servers
/// again with these capabilities, because the first list does not show what is missing.
fn withheld(file: &ServersFile, listed: &Listed, options: McpOptions) -> BTreeMap<String, String> {
    let is_mcp =
        |name: &&String| matches!(file.entries.get(*name), Some(Entry::Stdio(_) | Entry::Http(_)));
    let answered = listed.iter().filter(|(_, tools)| tools.is_ok()).map(|(name, _)| name);
    let asked = answered.filter(is_mcp).map(|name| (name.clone(), None));
    let options = McpOptions { announced: Announced::Everything, ..options };
    let more = servers::list(&servers::open_with(file, options), asked).unwrap_or_default();
    let mut told = BTreeMap::new();
    for (name, tools) in more {
        let (Ok(tools), Some(Ok(known))) = (tools, listed.get(&name)) else { continue };
        let is_new = |tool: &&Tool| known.iter().all(|known| known.id != tool.id);
        let names: Vec<String> =
            tools.iter().filter(is_new).map(|tool| tool.name.clone()).collect();
        let print = file.fingerprints.get(&name).map_or("", String::as_str);
        // Stored for the gateway, which asks each server only once.
        let kept = serde_json::to_vec(&names).unwrap_or_default();
        paths::put(&servers::withheld_path(&name, print), &kept).ok();
        if !names.is_empty() {
            let said = format!(
                "; {} more it lists only to clients that offer sampling or roots, which the gateway \
                 does not: {}",
                names.len(),
                names.join(", ")
            );
            told.insert(name, said);
        }
    }
    told
}

fn no_answer(name: &str, fault: &Fault, file: &ServersFile) -> Finding {
    let said = file.redactor.clean(&fault.detail);
    let cure = match file.entries.get(name) {
        Some(Entry::Http(_)) => "see whether its address is right and answers",
        _ => "run its command by hand and read what it says; --wait gives it more time",
    };
    Finding::error(CHECK, format!("server `{name}` does not answer: {said}"), cure)
}
