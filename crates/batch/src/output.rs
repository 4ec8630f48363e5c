//! The output of a batch: a file that appears only when it is complete, or a stream.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::Error;

/// The limit for links that are followed, to detect cycles; the same as Linux has.
const MAX_LINKS: usize = 40;

/// A place that can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A regular file with its links resolved. It may not exist yet.
    File(PathBuf),
    /// A device or a pipe. It is never replaced, and a batch that writes to it cannot be resumed.
    Special(PathBuf),
}

impl Output {
    /// Checks the place before any work is done. None of `inputs` may be overwritten.
    pub fn at(path: &Path, inputs: &[&Path]) -> Result<Self, Error> {
        let target = target(path)?;
        let output = match std::fs::metadata(&target) {
            Ok(found) if found.is_dir() => {
                return Err(Error::OutputIsFolder { path: path.to_owned() });
            }
            Ok(found) if !found.is_file() => return Ok(Self::Special(target)),
            Ok(_) => Self::File(target),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                if !folder.try_exists().map_err(Error::io("write into", folder))? {
                    return Err(Error::NoFolder { path: folder.to_owned() });
                }
                Self::File(target)
            }
            Err(source) => return Err(Error::io("write", path)(source)),
        };
        let Self::File(target) = &output else { return Ok(output) };
        let is_input = |path: &Path, input: &Path| {
            same_file(path, input)
                || std::path::absolute(path).ok() == std::path::absolute(input).ok()
        };
        let replaces =
            |input: &&&Path| is_input(target, input) || is_input(&partial_path(target), input);
        match inputs.iter().find(replaces) {
            Some(input) => {
                let (input, output) = (input.to_path_buf(), path.to_owned());
                Err(Error::SameFile { input, output })
            }
            None => Ok(output),
        }
    }

    /// Checks, before any work is done, that no file would be replaced. If there is a journal
    /// beside the output, the check is postponed, because the job's identity depends on the
    /// catalog.
    pub fn check_new(&self) -> Result<(), Error> {
        match self {
            Self::File(path) if path.exists() && !partial_path(path).exists() => {
                Err(Error::Exists { path: path.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns the path of the unfinished output.
pub(crate) fn partial_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".partial");
    path.into()
}

/// Follows links. The last one may lead to a file that does not exist yet.
fn target(path: &Path) -> Result<PathBuf, Error> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        // A link in /proc may stand for a pipe, which has no path to follow.
        let special = std::fs::metadata(&path).is_ok_and(|found| !found.is_file());
        let is_link = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if special || !is_link {
            return Ok(path);
        }
        let next = std::fs::read_link(&path).map_err(Error::io("follow", &path))?;
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    let source = std::io::Error::other("a ring of links");
    Err(Error::Io { action: "follow", path, source })
}

/// Whether two names denote the same file, through links, hard links or different spellings of a
/// path.
fn same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::metadata(a), std::fs::metadata(b)) {
        (Ok(first), Ok(second)) => same_metadata(&first, &second)
            .unwrap_or_else(|| a.canonicalize().ok() == b.canonicalize().ok()),
        _ => false,
    }
}

/// Whether two files are the same; `None` if the system has no file numbers.
#[cfg(unix)]
pub(crate) fn same_metadata(a: &Metadata, b: &Metadata) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    Some((a.dev(), a.ino()) == (b.dev(), b.ino()))
}

#[cfg(not(unix))]
pub(crate) fn same_metadata(_: &Metadata, _: &Metadata) -> Option<bool> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn the_input_is_never_the_output_by_whatever_name() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let input = at("q.jsonl");
        fs::write(&input, "rows").unwrap();
        symlink("q.jsonl", at("soft")).unwrap();
        fs::hard_link(&input, at("hard")).unwrap();
        fs::hard_link(&input, at("r.partial")).unwrap();
        for name in ["q.jsonl", "soft", "hard", "r"] {
            let refused = Output::at(&at(name), &[&input]);
            assert!(matches!(refused, Err(Error::SameFile { .. })), "{name}: {refused:?}");
        }
        let refused = Output::at(&at("new"), &[&input, &at("new")]);
        assert!(matches!(refused, Err(Error::SameFile { .. })), "{refused:?}");
        let inputs: [&Path; 2] = [&input, dir.path()];
        assert_eq!(Output::at(&at("r2"), &inputs).unwrap(), Output::File(at("r2")));
    }

    #[test]
    fn links_lead_to_their_target_and_what_is_no_file_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        symlink("later", at("soft")).unwrap();
        assert_eq!(Output::at(&at("soft"), &[]).unwrap(), Output::File(at("later")));
        symlink("ring", at("ring")).unwrap();
        assert!(Output::at(&at("ring"), &[]).is_err());
        let folder = Output::at(dir.path(), &[]);
        assert!(matches!(folder, Err(Error::OutputIsFolder { .. })), "{folder:?}");
        assert!(matches!(Output::at(&at("no/r"), &[]), Err(Error::NoFolder { .. })));
        let null = Path::new("/dev/null");
        assert_eq!(Output::at(null, &[]).unwrap(), Output::Special(null.to_owned()));
    }
}
