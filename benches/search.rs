//! How long the index room takes: `cargo bench --bench search`.
//!
//! With `TOOLROUTE_SNAPSHOT=file` it also tells how much of the exact answer the graph finds among
//! the vectors of that snapshot, on stderr. The keyword bench reads tools from `../shared/data` and
//! is left out, loudly, where they are not.

mod timing;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use ndarray::Array2;
use toolroute_vectors::durable::ModelIdentity;
use toolroute_vectors::index::{
    Bm25, Bm25Settings, Field, FlatIndex, HnswIndex, Snapshot, VectorIndex, Vectors, text_hash,
};

const DIMENSION: usize = 384;

/// What a router asks for before it filters.
const LIMIT: usize = 20;

/// Xorshift64 (Marsaglia 2003): the same vectors on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    }

    fn around(&mut self, centre: &[f32], spread: f32) -> Vec<f32> {
        centre.iter().map(|number| number + spread * self.next()).collect()
    }
}

/// Rows around centres (a subject's tools), which lie around sixty others (subjects).
fn clustered(rows: usize, queries: usize) -> (Arc<Vectors>, Vec<Vec<f32>>) {
    let mut noise = Noise(88_172_645_463_325_252);
    let zero = [0.0; DIMENSION];
    let subjects: Vec<_> = (0..60).map(|_| noise.around(&zero, 1.0)).collect();
    let centres: Vec<_> =
        (0..rows.div_ceil(40)).map(|at| noise.around(&subjects[at % 60], 1.0)).collect();
    let centre = |at: usize| &centres[(at * 7_919) % centres.len()];
    let numbers = (0..rows).flat_map(|at| noise.around(centre(at), 0.8)).collect();
    let matrix = Array2::from_shape_vec((rows, DIMENSION), numbers).unwrap();
    let queries = (0..queries).map(|at| noise.around(centre(at * 13), 1.0)).collect();
    (Arc::new(Vectors::new(matrix).unwrap()), queries)
}

fn vectors() {
    for rows in [1_000, 5_000, 10_000, 42_820] {
        let (vectors, queries) = clustered(rows, 64);
        let index = FlatIndex::new(vectors);
        time(&format!("exact/{rows}"), &index, &queries);
    }
    let (vectors, queries) = clustered(10_000, 64);
    let index = HnswIndex::build(vectors);
    time("graph/10000", &index, &queries);
}

fn time(name: &str, index: &dyn VectorIndex, queries: &[Vec<f32>]) {
    let mut queries = queries.iter().cycle();
    timing::time(name, || index.search(queries.next().unwrap(), LIMIT));
}

/// Share of the exact ten that the graph finds, for each width, and what a search takes.
fn recall() {
    let Some(path) = std::env::var_os("TOOLROUTE_SNAPSHOT") else {
        return eprintln!("recall: left out, TOOLROUTE_SNAPSHOT names no snapshot");
    };
    let snapshot = Snapshot::load(path.as_ref()).unwrap();
    let vectors = Arc::clone(snapshot.vectors());
    // Between two rows: near both, yet neither, as a prompt is.
    let row = |at: usize| vectors.get((at % vectors.len()) as u32).unwrap();
    let between = |at: usize| row(at).iter().zip(row(at + 1)).map(|(a, b)| 2.0 * a + b).collect();
    let queries: Vec<Vec<f32>> = (0..500).map(|at| between(at * 7_919)).collect();
    let exact = FlatIndex::new(Arc::clone(&vectors));
    let start = Instant::now();
    let graph = HnswIndex::build(Arc::clone(&vectors));
    eprintln!("recall: {} rows linked in {:.1?}", vectors.len(), start.elapsed());
    for width in [20, 32, 48, 64, 96, 128, 192, 256] {
        let start = Instant::now();
        let search = |query: &Vec<f32>| graph.search_with_width(query, 10, width).unwrap();
        let answers: Vec<_> = queries.iter().map(search).collect();
        let each = start.elapsed() / queries.len() as u32;
        let found = queries.iter().zip(&answers).map(|(query, answer)| {
            let exact = exact.search(query, 10).unwrap();
            exact.iter().filter(|hit| answer.iter().any(|near| near.row == hit.row)).count()
        });
        let share = found.sum::<usize>() as f64 / (10 * queries.len()) as f64;
        eprintln!("recall: width {width}: {share:.4}, {each:.1?} a search");
    }
}

fn keywords() {
    let tools = Path::new("../shared/data/_merged/tools.jsonl");
    let Ok(tools) = std::fs::read_to_string(tools) else {
        return eprintln!("keywords: left out, {} is not there", tools.display());
    };
    let tools: Vec<serde_json::Value> = tools
        .lines()
        .step_by(8)
        .take(5_000)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let text = |tool: usize, key: &str| tools[tool][key].as_str().unwrap_or_default();
    let documents = (0..tools.len()).map(|tool| {
        let name = Field { text: text(tool, "name"), weight: 3.0 };
        [name, Field { text: text(tool, "description"), weight: 1.0 }]
    });
    let index = Bm25::build(documents, Bm25Settings::default());
    // The opening of a description reads like a request for the tool.
    let prompts: Vec<String> =
        (0..tools.len()).map(|at| text(at, "description").chars().take(150).collect()).collect();
    let mut prompts = prompts.iter().cycle();
    timing::time("keywords/5000", || index.search(prompts.next().unwrap(), LIMIT));
}

fn snapshots() {
    let (vectors, _) = clustered(4_000, 0);
    let model = ModelIdentity { name: "m".into(), fingerprint: "f".into(), dimension: DIMENSION };
    let hashes = (0..vectors.len()).map(|row| text_hash(&row.to_string())).collect();
    let snapshot = Snapshot::new(model, hashes, vectors).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot");
    timing::time("snapshot/save 4000", || snapshot.save(&path).unwrap());
    timing::time("snapshot/load 4000", || Snapshot::load(&path));
}

fn main() {
    vectors();
    keywords();
    snapshots();
    recall();
}
