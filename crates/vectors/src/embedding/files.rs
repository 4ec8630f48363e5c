//! Reads a sentence-transformers folder: which files it has and what they describe.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::architecture::Architecture;
use super::built_in::BuiltIn;
use super::manifest::stated_calibration;
use super::{Calibration, Error, Manifest, Pooling};
use crate::durable::hex;

/// A complete set of model files. Created by [`super::ModelStore::open`] (verified against a
/// manifest), [`ModelFiles::built_in`] (part of the program) or [`ModelFiles::from_dir`] (a folder
/// of the user).
#[derive(Clone, Debug)]
pub struct ModelFiles {
    name: String,
    place: Place,
    fingerprint: String,
    /// The files that the fingerprint covers. No other file is read.
    covered: Vec<String>,
    /// From the model's manifest.
    pub(super) calibration: Option<Calibration>,
    /// Whether int8 weights may be saved in the folder, and whether existing ones are valid.
    pub(super) int8: Int8File,
}

#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Program(&'static BuiltIn),
}

/// State of [`INT8_FILE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int8File {
    /// int8 weights are not saved: the folder belongs to the user, or the manifest has no hash for
    /// them.
    NotKept,
    /// The file is missing or invalid, and may be written.
    Missing,
    /// The file has the hash that the manifest states.
    Whole,
    /// The model was distributed in int8 only.
    Only,
}

/// Weights rounded to int8, made from [`WEIGHTS_FILE`].
pub(super) const INT8_FILE: &str = "model.int8.safetensors";
pub(super) const WEIGHTS_FILE: &str = "model.safetensors";
/// The vectors of a static model's tokens.
pub(super) const STATIC_FILE: &str = "static.int8.safetensors";
pub(super) const CONFIG_FILE: &str = "config.json";
pub(super) const MODULES_FILE: &str = "modules.json";
pub(super) const POOLING_FILE: &str = "1_Pooling/config.json";
pub(super) const LENGTH_FILE: &str = "sentence_bert_config.json";
pub(super) const PROMPTS_FILE: &str = "config_sentence_transformers.json";
pub(super) const TOKENIZER_FILE: &str = "tokenizer.json";
/// The tokens of BERT's uncased WordPiece, one per line: half the size of the equivalent
/// tokenizer.json, and read in a tenth of the time. The name is our own, so that the `vocab.txt` of
/// a cased model is not used by mistake.
pub(super) const VOCABULARY_FILE: &str = "uncased-vocab.txt";

/// The required files of an encoder. In each row, the first file that exists is used.
const ENCODER: &[&[&str]] = &[
    &[CONFIG_FILE],
    &[VOCABULARY_FILE, TOKENIZER_FILE],
    &[MODULES_FILE],
    &[POOLING_FILE],
    &[WEIGHTS_FILE, INT8_FILE],
];
/// The required files of a static model.
const STATIC: &[&[&str]] = &[&[CONFIG_FILE], &[VOCABULARY_FILE], &[STATIC_FILE]];
pub(super) const OPTIONAL: [&str; 2] = [LENGTH_FILE, PROMPTS_FILE];

/// Returns the files that influence the vectors, or the name of a missing one; `has` tells whether
/// a file exists.
pub(super) fn layout(has: impl Fn(&str) -> bool) -> Result<Vec<&'static str>, &'static str> {
    let (rows, optional) =
        if has(STATIC_FILE) { (STATIC, &[][..]) } else { (ENCODER, &OPTIONAL[..]) };
    // If none exists, the error names the file under its usual name.
    let chosen = |row: &&[&'static str]| {
        let usual = if row.contains(&WEIGHTS_FILE) { WEIGHTS_FILE } else { row[row.len() - 1] };
        row.iter().copied().find(|file| has(file)).ok_or(usual)
    };
    let mut files: Vec<_> = rows.iter().map(chosen).collect::<Result<_, _>>()?;
    files.extend(optional.iter().filter(|file| has(file)));
    Ok(files)
}

/// The settings that are read before the weights.
#[derive(Clone, Debug)]
pub(super) struct ModelConfig {
    pub bert: Architecture,
    pub pooling: Pooling,
    /// Maximum input length in tokens, including special tokens.
    pub max_tokens: usize,
    pub query_prompt: String,
    pub document_prompt: String,
}

impl ModelFiles {
    /// Reads a folder in the sentence-transformers layout, or one that `toolroute model round`
    /// wrote. The files are not verified. If the folder has a manifest, only its `[calibration]` is
    /// read.
    ///
    /// # Errors
    /// If a required file is missing or cannot be read, or if the calibration is invalid.
    pub fn from_dir(dir: impl AsRef<Path>) -> Result<Self, Error> {
        let dir = dir.as_ref().to_owned();
        let name = dir.file_name().map_or("model".into(), |n| n.to_string_lossy().into_owned());
        let manifest = Self::describe(&name, &dir)?;
        Ok(Self::covered_by(&manifest, Place::Folder(dir), Int8File::NotKept))
    }

    /// Returns the built-in model of that name, or `None`. The files are not hashed: whoever could
    /// change them could change the program.
    pub fn built_in(name: &str) -> Option<Self> {
        let model = BuiltIn::find(name)?;
        Some(Self::covered_by(&model.manifest(), Place::Program(model), Int8File::NotKept))
    }

    /// Creates a manifest of the present files of a folder.
    pub(super) fn describe(name: &str, dir: &Path) -> Result<Manifest, Error> {
        match layout(|file| dir.join(file).is_file()) {
            Ok(present) => {
                let manifest = Manifest::describe(name, dir, &present)?;
                Ok(Manifest { calibration: stated_calibration(dir)?, ..manifest })
            }
            Err(missing) => {
                let expected = "config.json, tokenizer.json, modules.json, \
                                1_Pooling/config.json and model.safetensors";
                Err(Error::FileMissing { path: dir.join(missing), expected })
            }
        }
    }

