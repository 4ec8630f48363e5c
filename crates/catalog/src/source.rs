//! The text of a file, with the line numbers of its parts.

use std::cell::OnceCell;
use std::path::Path;

use crate::Problem;
use crate::file::TextFile;

/// Maximum number of characters of a line in a message.
const EXCERPT: usize = 60;

/// The text that tools are read from. JSON values borrow from it, so their lines can be found.
pub(super) struct Source<'a> {
    file: &'a Path,
    pub text: &'a str,
    pub invalid_lines: &'a [usize],
    newlines: OnceCell<Vec<usize>>,
}

impl<'a> Source<'a> {
    /// Creates a source from the text of a file. A byte-order mark, which Windows editors write, is
    /// removed.
    pub fn new(file: &'a Path, text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { file, text, invalid_lines: &[], newlines: OnceCell::new() }
    }

    /// Creates a source from a file that [`crate::file::read`] read.
    pub fn of(path: &'a Path, file: &'a TextFile) -> Self {
        Self { invalid_lines: &file.invalid_lines, ..Self::new(path, &file.text) }
    }

    /// Returns the file's name without its extension, the best guess at an MCP server's name.
    pub fn stem(&self) -> Option<&str> {
        self.file.file_stem()?.to_str()
    }

    /// Whether the file's name ends in one of these extensions.
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let own = self.file.extension().and_then(|own| own.to_str()).unwrap_or_default();
        extensions.iter().any(|extension| own.eq_ignore_ascii_case(extension))
    }

    /// Returns the line, counted from 1, at which `part` starts. Returns `None` if `part` is not a
    /// slice of the text, as with TOML and YAML, which are first converted to JSON.
    pub fn line_of(&self, part: &str) -> Option<usize> {
        let offset = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        (offset < self.text.len()).then(|| self.line_at(offset))
    }

    /// Returns the line, counted from 1, of a byte of the text.
    pub fn line_at(&self, offset: usize) -> usize {
        self.newlines().partition_point(|&newline| newline < offset) + 1
    }

    /// Returns the bytes at which lines end.
    fn newlines(&self) -> &[usize] {
        self.newlines.get_or_init(|| {
            self.text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect()
        })
    }

    /// Returns the column, counted from 1 in characters, of a byte of the text.
    pub fn column_at(&self, offset: usize) -> usize {
        let before = self.text.get(..offset).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default().chars().count() + 1
    }

    /// Returns what stands around a column of a line, for messages.
    pub fn excerpt(&self, line: usize, column: usize) -> String {
        let ends = self.newlines();
        let end = |line: usize| line.checked_sub(1).and_then(|before| ends.get(before)).copied();
        let start = end(line.saturating_sub(1)).map_or(0, |newline| newline + 1);
        let text = self.text.get(start..end(line).unwrap_or(self.text.len())).unwrap_or_default();
        let around = text.chars().skip(column.saturating_sub(EXCERPT / 2)).take(EXCERPT);
        around.collect::<String>().trim().to_owned()
    }

    /// Adds the file and, if it is known, the line to a problem.
    pub fn locate(&self, mut problem: Problem, line: Option<usize>) -> Problem {
        problem.file.get_or_insert_with(|| self.file.to_owned());
        problem.line = problem.line.or(line);
        problem
    }
}
