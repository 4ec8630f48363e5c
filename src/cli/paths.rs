//! Default paths, and helpers to read, replace and back up the user's files.

use std::path::{Path, PathBuf};
#[cfg(feature = "mcp")]
use std::sync::OnceLock;

use anyhow::Context;

#[cfg(feature = "mcp")]
use super::exit;
use toolroute_rank::engine::fingerprint;
use toolroute_vectors::durable;
#[cfg(feature = "mcp")]
use toolroute_vectors::durable::Readers;
use toolroute_vectors::embedding::ModelStore;

/// The executable of this command line, if it differs from the process's own.
#[cfg(feature = "mcp")]
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Sets the file that other programs start to run this command line. Only the first call has an
/// effect.
#[cfg(feature = "mcp")]
pub fn set_program(path: Option<PathBuf>) {
    if let Some(path) = path {
        PROGRAM.set(path).ok();
    }
}

/// Returns the file that other programs start to run this command line.
#[cfg(feature = "mcp")]
pub fn program() -> std::io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |path| Ok(path.clone()))
}

/// The path chosen with a flag, or `name` in the folder `toolroute` in the user's data folder.
/// `kept` says what is there.
fn chosen_or(chosen: Option<&Path>, name: &str, flag: &str, kept: &str) -> anyhow::Result<PathBuf> {
    if let Some(chosen) = chosen {
        return Ok(chosen.to_owned());
    }
    let variable = flag.to_uppercase();
    let data = dirs::data_dir().with_context(|| {
        format!(
            "this user has no data folder; say where {kept} with --{flag} or TOOLROUTE_{variable}"
        )
    })?;
    Ok(data.join("toolroute").join(name))
}

/// Opens the model store: `--models`, or `toolroute/models` in the user's data folder.
pub fn model_store(chosen: Option<&Path>) -> anyhow::Result<ModelStore> {
    chosen_or(chosen, "models", "models", "models are kept").map(ModelStore::new)
}

/// The log of executions: `--feedback`, or `toolroute/feedback.db` in the user's data folder.
pub fn feedback(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    chosen_or(chosen, "feedback.db", "feedback", "the log is")
}

/// Creates the folder of a file that is written to, if no flag chose the file: a folder that a user
/// names must exist, because a missing one is a mistyped one.
pub fn with_default_folder(path: PathBuf, chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    if chosen.is_none()
        && let Some(folder) = path.parent()
    {
        durable::private_folder(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        durable::close_to_others(folder);
    }
    Ok(path)
}

/// The pins: `--pins`, or `toolroute/pins.json` in the user's data folder.
#[cfg(feature = "mcp")]
pub fn pins(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    chosen_or(chosen, "pins.json", "pins", "the pins are")
}

/// The default servers file: `toolroute/servers.json` in the user's configuration folder.
#[cfg(feature = "mcp")]
pub fn servers() -> anyhow::Result<PathBuf> {
    let config = dirs::config_dir()
        .context("this user has no configuration folder; name the servers file")?;
    Ok(config.join("toolroute").join("servers.json"))
}

/// The conductor's ledger: `--ledger`, or `toolroute/ledger.sqlite` in the user's data folder.
#[cfg(feature = "mcp")]
pub fn ledger_file(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    chosen_or(chosen, "ledger.sqlite", "ledger", "the ledger is")
}

/// The same as [`ledger_file`], whose default folder is created if it does not exist.
#[cfg(feature = "mcp")]
pub fn ledger(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    with_default_folder(ledger_file(chosen)?, chosen)
}

/// The default file for a catalog's vectors. Each set of paths and each model has its own, so that
/// catalogs do not overwrite each other's vectors.
pub fn default_snapshot(tools: &[PathBuf], model: &str) -> Option<PathBuf> {
    let folder = dirs::cache_dir()?.join("toolroute").join("indexes");
    let absolute = |path: &PathBuf| std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
    let mut parts: Vec<String> =
        tools.iter().map(|path| absolute(path).to_string_lossy().into_owned()).collect();
    parts.push(model.to_owned());
    let key = fingerprint(&parts.iter().map(String::as_str).collect::<Vec<_>>());
    let stem = tools.first().and_then(|path| path.file_stem()).unwrap_or_default();
    let file = format!("{}-{}.snapshot", stem.to_string_lossy(), &key[..16]);
    Some(folder.join(file))
}

/// A subfolder of toolroute's cache folder, or of the system's folder for temporary files.
#[cfg(feature = "mcp")]
pub fn cache(name: &str) -> PathBuf {
    dirs::cache_dir().unwrap_or_else(std::env::temp_dir).join("toolroute").join(name)
}

/// Atomically writes a file that only its user may read, and creates its folder.
#[cfg(feature = "mcp")]
pub fn put(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let made = path.parent().map_or(Ok(()), durable::private_folder);
    let written = made.and_then(|()| durable::replace(path, Readers::AsBefore, text));
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Checks that a file that the user named exists. One at its default path may be missing.
#[cfg(feature = "mcp")]
pub fn expect_named(named: Option<&Path>) -> anyhow::Result<()> {
    let Some(missing) = named.filter(|path| !path.exists()) else { return Ok(()) };
    Err(exit::io(format!("there is no file {}; check the path", missing.display())))
}

/// Locks a file against other commands that change it, until the returned file is dropped.
#[cfg(feature = "mcp")]
pub fn lock(path: &Path) -> anyhow::Result<std::fs::File> {
    durable::lock(path).with_context(|| format!("cannot lock {}", path.display()))
}

/// Reads a text file; `None` if it does not exist.
#[cfg(feature = "mcp")]
pub fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Copies a file to the first free name of `NAME.bak-1`, `NAME.bak-2`, …
#[cfg(feature = "mcp")]
pub fn back_up(path: &Path) -> anyhow::Result<Option<PathBuf>> {
    if !path.exists() {
        return Ok(None);
    }
    let name = |number: u32| PathBuf::from(format!("{}.bak-{number}", path.display()));
    let free = (1..).map(name).find(|copy| !copy.exists());
    let free = free.context("no name is free for a backup; remove old ones")?;
    std::fs::copy(path, &free).with_context(|| {
        format!("cannot keep a copy of {} at {}", path.display(), free.display())
    })?;
    Ok(Some(free))
}
