//! Makes the vectors of a catalog, taking from a snapshot what it already holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};
use serde::Serialize;

use super::Error;
use crate::catalog::{Tool, embedding_text};
use crate::embedding::{Embedder, ModelIdentity, Role};
use crate::index::{
    self, IndexKind, ModelKey, Snapshot, SnapshotError, TextHash, VectorIndex, Vectors, text_hash,
};

/// Told how many texts of how many are embedded.
pub(super) type OnProgress = dyn Fn(usize, usize) + Send + Sync;

/// Texts embedded between two reports of progress.
const CHUNK: usize = 64;

/// Texts embedded between two saves: an interrupted run loses less than this.
const SAVE_EVERY: usize = 2_048;

/// What became of the snapshot when an engine was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SnapshotState {
    /// No snapshot was asked for, or there is no model.
    #[default]
    Unused,
    /// It held every text; nothing was written.
    Fresh,
    /// There was none; one was written.
    Created,
    /// Some texts were new or gone; it was brought up to date.
    Updated,
    /// It was damaged, of another model or of another version; it was made anew.
    Rebuilt { because: String },
    /// The vectors are in memory only.
    NotSaved { because: String },
}

/// What building an index took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexReport {
    pub tools: usize,
    /// Texts that went through the model.
    pub embedded: usize,
    /// Tools whose vector came from the snapshot or from a tool with the same text.
    pub reused: usize,
    /// How vectors are searched.
    pub index: Option<IndexKind>,
    pub snapshot: SnapshotState,
    pub path: Option<PathBuf>,
}

/// Rows of the catalog on their way to vectors.
struct Work<'a> {
    embedder: &'a dyn Embedder,
    hashes: Vec<TextHash>,
    /// By text; what the snapshot held and what has been embedded since.
    known: HashMap<TextHash, Vec<f32>>,
    path: Option<&'a Path>,
}

/// An index over the tools' texts, and what it took.
pub(super) fn index(
    tools: &[Arc<Tool>],
    embedder: &dyn Embedder,
    kind: IndexKind,
    path: Option<&Path>,
    tell: Option<&OnProgress>,
) -> Result<(Box<dyn VectorIndex>, IndexReport), Error> {
    let texts: Vec<String> = tools.iter().map(|tool| embedding_text(tool)).collect();
    let hashes: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
    let model = key(embedder.identity());
    let (old, mut state) = open(path, &model);
    if let Some(old) = old.as_ref().filter(|old| old.hashes() == hashes) {
        return reopen(old, kind, path);
    }
    let known = old.as_ref().map(vectors_by_text).unwrap_or_default();
    let mut work = Work { embedder, hashes, known, path };
    let embedded = work.embed(&texts, tell)?;
    let vectors = Arc::new(work.vectors()?);
    let index = index::build(vectors.clone(), kind)?;
    if let Some(path) = path {
        let snapshot =
            Snapshot::new(model, work.hashes, vectors)?.with_graph(index.graph().cloned())?;
        if let Err(error) = snapshot.save(path) {
            state = SnapshotState::NotSaved { because: error.to_string() };
        }
    }
    let report = IndexReport {
        tools: tools.len(),
        embedded,
        reused: tools.len() - embedded,
        index: Some(kind.for_rows(tools.len())),
        snapshot: state,
        path: path.map(Path::to_owned),
    };
    Ok((index, report))
}

/// The snapshot fits the catalog as it is.
fn reopen(
    snapshot: &Snapshot,
    kind: IndexKind,
    path: Option<&Path>,
) -> Result<(Box<dyn VectorIndex>, IndexReport), Error> {
    let rows = snapshot.vectors().len();
    let index = index::restore(snapshot.vectors().clone(), kind, snapshot.graph().cloned())?;
    let report = IndexReport {
        tools: rows,
        embedded: 0,
        reused: rows,
        index: Some(kind.for_rows(rows)),
        snapshot: SnapshotState::Fresh,
        path: path.map(Path::to_owned),
    };
    Ok((index, report))
}

