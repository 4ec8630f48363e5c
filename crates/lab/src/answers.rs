//! Answers many prompts over many catalogs in one process, as `run --dry-run`, `call --prompt` and `route` do.

use std::sync::Arc;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Value, json};
use toolroute_catalog::{Catalog, LoadOptions, Tool};
use toolroute_rank::engine::{CacheSettings, Engine, EngineConfig, SelectRequest};
use toolroute_run::execution::{ArgumentSources, Arguments, LocalTime};
use toolroute_session::{CONSIDERED, Session, doubt, partial, settle};
use toolroute_vectors::embedding::{BertEmbedder, Embedder};

/// How many tools a ranking is cut to.
const LIMIT: usize = 5;

/// Prompts whose answers are kept, so that a prompt that is asked again costs no embedding.
const KEPT_PROMPTS: usize = 20_000;

/// Prompts and the catalogs they are for.
#[derive(Deserialize)]
struct File {
    /// Paths of catalogs.
    catalogs: Vec<String>,
    rows: Vec<FileRow>,
}

#[derive(Deserialize)]
struct FileRow {
    prompt: String,
    /// The time with its offset that "tomorrow" is relative to.
    now: String,
    /// Index of the catalog; none for a row with a tool of its own.
    catalog: Option<usize>,
    /// Whether only the ranking is wanted.
    #[serde(default)]
    rank: bool,
    tool: Option<Value>,
}

enum Kind {
    /// What a prompt would call in this catalog.
    Run(usize),
    /// The first tools of this catalog.
    Rank(usize),
    /// The arguments for this tool.
    Call(Box<Tool>),
}

struct Row {
    prompt: String,
    now: LocalTime,
    kind: Kind,
}

/// The prompts of a file, ready to be answered.
pub struct Prompts {
    engines: Vec<Engine>,
    rows: Vec<Row>,
}

impl Prompts {
    /// Reads `{"catalogs": [PATH], "rows": [{"prompt", "now", "catalog", "rank", "tool"}]}`.
    pub fn read(text: &str) -> anyhow::Result<Self> {
        let file: File = serde_json::from_str(text)
            .context("expected {\"catalogs\": [PATH, ...], \"rows\": [{\"prompt\", \"now\", \"catalog\" or \"tool\"}, ...]}")?;
        let model: Arc<dyn Embedder> = Arc::new(BertEmbedder::built_in()?);
        let engine = |path: &String| -> anyhow::Result<Engine> {
            let config = EngineConfig {
                limit: CONSIDERED,
                cache: CacheSettings { ttl_ms: 0, entries: 0 },
                query_cache: KEPT_PROMPTS,
                ..EngineConfig::default()
            };
            let catalog = Catalog::load(&[path], &LoadOptions::default())?.catalog;
            Ok(Engine::builder(catalog).config(config).embedder(Arc::clone(&model)).build()?)
        };
        let engines = file.catalogs.iter().map(engine).collect::<Result<Vec<_>, _>>()?;
        let rows = file.rows.into_iter().map(|row| row.ready(engines.len()));
        Ok(Self { rows: rows.collect::<Result<_, _>>()?, engines })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Answers one prompt: `{"tool", "arguments"}` of a call, `{"asked"}` instead of one, `{"fit", "tools"}`
    /// of a ranking, `{"asked", "arguments"}` for a tool of its own.
    pub fn answer(&self, row: usize) -> Value {
        let Row { prompt, now, kind } = &self.rows[row];
        let (given, session) = (Arguments::default(), Session::default());
        let read = |tool: &Tool| {
            let sources =
                ArgumentSources { given: Some(&given), ..ArgumentSources::new(prompt, now) };
            session.prepare_arguments(tool, &sources)
        };
        match kind {
            Kind::Run(engine) => {
                let request = session.request(SelectRequest::new(prompt.as_str()));
                let Ok(mut selection) = self.engines[*engine].select(&request) else {
                    return json!({"asked": "no tool fits"});
                };
                settle(&mut selection, prompt, read);
                session.note_selection(prompt, &selection);
                let Some(first) = selection.tools.first() else {
                    return json!({"asked": "no tool fits"});
                };
                let prepared = read(&first.tool);
                let asked = || prepared.clarify(&first.tool)?.outcome.message().map(String::from);
                let needs = || match first.tool.effects().reads_only() {
                    true => None,
                    false => partial(prompt, &self.engines[*engine].needs(prompt), &prepared),
                };
                match doubt(&first.tool, &selection, prompt, &prepared)
                    .or_else(needs)
                    .or_else(asked)
                {
                    Some(why) => json!({"asked": why, "tool": first.tool.id}),
                    None => json!({"tool": first.tool.id, "arguments": prepared.arguments}),
                }
            }
            Kind::Rank(engine) => {
                let request = SelectRequest::new(prompt.as_str()).limit(LIMIT);
                match self.engines[*engine].select(&request) {
                    Ok(selection) => {
                        let tools: Vec<_> =
                            selection.tools.iter().map(|tool| &tool.tool.id).collect();
                        json!({"fit": selection.fit, "tools": tools})
                    }
                    Err(error) => json!({"asked": error.to_string()}),
                }
            }
            Kind::Call(tool) => {
                let prepared = read(tool);
                let asked = prepared.clarify(tool).is_some();
                json!({"asked": asked, "arguments": prepared.arguments})
            }
        }
    }
}

impl FileRow {
    fn ready(self, catalogs: usize) -> anyhow::Result<Row> {
        let kind = match (self.catalog, self.tool) {
            (Some(at), _) if at >= catalogs => {
                anyhow::bail!("there is no catalog {at} of {catalogs}")
            }
            (Some(at), _) if self.rank => Kind::Rank(at),
            (Some(at), _) => Kind::Run(at),
            (None, Some(tool)) => {
                let catalog = Catalog::read(&json!([tool]).to_string())?.catalog;
                let tool = catalog.tools().first().context("the row's tool is invalid")?;
                Kind::Call(Box::new(Tool::clone(tool)))
            }
            (None, None) => {
                anyhow::bail!("expected \"catalog\" or \"tool\" in the row of {:?}", self.prompt)
            }
        };
        let now = self.now.parse().map_err(|_| {
            anyhow::anyhow!("expected a time with its offset, found {:?}", self.now)
        })?;
        Ok(Row { prompt: self.prompt, now, kind })
    }
}
