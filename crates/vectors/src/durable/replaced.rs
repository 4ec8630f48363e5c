//! A file that is replaced as a whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Who may read a file once it is written. All that may write it is its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: it may tell of prompts, arguments or secrets.
    Owner,
    /// Whoever may read a file that this user makes (its umask).
    All,
    /// Those who might before, and its owner alone where there was none. A link stays one.
    AsBefore,
}

/// Puts a file of these bytes in the place of the one at `path`, if any. The folder must be there.
///
/// # Errors
/// What the system says; the file that was there is there still.
pub fn replace(path: &Path, readers: Readers, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, readers, |file| file.write_all(bytes))
}

/// [`replace`] with what `fill` writes. Where it fails, nothing is replaced.
///
/// # Errors
/// What the system or `fill` says.
pub fn replace_with<T, E: From<io::Error>>(
    path: &Path,
    readers: Readers,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let linked = if readers == Readers::AsBefore { path.canonicalize().ok() } else { None };
    let path = linked.as_deref().unwrap_or(path);
    let folder = folder_of(path);
    // In the same folder, because a rename is atomic only within one file system.
    let mut file = temporary(readers).tempfile_in(folder)?;
    let filled = fill(file.as_file_mut())?;
    if let (Readers::AsBefore, Ok(before)) = (readers, std::fs::metadata(path)) {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)?;
    Ok(filled)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file is its owner's alone where nothing else is said.
#[cfg_attr(
    not(unix),
    allow(unused_variables, reason = "elsewhere it is the folder that says who may")
)]
fn temporary(readers: Readers) -> tempfile::Builder<'static, 'static> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "as above"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if readers == Readers::All {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    builder
}

/// Makes a rename last: without it a power cut can bring the old name back.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems cannot open a folder to flush it.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
