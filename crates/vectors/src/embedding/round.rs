//! Converts a trained checkpoint into a model folder for distribution: int8 weights, settings and
//! tokenizer.

use std::path::Path;

use serde_json::{Value, json};

use super::bert::{self, BertEmbedder};
use super::encoder::{self, Encoder};
use super::files::{
    CONFIG_FILE, INT8_FILE, LENGTH_FILE, MODULES_FILE, ModelFiles, OPTIONAL, POOLING_FILE,
    TOKENIZER_FILE, VOCABULARY_FILE, WEIGHTS_FILE, sha256_file,
};
use super::manifest::MANIFEST_FILE;
use super::store::write_manifest;
use super::{Embedder, EncoderOptions, Error, Manifest, Pooling, Precision, Role};
use crate::durable::{self, Readers};

/// Metadata of a rounded model, including settings that its checkpoint may lack.
#[derive(Clone, Debug, Default)]
pub struct Rounding {
    pub name: String,
    pub description: String,
    /// SPDX expression of the weights' licence.
    pub licence: String,
    /// Overrides the checkpoint's pooling. Required if the checkpoint states none, as is the case
    /// for plain `transformers` checkpoints.
    pub pooling: Option<Pooling>,
    /// Maximum input length in tokens. Overrides the checkpoint's limit.
    pub max_tokens: Option<usize>,
}

/// Rounds the encoder in folder `from` to int8 and writes weights, settings, tokenizer and a
/// manifest with hashes to folder `to`. `from` is in the sentence-transformers layout, or contains
/// config.json, tokenizer.json and model.safetensors of a `transformers` checkpoint.
pub fn round(from: &Path, to: &Path, about: &Rounding) -> Result<Manifest, Error> {
    let expected = "config.json, tokenizer.json and model.safetensors of a BERT model";
    for file in [CONFIG_FILE, TOKENIZER_FILE, WEIGHTS_FILE] {
        let path = from.join(file);
        if !path.is_file() {
            return Err(Error::FileMissing { path, expected });
        }
    }
    if to.join(WEIGHTS_FILE).exists() {
        let expected = "a folder of its own for the rounded model";
        let problem = "the folder holds a model with its own weights".to_owned();
        return Err(Error::BadFile { path: to.join(WEIGHTS_FILE), expected, problem });
    }
    let pooling_dir = to.join("1_Pooling");
    std::fs::create_dir_all(&pooling_dir).map_err(Error::io("create", pooling_dir))?;
    let mut files = settings(from, to, about)?;
    files.push(tokenizer(from, to)?);
    files.push(weights(from, to, &files)?);
    let mut manifest = Manifest::describe(&about.name, to, &files)?;
    manifest.description.clone_from(&about.description);
    manifest.licence.clone_from(&about.licence);
    write_manifest(&manifest, &to.join(MANIFEST_FILE))?;
    // Loads the result, so that an unusable folder is detected before it is distributed.
    let options = EncoderOptions { precision: Precision::Int8, ..EncoderOptions::default() };
    BertEmbedder::load_with(&ModelFiles::verified(&manifest, to)?, options)?
        .embed(&["What is the weather in Haifa?"], Role::Query)?;
    Ok(manifest)
}

/// Writes config.json and the other settings of sentence-transformers.
fn settings(from: &Path, to: &Path, about: &Rounding) -> Result<Vec<&'static str>, Error> {
    let mut files = vec![CONFIG_FILE, MODULES_FILE, POOLING_FILE];
    copy(from, to, CONFIG_FILE)?;
    if let Some(pooling) = about.pooling {
        let modules = ["Transformer", "Pooling", "Normalize"];
        let modules =
            modules.map(|kind| json!({"type": format!("sentence_transformers.models.{kind}")}));
        put(to, MODULES_FILE, &json!(modules))?;
        let (mean, cls) = (pooling == Pooling::Mean, pooling == Pooling::Cls);
        let pooling = json!({"pooling_mode_mean_tokens": mean, "pooling_mode_cls_token": cls});
        put(to, POOLING_FILE, &pooling)?;
    } else if from.join(MODULES_FILE).is_file() && from.join(POOLING_FILE).is_file() {
        copy(from, to, MODULES_FILE)?;
        copy(from, to, POOLING_FILE)?;
    } else {
        return Err(Error::NoPooling { path: from.to_owned() });
    }
    for file in OPTIONAL {
        match about.max_tokens.filter(|_| file == LENGTH_FILE) {
            Some(tokens) => put(to, file, &json!({"max_seq_length": tokens}))?,
            None if from.join(file).is_file() => copy(from, to, file)?,
            None => continue,
        }
        files.push(file);
    }
    Ok(files)
}

