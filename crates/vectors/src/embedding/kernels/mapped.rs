//! A file in memory without a copy of it.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;

/// The bytes of a file, read as they are touched.
pub struct Mapped(memmap2::Mmap);

impl Mapped {
    /// Maps a file for reading.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: model files are written under another name and moved into place, and never
        // changed after; the map is read once, to the end, when the model is loaded. A process
        // that cuts the file short in that moment ends this one by SIGBUS: nothing is read wrong.
        unsafe { memmap2::Mmap::map(&file).map(Self) }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}
