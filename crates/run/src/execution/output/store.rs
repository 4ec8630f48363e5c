//! A store of complete answers, from which the rest of a truncated answer is read.
//!
//! A handle is a hash of the answer, so the handle of another call cannot be guessed.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::super::error::Error;

const HANDLE_DIGITS: usize = 24;

/// A part of a stored answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The text of the page.
    pub text: String,
    /// The start of the part, in characters.
    pub offset: usize,
    /// The length of the whole answer in characters.
    pub of_chars: usize,
    /// The start of the next part, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// A store of complete answers: in memory, or in a folder that other processes can read.
#[derive(Debug)]
pub struct AnswerStore {
    folder: Option<PathBuf>,
    /// Handles and texts, the latest last.
    memory: Mutex<VecDeque<(String, String)>>,
    most_bytes: usize,
}

impl AnswerStore {
    /// Creates a store in memory for at most `most_bytes` bytes. The oldest answers are removed
    /// first.
    pub fn in_memory(most_bytes: usize) -> Self {
        Self { folder: None, memory: Mutex::default(), most_bytes }
    }

    /// # Errors
    /// The folder cannot be created.
    pub fn in_folder(folder: &Path, most_bytes: usize) -> Result<Self, Error> {
        let failed = |source| Error::Kept { path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed)?;
        Ok(Self { folder: Some(folder.to_owned()), memory: Mutex::default(), most_bytes })
    }

    /// Stores a text and returns its handle; `None` if it is too long.
    pub fn put(&self, text: &str) -> Option<String> {
        if text.len() > self.most_bytes {
            return None;
        }
        let handle =
            toolroute_vectors::durable::sha256_hex(text.as_bytes())[..HANDLE_DIGITS].to_owned();
        match &self.folder {
            Some(folder) => {
                let written = self.write(folder, &handle, text);
                if let Err(error) = written {
                    tracing::warn!(
                        "an answer is kept in memory, for this process alone: {}: {error}",
                        folder.display()
                    );
                    self.remember(&handle, text);
                }
            }
            None => self.remember(&handle, text),
        }
        Some(handle)
    }

    fn remember(&self, handle: &str, text: &str) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.retain(|(known, _)| known != handle);
        memory.push_back((handle.to_owned(), text.to_owned()));
        let mut bytes: usize = memory.iter().map(|(_, text)| text.len()).sum();
        while bytes > self.most_bytes {
            bytes -= memory.pop_front().map_or(bytes, |(_, text)| text.len());
        }
    }

    fn write(&self, folder: &Path, handle: &str, text: &str) -> std::io::Result<()> {
        // Readable by the owner only, and written atomically. Not `durable`: this is a cache, and a
        // call must not wait for the disk.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(folder.join(format!("{handle}.txt")))?;
        self.forget_oldest(folder)
    }

    fn forget_oldest(&self, folder: &Path) -> std::io::Result<()> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            files.push((about.modified()?, about.len(), entry.path()));
        }
        files.sort();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, size, path) in files {
            if bytes <= self.most_bytes as u64 {
                break;
            }
            // Another process may have removed it already.
            std::fs::remove_file(path).ok();
            bytes -= size;
        }
        Ok(())
    }

    /// Returns at most `most` characters of a stored answer, from character `offset` on, or `None`
    /// if no answer is stored under the handle.
    pub fn get(&self, handle: &str, offset: usize, most: usize) -> Option<Page> {
        // A handle is untrusted and becomes a file name.
        let is_handle = handle.len() == HANDLE_DIGITS;
        if !is_handle || !handle.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let file = self.folder.as_ref().map(|folder| folder.join(format!("{handle}.txt")));
        let text = match file.and_then(|file| std::fs::read_to_string(file).ok()) {
            Some(text) => text,
            None => {
                let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
                memory.iter().find(|(known, _)| known == handle)?.1.clone()
            }
        };
        let of_chars = text.chars().count();
        let part: String = text.chars().skip(offset).take(most).collect();
        let end = offset.saturating_add(part.chars().count());
        let next_offset = (end < of_chars && !part.is_empty()).then_some(end);
        Some(Page { text: part, offset, of_chars, next_offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_folder_takes_nothing_answers_are_kept_in_memory() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("outputs");
        let kept = AnswerStore::in_folder(&folder, 1_000).unwrap();
        let written = kept.put("first").unwrap();
        std::fs::rename(&folder, place.path().join("away")).unwrap();
        std::fs::write(&folder, "in the way").unwrap();
        let remembered = kept.put("second").unwrap();
        assert_eq!(kept.get(&remembered, 0, 100).unwrap().text, "second");
        assert_eq!(kept.get(&written, 0, 100), None);
        assert!(AnswerStore::in_folder(&folder.join("below"), 1_000).is_err());
    }
}