/// Writes only the list of tokens if the rest of tokenizer.json is the same as for BERT's uncased
/// models.
fn tokenizer(from: &Path, to: &Path) -> Result<&'static str, Error> {
    let path = from.join(TOKENIZER_FILE);
    let text = std::fs::read(&path).map_err(Error::io("read", &path))?;
    let tokenizer: Value = serde_json::from_slice(&text).map_err(|error| Error::BadFile {
        path,
        expected: "a tokenizer as the `tokenizers` library writes it",
        problem: error.to_string(),
    })?;
    match uncased(&tokenizer) {
        Some(tokens) => {
            write(to, VOCABULARY_FILE, (tokens.join("\n") + "\n").as_bytes())?;
            Ok(VOCABULARY_FILE)
        }
        None => copy(from, to, TOKENIZER_FILE).map(|()| TOKENIZER_FILE),
    }
}

/// Returns the tokens by id if our WordPiece is equivalent to this tokenizer.
fn uncased(tokenizer: &Value) -> Option<Vec<&str>> {
    let normalizer = json!({"type": "BertNormalizer", "clean_text": true,
        "handle_chinese_chars": true, "strip_accents": null, "lowercase": true});
    let model = &tokenizer["model"];
    let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let plain = |token: &Value| {
        let no = |field: &str| token[field] == json!(false);
        special.iter().any(|name| token["content"] == *name)
            && ["single_word", "lstrip", "rstrip", "normalized"].into_iter().all(no)
    };
    let added = tokenizer["added_tokens"].as_array()?;
    let first_to_last = &tokenizer["post_processor"]["single"];
    let single = ["[CLS]", "A", "[SEP]"];
    let named = |at: usize, kind: &str| first_to_last[at][kind]["id"] == single[at];
    let around = first_to_last.as_array().is_some_and(|parts| parts.len() == 3)
        && named(0, "SpecialToken")
        && named(1, "Sequence")
        && named(2, "SpecialToken");
    let same = tokenizer["normalizer"] == normalizer
        && tokenizer["pre_tokenizer"]["type"] == "BertPreTokenizer"
        && model["type"] == "WordPiece"
        && model["unk_token"] == "[UNK]"
        && model["continuing_subword_prefix"] == "##"
        && model["max_input_chars_per_word"] == 100
        && added.len() == special.len()
        && added.iter().all(plain)
        && around;
    let vocabulary = model["vocab"].as_object().filter(|_| same)?;
    let mut tokens = vec![""; vocabulary.len()];
    for (token, number) in vocabulary {
        *tokens.get_mut(usize::try_from(number.as_u64()?).ok()?)? = token;
    }
    // White space at the start or end of a token would be lost in a file with one token per line.
    tokens.iter().all(|token| !token.is_empty() && token.trim() == *token).then_some(tokens)
}

/// Rounds the weights. `files` are the files written so far; they identify the model.
fn weights(from: &Path, to: &Path, files: &[&'static str]) -> Result<&'static str, Error> {
    let source = from.join(WEIGHTS_FILE);
    let mut manifest = Manifest::describe("checkpoint", to, files)?;
    manifest.files.extend(Manifest::describe("checkpoint", from, &[WEIGHTS_FILE])?.files);
    let config = ModelFiles::just_verified(&manifest, to.to_owned()).read_config()?;
    if !Encoder::covers(&config) {
        let supported = "GELU, and widths of heads and layers that are multiples of 32";
        let found = format!("{:?}", config.bert.hidden_act);
        return Err(Error::Unsupported {
            path: from.join(CONFIG_FILE),
            what: "encoder",
            found,
            supported,
        });
    }
    let read = ModelFiles::just_verified(&manifest, from.to_owned());
    let tokenizer = ModelFiles::just_verified(&manifest, to.to_owned());
    let rounded = bert::round_weights(&read, &tokenizer, &config)?;
    let problem = |problem| Error::BadFile { path: source.clone(), expected: "weights", problem };
    let bytes = encoder::to_bytes(&rounded, &sha256_file(&source)?).map_err(problem)?;
    let path = to.join(INT8_FILE);
    durable::replace(&path, Readers::All, &bytes).map_err(Error::io("write", &path))?;
    Ok(INT8_FILE)
}

fn copy(from: &Path, to: &Path, file: &str) -> Result<(), Error> {
    let path = from.join(file);
    write(to, file, &std::fs::read(&path).map_err(Error::io("read", &path))?)
}

fn put(to: &Path, file: &str, value: &Value) -> Result<(), Error> {
    write(to, file, format!("{value:#}\n").as_bytes())
}

fn write(to: &Path, file: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = to.join(file);
    durable::replace(&path, Readers::All, bytes).map_err(Error::io("write", &path))
}