    /// Opens a folder whose files must match `manifest`.
    ///
    /// # Errors
    /// [`Error::Tampered`] for the first file that is missing or differs.
    #[doc(hidden)] // For our own crates.
    pub fn verified(manifest: &Manifest, dir: impl AsRef<Path>) -> Result<Self, Error> {
        manifest.verify(dir.as_ref())?;
        Ok(Self::just_verified(manifest, dir.as_ref().to_owned()))
    }

    /// The same as [`ModelFiles::verified`], for a caller that has verified the files itself.
    pub(super) fn just_verified(manifest: &Manifest, dir: PathBuf) -> Self {
        // Without a hash, int8 weights could not be verified when they are read again.
        let int8 = if manifest.int8.is_some() { Int8File::Missing } else { Int8File::NotKept };
        Self::covered_by(manifest, Place::Folder(dir), int8)
    }

    /// The same as [`ModelFiles::verified`], for a model that will run in int8. If the int8 weights
    /// exist and match the manifest, the f32 weights are neither hashed nor read.
    pub(super) fn verified_int8(manifest: &Manifest, dir: PathBuf) -> Result<Self, Error> {
        let known = manifest.int8.as_ref();
        // An unreadable int8 file is treated as missing, because it can be made again from the f32
        // weights.
        let found = known.and_then(|_| sha256_file(&dir.join(INT8_FILE)).ok());
        if found.is_none() || found.as_ref() != known {
            return Self::verified(manifest, dir);
        }
        manifest.verify_but(&dir, Some(WEIGHTS_FILE))?;
        Ok(Self::covered_by(manifest, Place::Folder(dir), Int8File::Whole))
    }

    fn covered_by(manifest: &Manifest, place: Place, int8: Int8File) -> Self {
        let covered: Vec<String> = manifest.files.iter().map(|file| file.path.clone()).collect();
        let rounded = covered.iter().any(|file| file == INT8_FILE);
        Self {
            name: manifest.name.clone(),
            place,
            fingerprint: manifest.fingerprint(),
            covered,
            calibration: manifest.calibration,
            int8: if rounded { Int8File::Only } else { int8 },
        }
    }

    /// The model's name; for a folder of the user, the name of the folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The model's folder; `None` for a built-in model.
    pub fn dir(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(dir) => Some(dir),
            Place::Program(_) => None,
        }
    }

    /// SHA-256, in hexadecimal, over every file that influences the vectors.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether the model is a static table of token vectors instead of an encoder.
    pub fn is_static(&self) -> bool {
        self.covers(STATIC_FILE)
    }

    /// Whether the fingerprint covers `file`.
    pub(super) fn covers(&self, file: &str) -> bool {
        self.covered.iter().any(|path| path == file)
    }

    /// The path of a file; for a built-in model, a name for error messages.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        match &self.place {
            Place::Folder(dir) => dir.join(file),
            Place::Program(_) => Path::new("built in").join(&self.name).join(file),
        }
    }

    /// The bytes of a built-in file, without copying them; `None` for a model on disk.
    pub(super) fn in_program(&self, file: &str) -> Option<&'static [u8]> {
        match &self.place {
            Place::Folder(_) => None,
            Place::Program(model) => model.file(file),
        }
    }

    pub(super) fn read(&self, file: &str) -> Result<Cow<'static, [u8]>, Error> {
        match self.in_program(file) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => {
                let path = self.path(file);
                std::fs::read(&path).map(Cow::Owned).map_err(Error::io("read", path))
            }
        }
    }

    pub(super) fn read_config(&self) -> Result<ModelConfig, Error> {
        self.check_architecture()?;
        let bert: Architecture = self.json(CONFIG_FILE)?;
        self.check_modules()?;
        let prompts = self.optional::<PromptConfig>(PROMPTS_FILE)?.unwrap_or_default().prompts;
        let limit = self.optional::<SequenceConfig>(LENGTH_FILE)?.unwrap_or_default();
        let limit = limit.max_seq_length;
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
        struct Kind {
            model_type: Option<String>,
        }
        let found = self.json::<Kind>(CONFIG_FILE)?.model_type;
        match found.as_deref() {
            Some("bert") | None => Ok(()),
            Some(found) => Err(self.unsupported(CONFIG_FILE, "model_type", found, "bert")),
        }
    }

    /// Requires the modules transformer, pooling and optionally normalisation. Any other module,
    /// such as a dense layer, would be ignored and every vector would be wrong.
    fn check_modules(&self) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Module {
            #[serde(rename = "type")]
            kind: String,
        }
        let modules: Vec<Module> = self.json(MODULES_FILE)?;
        let kinds: Vec<_> =
            modules.iter().map(|m| m.kind.rsplit('.').next().unwrap_or("")).collect();
        match kinds.as_slice() {
            ["Transformer", "Pooling"] | ["Transformer", "Pooling", "Normalize"] => Ok(()),
            _ => Err(self.unsupported(
                MODULES_FILE,
                "pipeline",
                &kinds.join(" → "),
                "Transformer → Pooling, Transformer → Pooling → Normalize",
            )),
        }
    }

    fn pooling(&self) -> Result<Pooling, Error> {
        const FILE: &str = POOLING_FILE;
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
        if self.covers(file) { self.json(file).map(Some) } else { Ok(None) }
    }

    pub(super) fn json<T: DeserializeOwned>(&self, file: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.read(file)?).map_err(|error| Error::BadFile {
            path: self.path(file),
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

/// Returns the SHA-256 of a file, in hexadecimal.
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
