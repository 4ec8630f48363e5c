//! Files of users, which are never changed without a copy.

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
