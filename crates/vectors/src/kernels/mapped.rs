//! Memory-mapped files.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a memory-mapped file.
pub struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Maps a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: models and snapshots are written under another name, moved into place and never
        // changed, so that a map keeps the file that was opened. Every pattern of bits is a valid
        // number; a process that truncates the file ends those that read it with SIGBUS.
        unsafe { memmap2::Mmap::map(&file).map(Self) }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
