//! Detects changes of files by modification time and length.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::args::{CatalogArgs, Global};

/// Maximum depth of folders that are searched.
const DEEPEST: usize = 16;

/// The source files of a catalog and a configuration.
pub struct Sources {
    paths: Vec<PathBuf>,
}

impl Sources {
    pub fn of(catalog: &CatalogArgs, global: &Global) -> Self {
        let mut paths = catalog.tools.clone();
        paths.extend(catalog.overlay.iter().cloned());
        paths.extend(catalog.live.servers().cloned());
        paths.extend(global.settings.files.iter().cloned());
        Self { paths }
    }

    /// A number that changes if a file is added, changed or removed.
    pub fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.paths.iter().for_each(|path| add(path, 0, &mut hasher));
        hasher.finish()
    }
}

fn add(path: &Path, depth: usize, hasher: &mut DefaultHasher) {
    path.hash(hasher);
    let Ok(about) = std::fs::metadata(path) else { return };
    if !about.is_dir() {
        (about.len(), about.modified().unwrap_or(SystemTime::UNIX_EPOCH)).hash(hasher);
        return;
    }
    if depth == DEEPEST {
        return;
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut inside: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    inside.sort();
    inside.iter().for_each(|path| add(path, depth + 1, hasher));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_is_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let sources = Sources { paths: vec![folder.path().to_owned()] };
        let (empty, inner) = (sources.stamp(), folder.path().join("a"));
        assert_eq!(empty, sources.stamp());
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(inner.join("tools.json"), "[]").unwrap();
        let one = sources.stamp();
        assert_ne!(empty, one);
        std::fs::write(inner.join("tools.json"), "[1]").unwrap();
        assert_ne!(one, sources.stamp());
    }
}
