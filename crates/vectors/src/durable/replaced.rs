//! A file that is replaced as a whole.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

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
    let prefix = prefix_of(path);
    let mut file = temporary(readers).prefix(&prefix).suffix(SUFFIX).tempfile_in(folder)?;
    let filled = fill(file.as_file_mut())?;
    if let (Readers::AsBefore, Ok(before)) = (readers, std::fs::metadata(path)) {
        file.as_file().set_permissions(before.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)?;
    remove_stale(folder, &prefix);
    Ok(filled)
}

/// How the name of a file ends that is not in its place yet.
const SUFFIX: &str = ".toolroute-new";

/// Characters of the name of the file to be replaced in that name; four bytes each, and a name has 255.
const MOST_OF_A_NAME: usize = 50;

/// Nobody is still writing a file that was written to last so long ago: who began it was killed.
const STALE: Duration = Duration::from_secs(900);

/// How the name begins: as that of the file to be replaced, so that it can be known again.
fn prefix_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(".{}.", name.chars().take(MOST_OF_A_NAME).collect::<String>())
}

/// Removes what killed writers of the same file have left. That it cannot be is nobody's fault.
fn remove_stale(folder: &Path, prefix: &str) {
    let is_old = |about: &std::fs::Metadata| {
        let age = about.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        about.is_file() && age.is_some_and(|age| age > STALE)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let middle = name.to_str().and_then(|name| name.strip_prefix(prefix)?.strip_suffix(SUFFIX));
        // What `tempfile` puts there: letters and digits.
        let is_ours = middle.is_some_and(|middle| {
            !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_alphanumeric())
        });
        if is_ours && entry.metadata().is_ok_and(|about| is_old(&about)) {
            std::fs::remove_file(entry.path()).ok();
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file is its owner's alone where nothing else is said.
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
