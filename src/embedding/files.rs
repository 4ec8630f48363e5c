//! Reads a sentence-transformer's folder: which files it has and what they say.

use std::path::{Path, PathBuf};

use candle_transformers::models::bert::Config as BertConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{Error, Manifest, Pooling};

/// A model's folder whose files are all there; made by [`super::ModelStore::open`] (checked
/// against a manifest) or [`ModelFiles::from_dir`] (a folder of the user's own).
#[derive(Clone, Debug)]
pub struct ModelFiles {
    name: String,
    dir: PathBuf,
    fingerprint: String,
    /// The files that the fingerprint covers: no other is read.
    covered: Vec<String>,
    /// Whether rounded weights may be kept beside the others, and whether those that are there
    /// are the right ones.
    int8: Int8File,
}

/// What is known of [`INT8_FILE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int8File {
    /// The folder is the user's own, or no manifest knows the rounded weights.
    NotKept,
    /// There is none, or not the right one; it may be written.
    Missing,
    /// It has the hash that the manifest says.
    Whole,
}

/// Weights rounded to int8, made from [`WEIGHTS_FILE`].
pub(super) const INT8_FILE: &str = "model.int8.safetensors";
pub(super) const WEIGHTS_FILE: &str = "model.safetensors";

/// The files that influence the vectors; the first [`REQUIRED`] must be there.
pub(super) const FILES: [&str; 7] = [
    "config.json",
    "tokenizer.json",
    "modules.json",
    "1_Pooling/config.json",
    WEIGHTS_FILE,
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
];
pub(super) const REQUIRED: usize = 5;

/// What is read from the folder before the weights are.
#[derive(Clone, Debug)]
pub(super) struct ModelConfig {
    pub bert: BertConfig,
    pub pooling: Pooling,
    /// Longest input in tokens, special ones included.
    pub max_tokens: usize,
    pub query_prompt: String,
    pub document_prompt: String,
}

impl ModelFiles {
    /// A folder in the sentence-transformers layout, taken as it is.
    ///
    /// # Errors
    /// Where a file that the layout needs is missing or cannot be read.
    pub fn from_dir(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let name = dir.file_name().map_or("model".into(), |n| n.to_string_lossy().into_owned());
        let manifest = Self::describe(&name, &dir)?;
        Ok(Self::covered_by(&manifest, dir, Int8File::NotKept))
    }

    /// The manifest of a folder as it is now.
    ///
    /// # Errors
    /// As [`ModelFiles::from_dir`].
    pub(super) fn describe(name: &str, dir: &Path) -> Result<Manifest, Error> {
        for file in &FILES[..REQUIRED] {
            let path = dir.join(file);
            if !path.is_file() {
                let expected = "config.json, tokenizer.json, modules.json, \
                                1_Pooling/config.json and model.safetensors";
                return Err(Error::FileMissing { path, expected });
            }
        }
        let present: Vec<_> = FILES.into_iter().filter(|file| dir.join(file).is_file()).collect();
        Manifest::describe(name, dir, &present)
    }

    /// A folder that must be what `manifest` says.
    ///
    /// # Errors
    /// [`Error::Tampered`] names the first file that is missing or differs.
    pub fn verified(manifest: &Manifest, dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        manifest.verify(&dir)?;
        Ok(Self::just_verified(manifest, dir))
    }

    /// [`ModelFiles::verified`] for a caller that has compared the files itself.
    pub(super) fn just_verified(manifest: &Manifest, dir: PathBuf) -> Self {
        // Without a hash to know them by, rounded weights could not be trusted when they are read.
        let int8 = if manifest.int8.is_some() { Int8File::Missing } else { Int8File::NotKept };
        Self::covered_by(manifest, dir, int8)
    }

    /// [`ModelFiles::verified`] for a caller that runs the model in int8: where the rounded
    /// weights are there and what the manifest says, the others are neither hashed nor read.
    ///
    /// # Errors
    /// As `verified`.
    pub(super) fn verified_int8(manifest: &Manifest, dir: PathBuf) -> Result<Self, Error> {
        let path = dir.join(INT8_FILE);
        // One that cannot be read is as good as none: the model's own weights are there.
        let found = sha256_file(&path).ok();
        if found.is_none() || found != manifest.int8 {
            return Self::verified(manifest, dir);
        }
        manifest.verify_but(&dir, Some(WEIGHTS_FILE))?;
        Ok(Self::covered_by(manifest, dir, Int8File::Whole))
    }

