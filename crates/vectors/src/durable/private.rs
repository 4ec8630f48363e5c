//! Files and folders that only their owner may read.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Creates a folder and its missing parents, readable by the owner only. An existing folder is not
/// changed.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Creates an empty file, readable by the owner only. The permissions of an existing file are
/// restricted in the same way.
///
/// # Errors
/// Any I/O error of the operating system while creating the file. It is not an error if the
/// permissions of an existing file cannot be changed: the file may belong to another user.
pub fn private_file(path: &Path) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            close_to_others(path);
            Ok(())
        }
        made => made.map(drop),
    }
}

/// Locks a file against other programs that lock it too, until the returned file is dropped. Creates
/// the folder. The lock is a file beside it, named `NAME.lock`, because [`replace`](super::replace)
/// puts a new file in the place of the old.
///
/// # Errors
/// Any I/O error of the operating system, for example in a folder that cannot be written.
pub fn lock(path: &Path) -> io::Result<File> {
    let file = lock_file(path)?;
    file.lock()?;
    Ok(file)
}

/// The same without waiting; `None` if another program holds the lock. Where files cannot be locked at all, nothing is.
///
/// # Errors
/// Any I/O error of the operating system.
pub fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = lock_file(path)?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let beside = PathBuf::from(name);
    path.parent().map_or(Ok(()), private_folder)?;
    private_file(&beside)?;
    File::options().write(true).open(beside)
}

/// Removes all permissions of group and others.
#[cfg(unix)]
pub fn close_to_others(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;

    let Ok(about) = std::fs::metadata(path) else { return };
    let mode = about.permissions().mode();
    if mode & 0o077 != 0 {
        let closed = std::fs::Permissions::from_mode(mode & 0o7700);
        std::fs::set_permissions(path, closed).ok();
    }
}

/// On other systems the permissions of the folder apply.
#[cfg(not(unix))]
pub fn close_to_others(_: &Path) {}