fn key(identity: &ModelIdentity) -> ModelKey {
    ModelKey {
        name: identity.name.clone(),
        fingerprint: identity.fingerprint.clone(),
        dimension: identity.dimension,
    }
}

/// The snapshot that is there, if it can be used, and what will become of it.
fn open(path: Option<&Path>, model: &ModelKey) -> (Option<Snapshot>, SnapshotState) {
    let Some(path) = path else { return (None, SnapshotState::Unused) };
    let usable = Snapshot::load(path).and_then(|found| found.matches(model).map(|()| found));
    match usable {
        Ok(found) => (Some(found), SnapshotState::Updated),
        Err(SnapshotError::Missing { .. }) => (None, SnapshotState::Created),
        Err(error) => {
            if let SnapshotError::Foreign { .. } = error {
                keep_aside(path);
            }
            tracing::warn!("the index is rebuilt: {error}");
            (None, SnapshotState::Rebuilt { because: error.to_string() })
        }
    }
}

/// A file that never was a snapshot is somebody's: it is moved, not written over.
fn keep_aside(path: &Path) {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".not-a-snapshot");
    match std::fs::rename(path, &aside) {
        Ok(()) => tracing::warn!("{} is kept as {}", path.display(), aside.display()),
        Err(error) => tracing::warn!("{} cannot be moved aside: {error}", path.display()),
    }
}

fn vectors_by_text(snapshot: &Snapshot) -> HashMap<TextHash, Vec<f32>> {
    let rows = snapshot.hashes().iter().zip(0u32..);
    rows.filter_map(|(hash, row)| Some((*hash, snapshot.vectors().get(row)?.to_vec()))).collect()
}

impl Work<'_> {
    /// Embeds each text that is not known, once. Gives the number of texts embedded.
    fn embed(&mut self, texts: &[String], tell: Option<&OnProgress>) -> Result<usize, Error> {
        let mut seen = std::collections::HashSet::new();
        let is_new = |hash: &TextHash| !self.known.contains_key(hash);
        let new: Vec<usize> = (0..texts.len())
            .filter(|&row| is_new(&self.hashes[row]) && seen.insert(self.hashes[row]))
            .collect();
        for (at, rows) in new.chunks(CHUNK).enumerate() {
            let batch: Vec<&str> = rows.iter().map(|&row| texts[row].as_str()).collect();
            let embedded = self.embedder.embed(&batch, Role::Document)?;
            for (&row, vector) in rows.iter().zip(embedded.vectors.rows()) {
                self.known.insert(self.hashes[row], vector.to_vec());
            }
            let done = at * CHUNK + rows.len();
            if let Some(tell) = tell {
                tell(done, new.len());
            }
            if done.is_multiple_of(SAVE_EVERY) && done < new.len() {
                self.save_partly();
            }
        }
        Ok(new.len())
    }

    /// Keeps what is done so far. A failure is not reported here: the last save will fail as well,
    /// and that one is.
    fn save_partly(&self) {
        let Some(path) = self.path else { return };
        let known = self.hashes.iter().filter_map(|hash| Some((*hash, self.known.get(hash)?)));
        let (hashes, rows): (Vec<TextHash>, Vec<&Vec<f32>>) = known.unzip();
        let model = key(self.embedder.identity());
        let saved = Vectors::from_rows(&rows)
            .map_err(SnapshotError::from)
            .and_then(|vectors| Snapshot::new(model, hashes, Arc::new(vectors)))
            .and_then(|snapshot| snapshot.save(path));
        if let Err(error) = saved {
            tracing::debug!("the index is not saved yet: {error}");
        }
    }

    fn vectors(&self) -> Result<Vectors, Error> {
        let mut rows = Array2::zeros((self.hashes.len(), self.embedder.identity().dimension));
        for (hash, mut row) in self.hashes.iter().zip(rows.rows_mut()) {
            row.assign(&ArrayView1::from(&self.known[hash]));
        }
        Ok(Vectors::new(rows)?)
    }
}

/// SHA-256, in hex, over texts and the borders between them: whether two jobs are the same.
pub fn fingerprint(texts: &[&str]) -> String {
    let parts: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
    let bytes = parts.as_flattened().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    text_hash(&bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
