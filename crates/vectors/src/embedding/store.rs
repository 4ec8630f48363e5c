//! A folder of models, with one subfolder per model.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::built_in::BuiltIn;
use super::files::ModelFiles;
use super::manifest::MANIFEST_FILE;
use super::{Error, Manifest, Precision};
use crate::durable::{self, Readers};

/// The model that is used if none is named: the built-in one, if there is one.
pub const DEFAULT_MODEL: &str =
    if cfg!(feature = "built-in-model") { "toolroute-l6-v1" } else { FETCHED_MODEL };

/// The model that is downloaded if none is named.
pub const FETCHED_MODEL: &str = "all-MiniLM-L6-v2";

/// A folder of models. Opening a model only reads from disk; this type never uses the network.
#[derive(Clone, Debug)]
pub struct ModelStore {
    root: PathBuf,
}

/// A model of the store, as listed by `toolroute model list`.
#[derive(Clone, Debug, Serialize)]
pub struct Installed {
    /// The name to open it by.
    pub name: String,
    /// The model's folder, even if it does not exist yet; `None` for a built-in model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Whether the model can be used. Only [`ModelStore::verify`] checks its files.
    pub installed: bool,
    /// Whether the model is part of the program.
    pub built_in: bool,
    /// The size of its files.
    pub bytes: u64,
    /// Its licence.
    pub licence: String,
    /// The repository that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// The commit in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

impl ModelStore {
    /// Uses the folder `root`, which need not exist yet.
    pub fn new(root: impl AsRef<Path>) -> Self {
        Self { root: root.as_ref().to_owned() }
    }

    /// The folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a built-in model, or an installed model after verifying its files against its
    /// manifest.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] with the command that installs it; [`Error::Tampered`] for the first
    /// file that does not match the manifest.
    pub fn open(&self, name: &str) -> Result<ModelFiles, Error> {
        self.open_for(name, Precision::F32)
    }

    /// The same as [`ModelStore::open`], for a model that will run in `precision`. In int8, the f32
    /// weights are not read if valid int8 weights exist.
    ///
    /// # Errors
    /// The same as [`ModelStore::open`].
    pub fn open_for(&self, name: &str, precision: Precision) -> Result<ModelFiles, Error> {
        if let Some(files) = ModelFiles::built_in(name) {
            return Ok(files);
        }
        let dir = self.dir(name)?;
        if !dir.is_dir() {
            if Manifest::find(name).is_none() {
                let known = self.list()?.into_iter().map(|model| model.name);
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(Error::UnknownModel { name: name.to_owned(), known });
            }
            let command = format!("toolroute model pull {name}");
            return Err(Error::ModelMissing { name: name.to_owned(), path: dir, command });
        }
        let manifest = self.manifest(name, &dir)?;
        match precision {
            Precision::F32 => ModelFiles::verified(&manifest, dir),
            Precision::Int8 => ModelFiles::verified_int8(&manifest, dir),
        }
    }

    /// Verifies every file of a model against its manifest, including those of a built-in model.
    ///
    /// # Errors
    /// The same as [`ModelStore::open`].
    pub fn verify(&self, name: &str) -> Result<ModelFiles, Error> {
        if let Some(model) = BuiltIn::find(name) {
            model.verify()?;
        }
        self.open(name)
    }

    /// Lists built-in, downloadable and installed models, sorted by name.
    ///
    /// # Errors
    /// If the store's folder exists but cannot be read.
    pub fn list(&self) -> Result<Vec<Installed>, Error> {
        let mut manifests = Manifest::pinned();
        manifests.extend(BuiltIn::all().iter().map(BuiltIn::manifest));
        for name in self.folders()? {
            if !manifests.iter().any(|manifest| manifest.name == name) {
                manifests.extend(self.manifest(&name, &self.root.join(&name)).ok());
            }
        }
        manifests.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(manifests.into_iter().map(|manifest| self.describe(manifest)).collect())
    }

    /// Copies a model's files from `source` into the store. They must match the pinned manifest of
    /// that name; without one, the model is pinned by the present hashes.
    ///
    /// The model is installed completely or not at all. An existing one is replaced only after the
    /// new one is verified.
    ///
    /// # Errors
    /// If a file is missing, does not match the manifest, or cannot be copied.
    pub fn install(&self, name: &str, source: impl AsRef<Path>) -> Result<ModelFiles, Error> {
        let (source, target) = (source.as_ref(), self.dir(name)?);
        let manifest = match Manifest::find(name) {
            Some(manifest) => manifest,
            None => ModelFiles::describe(name, source)?,
        };
        self.install_as(&manifest, source, &target)
    }

