//! Crash-safe files. A reader finds either the old or the new version of a file and never a mixture
//! of both, and a sealed file detects damage. This module knows nothing about the contents of the
//! files, and every crate may use it.
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

mod identity;
mod private;
mod replaced;
mod sealed;
mod stamp;

pub use identity::ModelIdentity;
pub use private::{close_to_others, lock, private_file, private_folder, try_lock};
pub use replaced::{Readers, create_with, replace, replace_with};
pub use sealed::{Flaw, HASH, Sealed, hex, sha256_hex};
pub use stamp::{now_ms, now_s, unique_id};

#[cfg(test)]
mod tests;
