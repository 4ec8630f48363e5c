//! The text of a file, with the line numbers of its parts.

use std::cell::OnceCell;
use std::path::Path;

use crate::Problem;
use crate::file::TextFile;

/// The text that tools are read from. JSON values borrow from it, so their lines can be found.
pub(super) struct Source<'a> {
    file: &'a Path,
    text: &'a str,
    invalid_lines: &'a [usize],
    line_starts: OnceCell<Vec<usize>>,
}

impl<'a> Source<'a> {
    /// Creates a source from the text of a file. A byte-order mark, which Windows editors write, is
    /// removed.
    pub fn new(file: &'a Path, text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { file, text, invalid_lines: &[], line_starts: OnceCell::new() }
    }

    /// Creates a source from a file that [`crate::file::read`] read.
    pub fn of(path: &'a Path, file: &'a TextFile) -> Self {
        Self { invalid_lines: &file.invalid_lines, ..Self::new(path, &file.text) }
    }

    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the numbers of the lines that contain bytes that are not text, counted from 1 and
    /// ascending.
    pub fn invalid_lines(&self) -> &'a [usize] {
        self.invalid_lines
    }

    /// Returns the file's name without its extension, the best guess at an MCP server's name.
    pub fn stem(&self) -> Option<&str> {
        self.file.file_stem()?.to_str()
    }

    /// Returns the line, counted from 1, at which `part` starts. Returns `None` if `part` is not a
    /// slice of the text, as with TOML and YAML, which are first converted to JSON.
    pub fn line_of(&self, part: &str) -> Option<usize> {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset < self.text.len()).then(|| self.line_at(offset))
    }

    /// Returns the line, counted from 1, of a byte of the text.
    pub fn line_at(&self, offset: usize) -> usize {
        let starts = self.line_starts.get_or_init(|| {
            self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect()
        });
        starts.partition_point(|&newline| newline < offset) + 1
    }

    /// Adds the file and, if it is known, the line to a problem.
    pub fn locate(&self, mut problem: Problem, line: Option<usize>) -> Problem {
        problem.file.get_or_insert_with(|| self.file.to_owned());
        problem.line = problem.line.or(line);
        problem
    }
}
