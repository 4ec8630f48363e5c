//! Downloads models from the Hugging Face hub. Only `toolroute model pull` uses this module.

use std::path::{Path, PathBuf};

use hf_hub::api::Progress;
use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Repo, RepoType};

use super::files::{
    CONFIG_FILE, MODULES_FILE, ModelFiles, OPTIONAL, POOLING_FILE, TOKENIZER_FILE, WEIGHTS_FILE,
};
use super::{Error, Manifest, ModelStore};

/// How to reach the hub. The caller reads the environment; this module does not.
#[derive(Clone, Debug, Default)]
pub struct HubOptions {
    /// URL of a mirror; `None` means the public hub.
    pub endpoint: Option<String>,
    /// The token of the hub, for models that need one.
    pub token: Option<String>,
    /// Commit, tag or branch. `None` means the commit that the manifest pins or, without one,
    /// `main`.
    pub revision: Option<String>,
}

/// Called with the progress of a download: file, bytes so far, total bytes.
pub type OnProgress<'a> = &'a dyn Fn(&str, u64, u64);

/// Downloads `model` into the store. `model` is the name of a pinned manifest, or `owner/name` on
/// the hub.
///
/// A model with a pinned manifest must match it. Any other model is pinned by the commit and the
/// hashes of this download.
///
/// # Errors
/// If the hub cannot be reached or lacks a file, or if a file does not match the manifest.
pub fn pull(
    store: &ModelStore,
    model: &str,
    options: &HubOptions,
    progress: OnProgress<'_>,
) -> Result<ModelFiles, Error> {
    let (repo, manifest) = locate(model)?;
    let pinned = manifest.as_ref().and_then(|m| m.revision.clone());
    let revision = options.revision.clone().or(pinned).unwrap_or_else(|| "main".to_owned());
    let download = tempfile::tempdir().map_err(Error::io("create", std::env::temp_dir()))?;
    let api = connect(options, download.path(), &repo)?;
    let api = api.repo(Repo::with_revision(repo.clone(), RepoType::Model, revision));
    let fetch = |file: &str| {
        let report = Report { file: file.to_owned(), done: 0, total: 0, tell: progress };
        api.download_with_progress(file, report).map_err(failed(&repo, file))
    };
    match manifest {
        Some(manifest) => {
            let snapshot = fetch_all(manifest.files.iter().map(|f| f.path.as_str()), fetch)?;
            store.install_as(&manifest, &snapshot, &store.dir(&manifest.name)?)
        }
        None => pull_unknown(store, &repo, &api, fetch),
    }
}

/// Downloads a model without a pinned manifest and pins what was downloaded.
fn pull_unknown(
    store: &ModelStore,
    repo: &str,
    api: &ApiRepo,
    fetch: impl Fn(&str) -> Result<PathBuf, Error>,
) -> Result<ModelFiles, Error> {
    let info = api.info().map_err(failed(repo, "the list of files"))?;
    let listed = |file: &&str| info.siblings.iter().any(|sibling| sibling.rfilename == **file);
    let mut files = vec![CONFIG_FILE, TOKENIZER_FILE, MODULES_FILE, POOLING_FILE, WEIGHTS_FILE];
    files.extend(OPTIONAL.into_iter().filter(listed));
    let snapshot = fetch_all(files.iter().copied(), fetch)?;
    let name = repo.rsplit('/').next().unwrap_or(repo);
    let mut manifest = Manifest::describe(name, &snapshot, &files)?;
    manifest.repo = Some(repo.to_owned());
    manifest.revision = Some(info.sha);
    store.install_as(&manifest, &snapshot, &store.dir(name)?)
}

/// Returns the repository of a model, and its pinned manifest if there is one.
fn locate(model: &str) -> Result<(String, Option<Manifest>), Error> {
    let known = Manifest::pinned();
    let wanted = |m: &&Manifest| m.name == model || m.repo.as_deref() == Some(model);
    match known.iter().find(wanted) {
        Some(pinned @ Manifest { repo: Some(repo), .. }) => {
            Ok((repo.clone(), Some(pinned.clone())))
        }
        None if model.split('/').count() == 2 => Ok((model.to_owned(), None)),
        _ => {
            let known = known.into_iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
            Err(Error::UnknownModel { name: model.to_owned(), known })
        }
    }
}

fn connect(
    options: &HubOptions,
    cache: &Path,
    repo: &str,
) -> Result<hf_hub::api::sync::Api, Error> {
    let mut builder = ApiBuilder::new()
        .with_cache_dir(cache.to_owned())
        .with_progress(false)
        .with_token(options.token.clone())
        .with_retries(3);
    if let Some(endpoint) = &options.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    builder.build().map_err(failed(repo, "anything"))
}

/// Downloads every file and returns the folder that contains them.
fn fetch_all<'a>(
    files: impl Iterator<Item = &'a str>,
    fetch: impl Fn(&str) -> Result<PathBuf, Error>,
) -> Result<PathBuf, Error> {
    let mut folder = PathBuf::new();
    for file in files {
        let path = fetch(file)?;
        // `1_Pooling/config.json` is one folder deeper than the other files of the snapshot.
        let depth = Path::new(file).components().count();
        folder = path.ancestors().nth(depth).unwrap_or(&path).to_owned();
    }
    Ok(folder)
}

fn failed<'a>(repo: &'a str, file: &'a str) -> impl FnOnce(ApiError) -> Error + 'a {
    move |error| Error::Hub {
        repo: repo.to_owned(),
        file: file.to_owned(),
        message: error.to_string(),
    }
}

struct Report<'a> {
    file: String,
    done: u64,
    total: u64,
    tell: OnProgress<'a>,
}

impl Progress for Report<'_> {
    fn init(&mut self, size: usize, _filename: &str) {
        self.total = size as u64;
        (self.tell)(&self.file, 0, self.total);
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        (self.tell)(&self.file, self.done, self.total);
    }

    fn finish(&mut self) {
        (self.tell)(&self.file, self.total, self.total);
    }
}
