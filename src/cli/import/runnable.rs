//! Finds out which imported servers the gateway can run. Only those may be removed from the program
//! that they came from.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{jsonc, server_entry};
use crate::cli::servers;
use toolroute_run::execution::{Entry, LeftOut, McpOptions, ServersFile};

/// Timeout for a server over HTTP. It is already running and needs no download.
const ANSWER: Duration = Duration::from_secs(20);

/// Returns why servers will not start, by name, as far as that is known without starting or asking one:
/// a missing program, an unset variable.
pub fn unstartable(text: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
    let (file, mut faults) = parsed(text, names)?;
    faults.retain(|name, _| file.left_out.get(name) != Some(&LeftOut::Disabled));
    Ok(faults)
}

/// Returns why servers cannot be run, by name. Programs are looked up but not started; servers over
/// HTTP are asked for their tools, because only they know whether they need a login.
pub fn faults(text: &str, names: &[&str]) -> anyhow::Result<BTreeMap<String, String>> {
    let (mut file, mut faults) = parsed(text, names)?;
    let is_asked = |name: &String, entry: &Entry| {
        matches!(entry, Entry::Http(_)) && !faults.contains_key(name)
    };
    let asked = file.entries.iter().filter(|(name, entry)| is_asked(name, entry));
    let asked: Vec<_> = asked.map(|(name, _)| (name.clone(), None)).collect();
    if !asked.is_empty() {
        let options = McpOptions { answer_timeout: ANSWER, ..servers::options(&file) };
        file.problems.clear();
        let listed = servers::list(&servers::open_with(&file, options), asked)?;
        let failed = listed.into_iter().filter_map(|(name, tools)| Some((name, tools.err()?)));
        faults.extend(failed.map(|(name, fault)| (name, fault.public_message())));
    }
    Ok(faults)
}

/// The entries of these servers, and what is wrong with them or their programs.
fn parsed(text: &str, names: &[&str]) -> anyhow::Result<(ServersFile, BTreeMap<String, String>)> {
    let mut file = ServersFile::parse(text, &|name| std::env::var(name).ok())?;
    file.entries.retain(|name, _| names.contains(&name.as_str()));
    file.left_out.retain(|name, _| names.contains(&name.as_str()));
    let left_out = file.shown_left_out().into_iter();
    let mut faults: BTreeMap<String, String> =
        left_out.map(|(name, because)| (name, because.to_string())).collect();
    let root = jsonc::value(text)?;
    let list = root.get("mcpServers").or_else(|| root.get("servers"));
    for name in names {
        let entry = list.and_then(|list| list.get(*name)?.as_object());
        if let Some(member) = entry.and_then(server_entry::unread) {
            let said = format!("it does not read `{member}`, which says how the server is reached");
            faults.insert((*name).to_owned(), said);
        }
    }
    // Servers with unsupported members are not tested without them.
    let unread: BTreeSet<String> = faults.keys().cloned().collect();
    let process = servers::process_options();
    for (name, entry) in file.entries.iter().filter(|(name, _)| !unread.contains(*name)) {
        if let Entry::Stdio(program) | Entry::Process(program, _) = entry {
            faults.extend(program.check(&process).err().map(|said| (name.clone(), said)));
        }
    }
    Ok((file, faults))
}
