//! Files that outlive a crash: a reader finds the old one or the new one and never a part of
//! either, and a sealed one tells whether it is what was written. It knows nothing of what is in
//! them, and every room may use it.
//!
//! ```
//! use toolroute_vectors::durable::{self, Readers};
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("words.txt");
//! durable::replace(&path, Readers::Owner, b"first")?;
//! durable::replace(&path, Readers::AsBefore, b"second")?;
//! assert_eq!(std::fs::read(&path)?, b"second");
//! # Ok::<(), std::io::Error>(())
//! ```

mod private;
mod replaced;
mod sealed;

pub use private::{close_to_others, private_file, private_folder};
pub use replaced::{Readers, replace, replace_with};
pub use sealed::{Flaw, HASH, Sealed, hex, sha256_hex};

#[cfg(test)]
mod tests;
