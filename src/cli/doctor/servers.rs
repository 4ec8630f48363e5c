//! Whether the servers of the file are there and answer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{DoctorArgs, Finding};
use crate::cli::servers;
use crate::execution::{Entry, Program, ServersFile};

const CHECK: &str = "servers";

pub fn check(path: Option<&Path>, args: &DoctorArgs) -> Vec<Finding> {
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
    let mut sound = ServersFile { redactor: file.redactor.clone(), ..ServersFile::default() };
    for (name, entry) in &file.entries {
        match program(entry).and_then(|program| fault(name, program)) {
            Some(finding) => findings.push(finding),
            None => _ = sound.entries.insert(name.clone(), entry.clone()),
        }
    }
    if args.no_start {
        let found = format!("{} of {} can be started", sound.entries.len(), file.entries.len());
        findings.push(Finding::ok(CHECK, found));
    } else {
        findings.extend(answers(&sound, args));
    }
    findings
}

fn program(entry: &Entry) -> Option<&Program> {
    match entry {
        Entry::Stdio(program) | Entry::Process(program, _) => Some(program),
        _ => None,
    }
}

/// What keeps a program from being started.
fn fault(name: &str, program: &Program) -> Option<Finding> {
    if let Some(cwd) = program.cwd.as_deref().filter(|cwd| !cwd.is_dir()) {
        let found = format!("server `{name}`: there is no folder {}", cwd.display());
        return Some(Finding::error(CHECK, found, "make the folder, or correct `cwd`"));
    }
    if on_path(&program.command).is_some() {
        return None;
    }
    let found = format!("server `{name}`: there is no program `{}`", program.command);
    let cure = match program.command.as_str() {
        "npx" | "node" => "install Node.js, or write the program's whole path",
        "uvx" | "uv" => "install uv, or write the program's whole path",
        "docker" => "install Docker, or write the program's whole path",
        _ => "install it, or write its whole path as `command`",
    };
    Some(Finding::error(CHECK, found, cure))
}

/// Where a program is, as the system would find it.
fn on_path(command: &str) -> Option<PathBuf> {
    let there = |path: PathBuf| is_program(&path).then_some(path);
    if command.contains(['/', '\\']) {
        return there(PathBuf::from(command));
    }
    let ends = if cfg!(windows) { &["", ".exe", ".cmd", ".bat"][..] } else { &[""][..] };
    let folders = std::env::split_paths(&std::env::var_os("PATH")?).collect::<Vec<_>>();
    let mut tried = folders
        .iter()
        .flat_map(|folder| ends.iter().map(move |end| folder.join(format!("{command}{end}"))));
    tried.find_map(there)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Starts every server and asks for its tools.
fn answers(file: &ServersFile, args: &DoctorArgs) -> Vec<Finding> {
    let asked: Vec<String> = file
        .entries
        .iter()
        .filter(|(_, entry)| !matches!(entry, Entry::OpenApi(_)))
        .map(|(name, _)| name.clone())
        .collect();
    let runtime = match servers::runtime() {
        Ok(runtime) => runtime,
        Err(error) => return vec![Finding::error(CHECK, format!("{error:#}"), "free some memory")],
    };
    let wait = Duration::from_secs(args.wait);
    let all = servers::open_within(file, wait);
    let listed = runtime.block_on(async {
        let listed = all.list(asked).await;
        all.close().await;
        listed
    });
    let answer =
        |(name, answered): (&String, &Result<Vec<_>, crate::execution::Fault>)| match answered {
            Ok(tools) => Finding::ok(CHECK, format!("`{name}` answers with {} tools", tools.len())),
            Err(fault) => {
                let found = format!(
                    "server `{name}` does not answer: {}",
                    file.redactor.clean(&fault.detail)
                );
                let cure = match file.entries.get(name) {
                    Some(Entry::Http(_)) => {
                        "see whether its address is right and answers; --wait gives it more time"
                    }
                    _ => "run its command by hand and read what it says; --wait gives it more time",
                };
                Finding::error(CHECK, found, cure)
            }
        };
    listed.iter().map(answer).collect()
}
