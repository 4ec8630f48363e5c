//! Computes the vectors of a catalog, reusing those of a snapshot.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};
use rayon::prelude::*;
use serde::Serialize;

use super::state::CatalogIndex;
use super::{Error, UsageReport};
use crate::catalog::{Tool, embedding_text};
use crate::embedding::{Embedder, ModelIdentity, Role};
use crate::index::{self, Graph, IndexKind, Snapshot, SnapshotError, TextHash, Vectors, text_hash};
use toolroute_vectors::durable;

/// A callback for progress: the number of embedded texts, and the total.
pub(super) type OnProgress = dyn Fn(usize, usize) + Send + Sync;

/// Texts that are embedded between two progress reports.
const CHUNK: usize = 64;

/// Texts that are embedded between two saves: the maximum that an interrupted run loses.
const SAVE_EVERY: usize = 2_048;

/// The state of the snapshot after an engine was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum SnapshotState {
    /// There is no snapshot, because the builder names none or there is no model.
    #[default]
    Unused,
    /// The snapshot contained every text; nothing was written.
    Fresh,
    /// The file did not exist and was written.
    Created,
    /// Some texts were new or removed, and the file was updated.
    Updated,
    /// The file was damaged, or of another model or version, and was rebuilt.
    Rebuilt { because: String },
    /// The file could not be written; the vectors are in memory only.
    NotSaved { because: String },
}

/// How an index was built.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexReport {
    /// The number of tools.
    pub tools: usize,
    /// Number of texts that were embedded.
    pub embedded: usize,
    /// Number of tools whose vector is from the snapshot or from a tool with the same text.
    pub reused: usize,
    /// How vectors are searched.
    pub index: Option<IndexKind>,
    /// Why all vectors are scanned although the configuration asks for a graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<String>,
    /// What became of the snapshot.
    pub snapshot: SnapshotState,
    /// The snapshot's file, if it contains these vectors now.
    pub path: Option<PathBuf>,
    /// How much usage was applied; `None` without usage or without a model.
    #[serde(skip)]
    pub usage: Option<UsageReport>,
}

/// The path of a snapshot, and how to treat another kind of file there.
pub(super) struct Place {
    pub path: PathBuf,
    /// Whether another kind of file is renamed; otherwise it is an error.
    pub move_foreign: bool,
}

/// The rows of a catalog while their vectors are computed.
struct Work<'a> {
    embedder: &'a dyn Embedder,
    hashes: Vec<TextHash>,
    /// The vectors so far, from the snapshot and new ones, by the hash of the text.
    known: HashMap<TextHash, Vec<f32>>,
    path: Option<&'a Path>,
}

/// Indexes the tools' texts.
pub(super) fn index(
    tools: &[Arc<Tool>],
    embedder: &dyn Embedder,
    kind: IndexKind,
    place: Option<&Place>,
    tell: Option<&OnProgress>,
) -> Result<(CatalogIndex, IndexReport), Error> {
    // The texts are not kept: a snapshot usually has the vectors of all of them.
    let hashes: Vec<TextHash> =
        tools.par_iter().map(|tool| text_hash(&embedding_text(tool))).collect();
    let model = embedder.identity();
    let (old, mut state) = match place {
        Some(place) => open(place, model)?,
        None => (None, SnapshotState::Unused),
    };
    // A snapshot that could not be opened is not overwritten.
    let kept = !matches!(state, SnapshotState::NotSaved { .. });
    let path = place.filter(|_| kept).map(|place| place.path.as_path());
    if let Some(old) = old.as_ref().filter(|old| old.hashes() == hashes) {
        return reopen(old, kind, path);
    }
    let known = old.as_ref().map(vectors_by_text).unwrap_or_default();
    let mut work = Work { embedder, hashes, known, path };
    let embedded = work.embed(tools, tell)?;
    let vectors = Arc::new(work.vectors()?);
    let search = index::build(vectors.clone(), kind)?;
    if let Some(path) = path {
        let snapshot = Snapshot::new(model.clone(), work.hashes, vectors.clone())?
            .with_graph(search.graph().cloned())?;
        state = save(&snapshot, path, state);
    }
    let report = report((tools.len(), embedded), kind, path, state);
    Ok((CatalogIndex { vectors, search: search.into(), learned: None }, report))
}

/// Writes vectors and their graph to a snapshot for the next start.
pub(super) fn keep(
    tools: &[Arc<Tool>],
    (vectors, graph): (&Arc<Vectors>, Option<Graph>),
    identity: &ModelIdentity,
    path: &Path,
) -> Result<SnapshotState, Error> {
    let hashes = tools.iter().map(|tool| text_hash(&embedding_text(tool))).collect();
    let snapshot =
        Snapshot::new(identity.clone(), hashes, Arc::clone(vectors))?.with_graph(graph)?;
    Ok(save(&snapshot, path, SnapshotState::Updated))
}

/// Writes a snapshot and creates its folder; returns `done`, or why it was not saved.
fn save(snapshot: &Snapshot, path: &Path, done: SnapshotState) -> SnapshotState {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.map_or(Ok(()), std::fs::create_dir_all);
    let saved = made
        .map_err(|error| format!("the folder of {} cannot be made: {error}", path.display()))
        .and_then(|()| snapshot.save(path).map_err(|error| error.to_string()));
    saved.map_or_else(|because| SnapshotState::NotSaved { because }, |()| done)
}

fn report(
    (tools, embedded): (usize, usize),
    kind: IndexKind,
    path: Option<&Path>,
    snapshot: SnapshotState,
) -> IndexReport {
    let is_kept = !matches!(snapshot, SnapshotState::NotSaved { .. });
    IndexReport {
        tools,
        embedded,
        reused: tools - embedded,
        index: Some(kind.for_rows(tools)),
        path: path.filter(|_| is_kept).map(Path::to_owned),
        snapshot,
        ..IndexReport::default()
    }
}

