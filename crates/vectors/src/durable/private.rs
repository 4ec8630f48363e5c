//! Files and folders that are for their user alone.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Makes a folder, and those above it that are missing, for their user alone. One that is there stays as
/// it is.
///
/// # Errors
/// What the system says.
pub fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes an empty file for its user alone, where there is none; one that is there is made so.
///
/// # Errors
/// What the system says. That the rights of a file that is there cannot be changed is no error: it may
/// be another user's.
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

/// Takes the rights of everybody but the owner away, where there are any.
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

/// Elsewhere it is the folder that says who may.
#[cfg(not(unix))]
pub fn close_to_others(_: &Path) {}