    fn covered_by(manifest: &Manifest, dir: PathBuf, int8: Int8File) -> Self {
        Self {
            name: manifest.name.clone(),
            dir,
            fingerprint: manifest.fingerprint(),
            covered: manifest.files.iter().map(|file| file.path.clone()).collect(),
            int8,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// SHA-256, in hex, over every file that influences the vectors.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    pub(super) fn int8(&self) -> Int8File {
        self.int8
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    pub(super) fn read_config(&self) -> Result<ModelConfig, Error> {
        self.check_architecture()?;
        let bert: BertConfig = self.json("config.json")?;
        self.check_modules()?;
        let prompts = self.optional::<PromptConfig>(FILES[6])?.unwrap_or_default().prompts;
        let limit = self.optional::<SequenceConfig>(FILES[5])?.unwrap_or_default().max_seq_length;
        let max_tokens = limit.unwrap_or(bert.max_position_embeddings);
        Ok(ModelConfig {
            pooling: self.pooling()?,
            max_tokens: max_tokens.min(bert.max_position_embeddings),
            query_prompt: prompts.query.unwrap_or_default(),
            document_prompt: prompts.document.or(prompts.passage).unwrap_or_default(),
            bert,
        })
    }

    fn check_architecture(&self) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Architecture {
            model_type: Option<String>,
        }
        let found = self.json::<Architecture>("config.json")?.model_type;
        match found.as_deref() {
            Some("bert") | None => Ok(()),
            Some(found) => Err(self.unsupported("config.json", "model_type", found, "bert")),
        }
    }

    /// The pipeline must be transformer, pooling and, perhaps, normalisation: any further module
    /// (a dense layer, say) would be left out in silence and every vector would be wrong.
    fn check_modules(&self) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Module {
            #[serde(rename = "type")]
            kind: String,
        }
        let modules: Vec<Module> = self.json("modules.json")?;
        let kinds: Vec<_> =
            modules.iter().map(|m| m.kind.rsplit('.').next().unwrap_or("")).collect();
        match kinds.as_slice() {
            ["Transformer", "Pooling"] | ["Transformer", "Pooling", "Normalize"] => Ok(()),
            _ => Err(self.unsupported(
                "modules.json",
                "pipeline",
                &kinds.join(" → "),
                "Transformer → Pooling, Transformer → Pooling → Normalize",
            )),
        }
    }

    fn pooling(&self) -> Result<Pooling, Error> {
        const FILE: &str = FILES[3];
        let config: PoolingConfig = self.json(FILE)?;
        let supported = "pooling_mode_mean_tokens or pooling_mode_cls_token, alone";
        let others = config.max || config.sqrt_len || config.weighted || config.last;
        match (config.mean, config.cls, others) {
            (true, false, false) => Ok(Pooling::Mean),
            (false, true, false) => Ok(Pooling::Cls),
            _ => Err(self.unsupported(FILE, "pooling mode", &format!("{config:?}"), supported)),
        }
    }

    fn unsupported(
        &self,
        file: &str,
        what: &'static str,
        found: &str,
        supported: &'static str,
    ) -> Error {
        Error::Unsupported { path: self.path(file), what, found: found.to_owned(), supported }
    }

    fn optional<T: DeserializeOwned>(&self, file: &str) -> Result<Option<T>, Error> {
        let covered = self.covered.iter().any(|path| path == file);
        if covered { self.json(file).map(Some) } else { Ok(None) }
    }

    fn json<T: DeserializeOwned>(&self, file: &str) -> Result<T, Error> {
        let path = self.path(file);
        let text = std::fs::read(&path).map_err(Error::io("read", &path))?;
        serde_json::from_slice(&text).map_err(|error| Error::BadFile {
            path,
            expected: "JSON as sentence-transformers writes it",
            problem: error.to_string(),
        })
    }
}

#[derive(Default, Deserialize)]
struct SequenceConfig {
    max_seq_length: Option<usize>,
}

#[derive(Default, Deserialize)]
struct PromptConfig {
    #[serde(default)]
    prompts: Prompts,
}

#[derive(Default, Deserialize)]
struct Prompts {
    query: Option<String>,
    document: Option<String>,
    passage: Option<String>,
}

#[derive(Debug, Deserialize)]
struct PoolingConfig {
    #[serde(default, rename = "pooling_mode_mean_tokens")]
    mean: bool,
    #[serde(default, rename = "pooling_mode_cls_token")]
    cls: bool,
    #[serde(default, rename = "pooling_mode_max_tokens")]
    max: bool,
    #[serde(default, rename = "pooling_mode_mean_sqrt_len_tokens")]
    sqrt_len: bool,
    #[serde(default, rename = "pooling_mode_weightedmean_tokens")]
    weighted: bool,
    #[serde(default, rename = "pooling_mode_lasttoken")]
    last: bool,
}

/// The SHA-256 of a file, in hex.
pub(super) fn sha256_file(path: &Path) -> Result<String, Error> {
    let mut file = std::fs::File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = std::io::Read::read(&mut file, &mut buffer).map_err(Error::io("read", path))?;
        if read == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..read]);
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a String cannot fail. This is a bug.");
        out
    })
}