/// Uses the vectors of a snapshot that contains exactly the catalog's texts, and adds a graph to it
/// if one is needed.
fn reopen(
    snapshot: &Snapshot,
    kind: IndexKind,
    path: Option<&Path>,
) -> Result<(CatalogIndex, IndexReport), Error> {
    let rows = snapshot.vectors().len();
    let vectors = snapshot.vectors().clone();
    let search = index::restore(vectors.clone(), kind, snapshot.graph().cloned())?;
    let mut state = SnapshotState::Fresh;
    if let (Some(graph), None, Some(path)) = (search.graph(), snapshot.graph(), path) {
        // Building the graph takes most of the start-up time, so it is saved for the next start.
        let linked = snapshot.clone().with_graph(Some(graph.clone()))?;
        state = save(&linked, path, SnapshotState::Updated);
    }
    let report = report((rows, 0), kind, path, state);
    Ok((CatalogIndex { vectors, search: search.into(), learned: None }, report))
}

/// Opens an existing snapshot, if it is usable, and returns the state that it will have.
fn open(place: &Place, model: &ModelIdentity) -> Result<(Option<Snapshot>, SnapshotState), Error> {
    let path = place.path.as_path();
    let usable = Snapshot::load(path).and_then(|found| found.matches(model).map(|()| found));
    let error = match usable {
        Ok(found) => return Ok((Some(found), SnapshotState::Updated)),
        Err(SnapshotError::Missing { .. }) => return Ok((None, SnapshotState::Created)),
        Err(error) => error,
    };
    let because = error.to_string();
    match error {
        SnapshotError::Foreign { .. } if !place.move_foreign => return Err(error.into()),
        SnapshotError::Foreign { .. } => {
            if let Err(error) = keep_aside(path) {
                let because = format!("{because}; it cannot be moved aside: {error}");
                return Ok((None, SnapshotState::NotSaved { because }));
            }
        }
        // An unreadable file may belong to another program and is not overwritten.
        SnapshotError::Io { .. } => return Ok((None, SnapshotState::NotSaved { because })),
        _ => {}
    }
    tracing::warn!("the index is rebuilt: {because}");
    Ok((None, SnapshotState::Rebuilt { because }))
}

/// Renames a file that is not a snapshot, because it may belong to another program.
fn keep_aside(path: &Path) -> std::io::Result<()> {
    for number in 1u32.. {
        let mut aside = path.as_os_str().to_owned();
        aside.push(".not-a-snapshot");
        if number > 1 {
            aside.push(format!(".{number}"));
        }
        // Creating the file reserves the name; a mere check would race with other processes.
        match std::fs::File::create_new(&aside) {
            Ok(_) => {
                std::fs::rename(path, &aside)?;
                tracing::warn!("{} is kept as {}", path.display(), aside.display());
                return Ok(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::ErrorKind::AlreadyExists.into())
}

fn vectors_by_text(snapshot: &Snapshot) -> HashMap<TextHash, Vec<f32>> {
    let rows = snapshot.hashes().iter().zip(0u32..);
    rows.filter_map(|(hash, row)| Some((*hash, snapshot.vectors().get(row)?.to_vec()))).collect()
}

impl Work<'_> {
    /// Embeds each unknown text once; returns the number of embedded texts.
    fn embed(&mut self, tools: &[Arc<Tool>], tell: Option<&OnProgress>) -> Result<usize, Error> {
        let mut seen = std::collections::HashSet::new();
        let is_new = |hash: &TextHash| !self.known.contains_key(hash);
        let new: Vec<usize> = (0..tools.len())
            .filter(|&row| is_new(&self.hashes[row]) && seen.insert(self.hashes[row]))
            .collect();
        for (at, rows) in new.chunks(CHUNK).enumerate() {
            let texts: Vec<String> = rows.iter().map(|&row| embedding_text(&tools[row])).collect();
            let batch: Vec<&str> = texts.iter().map(String::as_str).collect();
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

    /// Saves the vectors so far. A failure is only logged, because the last save will then fail too
    /// and is reported.
    fn save_partly(&self) {
        let Some(path) = self.path else { return };
        let known = self.hashes.iter().filter_map(|hash| Some((*hash, self.known.get(hash)?)));
        let (hashes, rows): (Vec<TextHash>, Vec<&Vec<f32>>) = known.unzip();
        let model = self.embedder.identity();
        let saved = Vectors::from_rows(&rows)
            .map_err(SnapshotError::from)
            .and_then(|vectors| Snapshot::new(model.clone(), hashes, Arc::new(vectors)))
            .map(|snapshot| save(&snapshot, path, SnapshotState::Updated));
        tracing::debug!("the index so far: {saved:?}");
    }

    fn vectors(&self) -> Result<Vectors, Error> {
        let mut rows = Array2::zeros((self.hashes.len(), self.embedder.identity().dimension));
        for (hash, mut row) in self.hashes.iter().zip(rows.rows_mut()) {
            row.assign(&ArrayView1::from(&self.known[hash]));
        }
        Ok(Vectors::new(rows)?)
    }
}

/// Returns the SHA-256 of texts and the boundaries between them, in hexadecimal.
pub fn fingerprint(texts: &[&str]) -> String {
    let parts: Vec<TextHash> = texts.iter().map(|text| text_hash(text)).collect();
    fingerprint_of_hashes(&parts)
}

/// The same of texts whose hashes are known.
pub(super) fn fingerprint_of_hashes(parts: &[TextHash]) -> String {
    durable::hex(&text_hash(&durable::hex(parts.as_flattened())))
}
