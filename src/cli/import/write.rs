//! Files of users: replaced whole or not at all, and never without a copy.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The text of a file; `None` where there is none.
pub fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Copies a file beside itself under the first free name of `NAME.bak-1`, `NAME.bak-2`, …
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

/// Writes a file with the permissions that it had; a new one is its user's alone, because servers'
/// entries hold secrets. A link stays one.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let failed = || format!("cannot write {}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).with_context(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    if let Ok(about) = std::fs::metadata(&path) {
        file.as_file().set_permissions(about.permissions()).with_context(failed)?;
    }
    file.as_file().sync_all().with_context(failed)?;
    file.persist(&path).with_context(failed)?;
    Ok(())
}
