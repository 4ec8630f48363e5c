//! Reads a sentence-transformer's folder: which files it has and what they say.

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

/// A model whose files are all there; made by [`super::ModelStore::open`] (checked against a
/// manifest), [`ModelFiles::built_in`] (part of the program) or [`ModelFiles::from_dir`] (a folder
/// of the user's own).
#[derive(Clone, Debug)]
pub struct ModelFiles {
    name: String,
    place: Place,
    fingerprint: String,
    /// The files that the fingerprint covers: no other is read.
    covered: Vec<String>,
    calibration: Option<Calibration>,
    /// Whether rounded weights may be kept beside the others, and whether those that are there
    /// are the right ones.
    int8: Int8File,
}

/// Where the files of a model lie.
#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Program(&'static BuiltIn),
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
    /// The model came rounded: there are no other weights.
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
/// The tokens of BERT's uncased WordPiece, one a line: half the size of the tokenizer.json that
/// says the same, and read in a tenth of the time. The name is ours, so that the `vocab.txt` of a
/// cased model is never taken for one.
pub(super) const VOCABULARY_FILE: &str = "uncased-vocab.txt";

/// The files of an encoder: of each row the first that is there.
const ENCODER: &[&[&str]] = &[
    &[CONFIG_FILE],
    &[VOCABULARY_FILE, TOKENIZER_FILE],
    &[MODULES_FILE],
    &[POOLING_FILE],
    &[WEIGHTS_FILE, INT8_FILE],
];
/// The files of a static model.
const STATIC: &[&[&str]] = &[&[CONFIG_FILE], &[VOCABULARY_FILE], &[STATIC_FILE]];
/// What an encoder may have besides.
pub(super) const OPTIONAL: [&str; 2] = [LENGTH_FILE, PROMPTS_FILE];

/// The files that influence the vectors, of those that `has` knows.
///
/// # Errors
/// The one that is missing.
pub(super) fn layout(has: impl Fn(&str) -> bool) -> Result<Vec<&'static str>, &'static str> {
    let (rows, optional) =
        if has(STATIC_FILE) { (STATIC, &[][..]) } else { (ENCODER, &OPTIONAL[..]) };
    // Where none is there, the last is what others call it.
    let chosen = |row: &&[&'static str]| {
        let usual = if row.contains(&WEIGHTS_FILE) { WEIGHTS_FILE } else { row[row.len() - 1] };
        row.iter().copied().find(|file| has(file)).ok_or(usual)
    };
    let mut files: Vec<_> = rows.iter().map(chosen).collect::<Result<_, _>>()?;
    files.extend(optional.iter().filter(|file| has(file)));
    Ok(files)
}

/// What is read from the folder before the weights are.
#[derive(Clone, Debug)]
pub(super) struct ModelConfig {
    pub bert: Architecture,
    pub pooling: Pooling,
    /// Longest input in tokens, special ones included.
    pub max_tokens: usize,
    pub query_prompt: String,
    pub document_prompt: String,
}

impl ModelFiles {
    /// A folder in the sentence-transformers layout, or one that `toolroute model round` wrote,
    /// taken as it is; of a manifest in it the `[calibration]` alone is read.
    ///
    /// # Errors
    /// Where a file that the layout needs is missing or cannot be read, or a calibration there is none.
    pub fn from_dir(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        let name = dir.file_name().map_or("model".into(), |n| n.to_string_lossy().into_owned());
        let manifest = Self::describe(&name, &dir)?;
        Ok(Self::covered_by(&manifest, Place::Folder(dir), Int8File::NotKept))
    }

    /// A model that is part of the program, by its name. Its files are not hashed: who can change
    /// them can change the program.
    pub fn built_in(name: &str) -> Option<Self> {
        let model = BuiltIn::find(name)?;
        Some(Self::covered_by(&model.manifest(), Place::Program(model), Int8File::NotKept))
    }

    /// The manifest of a folder as it is now.
    ///
    /// # Errors
    /// As [`ModelFiles::from_dir`].
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
        Self::covered_by(manifest, Place::Folder(dir), int8)
    }

    /// [`ModelFiles::verified`] for a caller that runs the model in int8: where the rounded
    /// weights are there and what the manifest says, the others are neither hashed nor read.
    ///
    /// # Errors
    /// As `verified`.
    pub(super) fn verified_int8(manifest: &Manifest, dir: PathBuf) -> Result<Self, Error> {
        let known = manifest.int8.as_ref();
        // One that cannot be read is as good as none: the model's own weights are there.
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

    /// How to tell from the model's scores that nothing fits, where its manifest says so.
    pub(super) fn calibration(&self) -> Option<Calibration> {
        self.calibration
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder; `None` for a model that is part of the program.
    pub fn dir(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(dir) => Some(dir),
            Place::Program(_) => None,
        }
    }

    /// SHA-256, in hex, over every file that influences the vectors.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether it is a table of token vectors and no encoder.
    pub fn is_static(&self) -> bool {
        self.covers(STATIC_FILE)
    }

    pub(super) fn int8(&self) -> Int8File {
        self.int8
    }

    /// Whether the file is one of those that the fingerprint covers.
    pub(super) fn covers(&self, file: &str) -> bool {
        self.covered.iter().any(|path| path == file)
    }

    /// Where a file lies, or what to call it where it lies in the program.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        match &self.place {
            Place::Folder(dir) => dir.join(file),
            Place::Program(_) => Path::new("built in").join(&self.name).join(file),
        }
    }

    /// A file's bytes, where they are part of the program: no copy of them is made.
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

    /// The pipeline must be transformer, pooling and, perhaps, normalisation: any further module
    /// (a dense layer, say) would be left out in silence and every vector would be wrong.
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
