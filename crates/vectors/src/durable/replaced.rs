//! Replaces a file as a whole.

use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

/// Who may read a file after it is written. Only the owner may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readers {
    /// The owner only: the file may contain prompts, arguments or secrets.
    Owner,
    /// Everyone whom the umask of this user allows.
    All,
    /// The same readers as before; a new file is readable by the owner only. A symbolic link stays
    /// a link.
    AsBefore,
}

/// Atomically replaces the file at `path`, or creates it. The folder must exist.
pub fn replace(path: &Path, readers: Readers, bytes: &[u8]) -> io::Result<()> {
    replace_with(path, readers, |file| file.write_all(bytes))
}

/// The same as [`replace`], with the bytes that `fill` writes. If `fill` fails, the old file is
/// unchanged.
pub fn replace_with<T, E: From<io::Error>>(
    path: &Path,
    readers: Readers,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    publish(path, readers, fill, |file, path| {
        file.persist(path).map(drop).map_err(|error| error.error)
    })
}

/// The same as [`replace_with`] for a file that must not exist yet.
///
/// # Errors
/// [`ErrorKind::AlreadyExists`] if there is a file, even one that appeared while `fill` ran; otherwise
/// the same as [`replace_with`].
pub fn create_with<T, E: From<io::Error>>(
    path: &Path,
    readers: Readers,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    publish(path, readers, fill, |file, path| match file.persist_noclobber(path) {
        // Some file systems have neither such a rename nor hard links.
        Err(error) if error.error.kind() != ErrorKind::AlreadyExists && !path.exists() => {
            error.file.persist(path).map(drop).map_err(|error| error.error)
        }
        done => done.map(drop).map_err(|error| error.error),
    })
}

/// Writes a temporary file beside `path` and moves it there with `rename`.
fn publish<T, E: From<io::Error>>(
    path: &Path,
    readers: Readers,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
    rename: impl FnOnce(NamedTempFile, &Path) -> io::Result<()>,
) -> Result<T, E> {
    let linked = if readers == Readers::AsBefore { path.canonicalize().ok() } else { None };
    let path = linked.as_deref().unwrap_or(path);
    let folder = folder_of(path);
    // A rename is atomic only within one file system, so the file is in the same folder.
    let prefix = prefix_of(path);
    let mut file = temporary(readers).prefix(&prefix).suffix(SUFFIX).tempfile_in(folder)?;
    let filled = fill(file.as_file_mut())?;
    if let (Readers::AsBefore, Ok(before)) = (readers, std::fs::metadata(path)) {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file().sync_all()?;
    rename(file, path)?;
    sync_folder(folder)?;
    remove_stale(folder, &prefix);
    Ok(filled)
}

/// Suffix of a temporary file that has not been renamed yet.
const SUFFIX: &str = ".toolroute-new";

/// Maximum number of characters of the original file name in the name of the temporary file. A
/// character has up to four bytes, and a file name at most 255.
const MAX_NAME_CHARS: usize = 50;

/// Age from which a temporary file is considered abandoned by a writer that was killed.
const STALE: Duration = Duration::from_secs(900);

/// Prefix of the temporary file's name. It contains the original name, so that files left behind by
/// earlier writers can be recognised.
fn prefix_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}.", name.chars().take(MAX_NAME_CHARS).collect::<String>())
}

/// Removes temporary files that killed writers of the same file left behind. Failures are ignored.
fn remove_stale(folder: &Path, prefix: &str) {
    let is_stale = |about: &std::fs::Metadata| {
        let age = about.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        about.is_file() && age.is_some_and(|age| age > STALE)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let middle = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(SUFFIX));
        // The random part that `tempfile` inserts consists of letters and digits.
        let is_ours = middle.is_some_and(|middle| {
            !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if is_ours && entry.metadata().is_ok_and(|about| is_stale(&about)) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Sets the permissions of the temporary file, which `tempfile` makes readable by the owner only.
#[cfg_attr(
    not(unix),
    allow(unused_variables, reason = "elsewhere it is the folder that says who may")
)]
fn temporary<'a, 'b>(readers: Readers) -> tempfile::Builder<'a, 'b> {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "as above"))]
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    if readers == Readers::All {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    builder
}

/// Flushes the folder, because a power failure can otherwise undo the rename.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Other systems cannot open a folder to flush it.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