    /// The same as [`ModelStore::install`], with a manifest that the hub module created.
    pub(super) fn install_as(
        &self,
        manifest: &Manifest,
        source: &Path,
        target: &Path,
    ) -> Result<ModelFiles, Error> {
        if BuiltIn::find(&manifest.name).is_some() {
            return Err(Error::BuiltIn { name: manifest.name.clone() });
        }
        for file in &manifest.files {
            let path = source.join(&file.path);
            if !path.is_file() {
                let expected = "the folder of this model, as the hub has it, with all its files";
                return Err(Error::FileMissing { path, expected });
            }
        }
        manifest.verify(source)?;
        std::fs::create_dir_all(&self.root).map_err(Error::io("create", &self.root))?;
        let staging = tempfile::Builder::new()
            .prefix(".installing-")
            .tempdir_in(&self.root)
            .map_err(Error::io("write into", &self.root))?;
        for entry in &manifest.files {
            copy_synced(&source.join(&entry.path), &staging.path().join(&entry.path))?;
        }
        if Manifest::find(&manifest.name).is_none() {
            write_manifest(manifest, &staging.path().join(MANIFEST_FILE))?;
        }
        manifest.verify(staging.path())?;
        swap_in(staging, target)?;
        Ok(ModelFiles::just_verified(manifest, target.to_owned()))
    }

    /// Returns the folder of the model with that name, even if it does not exist, unless the name
    /// would lead outside the store's folder.
    pub(super) fn dir(&self, name: &str) -> Result<PathBuf, Error> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let safe = !name.is_empty() && name.len() <= 100 && !name.starts_with('.');
        if safe && name.chars().all(plain) {
            Ok(self.root.join(name))
        } else {
            Err(Error::BadName { name: name.to_owned() })
        }
    }

    fn manifest(&self, name: &str, dir: &Path) -> Result<Manifest, Error> {
        if let Some(manifest) = Manifest::find(name) {
            return Ok(manifest);
        }
        let path = dir.join(MANIFEST_FILE);
        let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let bad = |problem: String| Error::BadFile {
            path,
            expected: "the manifest that `toolroute model pull` wrote",
            problem,
        };
        match toml::from_str::<Manifest>(&text) {
            Ok(manifest) if manifest.is_sound(name) => Ok(manifest),
            Ok(_) => Err(bad(format!("it does not describe the files of `{name}`"))),
            Err(error) => Err(bad(error.to_string())),
        }
    }

    fn folders(&self) -> Result<Vec<String>, Error> {
        if !self.root.is_dir() {
            return Ok(Vec::new());
        }
        let entries = std::fs::read_dir(&self.root).map_err(Error::io("read", &self.root))?;
        let name = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
        let visible = |name: &String| !name.starts_with('.');
        Ok(entries.flatten().filter_map(name).filter(visible).collect())
    }

    fn describe(&self, manifest: Manifest) -> Installed {
        let path = self.root.join(&manifest.name);
        let built_in = BuiltIn::find(&manifest.name).is_some();
        let whole = || manifest.files.iter().all(|file| path.join(&file.path).is_file());
        Installed {
            installed: built_in || whole(),
            built_in,
            bytes: manifest.files.iter().map(|file| file.bytes).sum(),
            path: (!built_in).then_some(path),
            name: manifest.name,
            licence: manifest.licence,
            repo: manifest.repo,
            revision: manifest.revision,
        }
    }
}

pub(super) fn write_manifest(manifest: &Manifest, path: &Path) -> Result<(), Error> {
    let text = toml::to_string(manifest).map_err(|error| Error::BadFile {
        path: path.to_owned(),
        expected: "a manifest that TOML can hold",
        problem: error.to_string(),
    })?;
    durable::replace(path, Readers::All, text.as_bytes()).map_err(Error::io("write", path))
}

fn copy_synced(from: &Path, to: &Path) -> Result<(), Error> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
    }
    let mut source = std::fs::File::open(from).map_err(Error::io("open", from))?;
    let mut target = std::fs::File::create(to).map_err(Error::io("create", to))?;
    std::io::copy(&mut source, &mut target).map_err(Error::io("write", to))?;
    target.sync_all().map_err(Error::io("sync", to))
}

/// Renames the staged folder to `target`. An existing folder is moved aside first and restored if
/// the rename fails.
fn swap_in(staging: tempfile::TempDir, target: &Path) -> Result<(), Error> {
    let old = staging.path().with_extension("old");
    let replaced = target.exists();
    if replaced {
        std::fs::rename(target, &old).map_err(Error::io("move aside", target))?;
    }
    let staged = staging.keep();
    if let Err(source) = std::fs::rename(&staged, target) {
        if replaced {
            std::fs::rename(&old, target).map_err(Error::io("put back", target))?;
        }
        return Err(Error::Io { action: "install", path: target.to_owned(), source });
    }
    if replaced {
        std::fs::remove_dir_all(&old).map_err(Error::io("remove", &old))?;
    }
    Ok(())
}
