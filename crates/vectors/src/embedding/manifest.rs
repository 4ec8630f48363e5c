//! Describes a model's files: name, revision, licence, and the SHA-256 of each file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::files::{layout, sha256_file};
use super::{Calibration, Error};
use crate::durable::sha256_hex;

/// Written into the folder of a model that no pinned manifest describes.
pub(super) const MANIFEST_FILE: &str = "manifest.toml";

/// A description of a model. The manifests in `models/` are compiled into the library.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// SPDX expression of the licence of the weights.
    #[serde(default)]
    pub licence: String,
    /// The repository on the model hub, `owner/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The commit on the hub to which the hashes belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    pub files: Vec<FileEntry>,
    /// SHA-256 of the int8 weights, which are computed locally and not downloaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int8: Option<String>,
    /// Parameters that tell when nothing fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// A file of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path relative to the model's folder, with `/` as separator.
    pub path: String,
    pub bytes: u64,
    /// Hash in hexadecimal.
    pub sha256: String,
}

/// Reads the `[calibration]` of the manifest in a folder, if there is one.
pub(super) fn stated_calibration(dir: &Path) -> Result<Option<Calibration>, Error> {
    #[derive(Deserialize)]
    struct Stated {
        calibration: Option<Calibration>,
    }
    let path = dir.join(MANIFEST_FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let bad = |problem: String| Error::BadFile {
        path,
        expected: "a manifest whose [calibration], if any, has threshold, per_doubling and width as scripts/calibrate.py prints them",
        problem,
    };
    let stated = match toml::from_str::<Stated>(&text) {
        Ok(stated) => stated.calibration,
        Err(error) => return Err(bad(error.to_string())),
    };
    match stated {
        Some(calibration) if !calibration.is_sound() => {
            Err(bad("its numbers must be finite, and width more than 0".to_owned()))
        }
        sound => Ok(sound),
    }
}

/// Models that are downloaded on request, with their expected files.
const PINNED: &[(&str, &str)] =
    &[("all-MiniLM-L6-v2.toml", include_str!("../../../../models/all-MiniLM-L6-v2.toml"))];

impl Manifest {
    /// The models that this build can download.
    pub fn pinned() -> Vec<Self> {
        let parse = |(_, text): &(&str, &str)| {
            toml::from_str(text).expect("models/*.toml are checked by a test. This is a bug.")
        };
        PINNED.iter().map(parse).collect()
    }

    /// Returns the pinned manifest of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::pinned().into_iter().find(|manifest| manifest.name == name)
    }

    /// Creates a manifest of the present files of `dir`, to pin an installed model that has no
    /// pinned manifest.
    pub(super) fn describe(name: &str, dir: &Path, files: &[&str]) -> Result<Self, Error> {
        let entry = |file: &&str| -> Result<FileEntry, Error> {
            let path = dir.join(file);
            let bytes = std::fs::metadata(&path).map_err(Error::io("read", &path))?.len();
            Ok(FileEntry { path: (*file).to_owned(), bytes, sha256: sha256_file(&path)? })
        };
        let files = files.iter().map(entry).collect::<Result<_, _>>()?;
        Ok(Self { name: name.to_owned(), files, ..Self::default() })
    }

    /// SHA-256, in hexadecimal, over the paths and hashes of all files. Equal models have equal
    /// fingerprints.
    pub fn fingerprint(&self) -> String {
        let mut files: Vec<_> = self.files.iter().map(|f| (&f.path, &f.sha256)).collect();
        files.sort();
        let listing = files.iter().map(|(path, hash)| format!("{hash}  {path}\n"));
        sha256_hex(listing.collect::<String>().as_bytes())
    }

    /// Whether a manifest read from disk is acceptable for the model `name`. An invalid one could
    /// refer to files outside the folder, or omit files that are read.
    pub(super) fn is_sound(&self, name: &str) -> bool {
        use std::path::Component::Normal;
        let inside =
            |path: &str| Path::new(path).components().all(|part| matches!(part, Normal(_)));
        let lists = |file: &str| self.files.iter().any(|entry| entry.path == file);
        self.name == name
            && self.files.iter().all(|file| inside(&file.path))
            && layout(lists).is_ok()
    }

    /// Verifies every file of `dir`.
    pub fn verify(&self, dir: &Path) -> Result<(), Error> {
        self.verify_but(dir, None)
    }

    /// The same as [`Manifest::verify`], except for one file, which will not be read.
    pub(super) fn verify_but(&self, dir: &Path, unread: Option<&str>) -> Result<(), Error> {
        let read = |entry: &&FileEntry| unread != Some(entry.path.as_str());
        let mut files = self.files.iter().filter(read);
        files.try_for_each(|entry| self.verify_file(entry, &dir.join(&entry.path)))
    }

    fn verify_file(&self, entry: &FileEntry, path: &Path) -> Result<(), Error> {
        let bytes = std::fs::metadata(path).ok().map(|about| about.len());
        if bytes != Some(entry.bytes) {
            let expected = format!("{} bytes", entry.bytes);
            let found = bytes.map_or("no such file".to_owned(), |bytes| format!("{bytes} bytes"));
            return Err(self.tampered(entry, "size", expected, found));
        }
        self.verify_hash(entry, sha256_file(path)?)
    }

    /// Compares a file's hash with its entry.
    pub(super) fn verify_hash(&self, entry: &FileEntry, found: String) -> Result<(), Error> {
        if found == entry.sha256 {
            return Ok(());
        }
        Err(self.tampered(entry, "SHA-256", entry.sha256.clone(), found))
    }

    fn tampered(
        &self,
        entry: &FileEntry,
        what: &'static str,
        expected: String,
        found: String,
    ) -> Error {
        Error::Tampered { name: self.name.clone(), file: entry.path.clone(), what, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pinned_manifest_parses_and_is_named_as_its_file() {
        for (manifest, (file, _)) in Manifest::pinned().iter().zip(PINNED) {
            assert_eq!(format!("{}.toml", manifest.name), *file);
            assert!(manifest.revision.is_some() && !manifest.licence.is_empty());
            assert!(manifest.is_sound(&manifest.name));
            assert!(manifest.files.iter().all(|file| file.sha256.len() == 64));
        }
    }

    #[test]
    fn a_folder_says_below_what_nothing_fits_or_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let stated = |text: &str| {
            std::fs::write(dir.path().join(MANIFEST_FILE), text).unwrap();
            stated_calibration(dir.path())
        };
        assert_eq!(stated_calibration(dir.path()).unwrap(), None);
        assert_eq!(stated("name = \"mine\"\nfiles = []\n").unwrap(), None);
        let text = "[calibration]\nthreshold = 0.2\nper_doubling = 0.03\nwidth = 0.08\n";
        let expected =
            Calibration { threshold: 0.2, per_doubling: 0.03, background: 0.0, width: 0.08 };
        assert_eq!(stated(text).unwrap(), Some(expected));
        for wrong in ["threshold = nan", "width = 0.0", "widht = 0.1", "width = \"x\""] {
            let name = wrong.split(' ').next().unwrap();
            let lines = text.lines().map(|line| if line.starts_with(name) { wrong } else { line });
            let mut lines: Vec<_> = lines.collect();
            if !lines.contains(&wrong) {
                lines.push(wrong);
            }
            let said = stated(&lines.join("\n")).unwrap_err().to_string();
            assert!(said.contains(MANIFEST_FILE) && said.contains("calibrat"), "{said}");
        }
    }
}
