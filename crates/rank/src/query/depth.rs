//! How much of the files is read, depending on the size of the project.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::SourceFile;

/// How much of a project is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    /// Paths only: languages by name, tests by name, services and modules by folder. No complexity.
    Shallow,
    /// The first 16 KiB of each file.
    Medium,
    /// Every file as a whole.
    Deep,
}

/// The largest project that is read completely, in files and bytes.
const DEEP: (usize, usize) = (200, 2_000_000);
/// The largest project of which the beginning of each file is read: at most 32 MB of 2,000 files.
const MEDIUM: (usize, usize) = (2_000, 40_000_000);
/// Bytes of a file that [`Depth::Medium`] reads.
const BEGINNING: usize = 16 * 1_024;

impl Depth {
    /// Returns the depth for a project: deep up to 200 files and 2 MB, medium up to 2,000 files and
    /// 40 MB, else shallow. `project_files` is the number of files in the project if `files` has
    /// only some of them.
    pub fn of(files: &[SourceFile], project_files: Option<usize>) -> Self {
        let bytes: usize = files.iter().map(|file| file.content.len()).sum();
        let count = files.len().max(project_files.unwrap_or(0));
        let within = |most: (usize, usize)| count <= most.0 && bytes <= most.1;
        match (within(DEEP), within(MEDIUM)) {
            (true, _) => Self::Deep,
            (_, true) => Self::Medium,
            _ => Self::Shallow,
        }
    }

    /// Returns the files, with as much of their content as this depth reads.
    pub(super) fn read(self, files: &[SourceFile]) -> Cow<'_, [SourceFile]> {
        let bytes = match self {
            Self::Deep => return Cow::Borrowed(files),
            Self::Medium => BEGINNING,
            Self::Shallow => 0,
        };
        let cut = |file: &SourceFile| SourceFile {
            path: file.path.clone(),
            content: head(&file.content, bytes).to_owned(),
        };
        Cow::Owned(files.iter().map(cut).collect())
    }
}

/// Returns at most the first `bytes` bytes of a text, ending at a character boundary.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_projects_are_read_less() {
        let files = |count: usize, bytes: usize| -> Vec<SourceFile> {
            vec![SourceFile::new("a", &"é".repeat(bytes / 2)); count]
        };
        assert_eq!(Depth::of(&[], None), Depth::Deep);
        assert_eq!(Depth::of(&files(200, 10_000), None), Depth::Deep);
        assert_eq!(Depth::of(&files(201, 2), None), Depth::Medium);
        assert_eq!(Depth::of(&files(1, 2), Some(2_000)), Depth::Medium);
        assert_eq!(Depth::of(&files(1, 2), Some(2_001)), Depth::Shallow);
        assert_eq!(Depth::of(&files(3, 1_000_000), None), Depth::Medium);
    }

    #[test]
    fn what_is_not_read_is_not_there() {
        let files = [SourceFile::new("a", &"é".repeat(20_000))];
        let read = |depth: Depth| depth.read(&files)[0].content.len();
        assert_eq!(
            [read(Depth::Shallow), read(Depth::Medium), read(Depth::Deep)],
            [0, 16_384, 40_000]
        );
    }
}
