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
        // SAFETY: model files are written under another name, moved into place and never changed.
        // The map is read once, completely, when the model is loaded. If another process truncates
        // the file during that time, this process ends with SIGBUS, but reads no invalid data.
        unsafe { memmap2::Mmap::map(&file).map(Self) }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
