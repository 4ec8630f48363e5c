//! Models that are compiled into the program, so that the binary works without model files.
//!
//! Their files are in `models/NAME/`, written by `toolroute model round` and
//! `scripts/train/distill_static.py`. The operating system loads only those pages of the binary
//! that are read.

#[cfg(feature = "built-in-model")]
use std::sync::LazyLock;

use super::{Error, Manifest};
use crate::durable::sha256_hex;

/// A manifest and the contents of its files by path.
#[derive(Debug)]
pub(super) struct BuiltIn {
    manifest: &'static str,
    files: &'static [(&'static str, &'static [u8])],
}

/// Aligned to a cache line, because the encoder multiplies with these bytes in place.
#[cfg(feature = "built-in-model")]
#[repr(C, align(64))]
struct Line<T: ?Sized>(T);

#[cfg(feature = "built-in-model")]
macro_rules! model {
    ($name:literal: $($file:literal),+) => {
        BuiltIn {
            manifest: include_str!(concat!("../../../../models/", $name, "/manifest.toml")),
            files: &[
                $((
                    $file,
                    {
                        static FILE: &Line<[u8]> =
                            &Line(*include_bytes!(concat!("../../../../models/", $name, "/", $file)));
                        &FILE.0
                    },
                )),+
            ],
        }
    };
}

/// The vocabulary of both models, which a test compares with each manifest. The build script packed it.
#[cfg(feature = "built-in-model")]
static VOCABULARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/vocabulary"));
    miniz_oxide::inflate::decompress_to_vec(packed)
        .expect("the build script packed it. This is a bug.")
});

#[cfg(feature = "built-in-model")]
static MODELS: [BuiltIn; 2] = [
    model!("toolroute-l6-v1": "config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "model.int8.safetensors"),
    model!("static": "config.json", "static.int8.safetensors"),
];

#[cfg(not(feature = "built-in-model"))]
static MODELS: [BuiltIn; 0] = [];

impl BuiltIn {
    pub fn all() -> &'static [Self] {
        &MODELS
    }

    pub fn find(name: &str) -> Option<&'static Self> {
        MODELS.iter().find(|model| model.manifest().name == name)
    }

    pub fn manifest(&self) -> Manifest {
        toml::from_str(self.manifest).expect("a test reads every manifest. This is a bug.")
    }

    pub fn file(&self, path: &str) -> Option<&'static [u8]> {
        #[cfg(feature = "built-in-model")]
        if path == "uncased-vocab.txt" {
            return Some(&VOCABULARY);
        }
        self.files.iter().find(|(known, _)| *known == path).map(|(_, bytes)| *bytes)
    }

    /// Compares every file with the manifest, to detect faulty builds and releases.
    pub fn verify(&self) -> Result<(), Error> {
        let manifest = self.manifest();
        manifest.files.iter().try_for_each(|entry| {
            let bytes = self.file(&entry.path).unwrap_or_default();
            manifest.verify_hash(entry, sha256_hex(bytes))
        })
    }
}

#[cfg(all(test, feature = "built-in-model"))]
mod tests {
    use super::*;
    use crate::embedding::ModelFiles;

    #[test]
    fn every_built_in_model_is_what_its_manifest_says_and_small_enough() {
        for model in BuiltIn::all() {
            let manifest = model.manifest();
            model.verify().unwrap();
            assert!(manifest.is_sound(&manifest.name) && !manifest.licence.is_empty());
            assert_eq!(
                manifest.files.len(),
                model.files.len() + 1,
                "a file is built in or not read"
            );
            let bytes: usize = model.files.iter().map(|(_, bytes)| bytes.len()).sum();
            let most = if manifest.name == "static" { 8_000_000 } else { 25_000_000 };
            assert!(bytes <= most, "{}: {bytes}", manifest.name);
        }
    }

    #[test]
    fn another_weight_is_another_model() {
        let files = ModelFiles::built_in("static").unwrap();
        let mut manifest = BuiltIn::find("static").unwrap().manifest();
        assert_eq!(manifest.fingerprint(), files.fingerprint());
        manifest.files.last_mut().unwrap().sha256.replace_range(..1, "x");
        assert_ne!(manifest.fingerprint(), files.fingerprint());
    }
}
