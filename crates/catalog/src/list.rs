//! The catalog: tools in a fixed order, looked up by id.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::needs::NeedGraph;
use crate::tool::HASH_DIGITS;
use crate::{FacetIndex, Problem, Severity, Tool, ToolId, import, suspicions, validate};

/// An ordered list of tools with unique ids. A tool's row is its position in [`Catalog::tools`].
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    tools: Vec<Arc<Tool>>,
    rows: HashMap<ToolId, u32>,
    /// Rows by bare name; `None` if several servers have a tool of that name.
    names: HashMap<String, Option<u32>>,
    facets: FacetIndex,
    /// Computed on first use.
    needs: OnceLock<NeedGraph>,
}

/// A catalog, and the problems of its sources.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LoadedCatalog {
    /// The catalog, without the tools that have an error.
    pub catalog: Catalog,
    /// What is wrong in the sources, in their order.
    pub problems: Vec<Problem>,
}

impl Catalog {
    /// Creates a catalog of these tools. Tools with an error are left out and reported.
    pub fn from_tools(tools: Vec<Tool>) -> LoadedCatalog {
        let mut builder = CatalogBuilder::default();
        for tool in tools {
            let mut problems = validate::check(&tool);
            if !problems.iter().any(Problem::is_error) {
                problems.extend(builder.push(tool.into()));
            }
            builder.problems.extend(problems);
        }
        builder.finish()
    }

    /// Creates a catalog of tools that have passed all checks and whose ids differ.
    pub(super) fn of_checked(tools: Vec<Arc<Tool>>) -> Self {
        let mut names: HashMap<String, Option<u32>> = HashMap::new();
        for (row, tool) in (0u32..).zip(&tools) {
            names.entry(tool.name.clone()).and_modify(|known| *known = None).or_insert(Some(row));
        }
        let rows = (0u32..).zip(&tools).map(|(row, tool)| (tool.id.clone(), row)).collect();
        let facets = FacetIndex::new(tools.iter().map(AsRef::as_ref));
        Self { tools, rows, names, facets, needs: OnceLock::new() }
    }

    /// Returns what is [suspicious](suspicions) in any tool, as warnings. Loading does not check
    /// for it, because for a thousand tools it takes 80 ms, as long as the rest of a start.
    #[doc(hidden)] // For our own crates.
    pub fn suspicious(&self) -> Vec<Problem> {
        let warnings = |tool: &Arc<Tool>| {
            let found = suspicions(tool).into_iter();
            let id = tool.id.to_string();
            found.map(move |found| Problem { tool: Some(id.clone()), ..found.problem() }).collect()
        };
        self.tools.iter().flat_map(|tool| -> Vec<Problem> { warnings(tool) }).collect()
    }

    /// Returns all tools, in the order of their sources. A tool's row is its position in this
    /// slice.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// Returns the index of the tools' rows by facet.
    pub fn facets(&self) -> &FacetIndex {
        &self.facets
    }

    pub(super) fn need_graph(&self) -> &NeedGraph {
        self.needs.get_or_init(|| NeedGraph::new(&self.tools))
    }

    /// Returns an iterator over all tools, in the order of their sources.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().map(AsRef::as_ref)
    }

    /// Returns the number of tools.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Returns the tool with this id, with this `server:tool`, with this name if only one tool has
    /// it, or with this [`ToolId::model_name`].
    pub fn get(&self, id: &str) -> Option<&Tool> {
        self.row(id).map(|row| self.tools[row as usize].as_ref())
    }

    /// Returns the row of the tool that [`Catalog::get`] returns.
    #[doc(hidden)] // For our own crates.
    pub fn row(&self, id: &str) -> Option<u32> {
        self.rows
            .get(id)
            .or_else(|| self.row_by_colon(id))
            .copied()
            .or_else(|| self.names.get(id).copied().flatten())
            .or_else(|| self.row_by_model_name(id))
    }

    /// Returns the row of the tool whose id a model's API refuses and that has this name instead.
    fn row_by_model_name(&self, name: &str) -> Option<u32> {
        let (_, hash) = name.rsplit_once('_')?;
        // Most names that no tool has are typing errors, and hashing 40,000 ids for each takes long.
        let is_hash =
            hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        let row = is_hash.then(|| self.tools.iter().position(|tool| tool.id.model_name() == name));
        row.flatten().map(|row| row as u32)
    }

    /// Returns the row of exactly this id.
    pub(super) fn row_of_id(&self, id: &str) -> Option<u32> {
        self.rows.get(id).copied()
    }

    /// Returns the row of `server:name`. Both parts may contain colons, so each colon is tried. The
    /// tool must belong to that server: if `a__b__c` is the tool `c` of the server `a__b`, it is
    /// not `a:b__c`.
    fn row_by_colon(&self, id: &str) -> Option<&u32> {
        id.match_indices(':').find_map(|(at, _)| {
            let (server, name) = (&id[..at], &id[at + 1..]);
            let row = self.rows.get(ToolId::scoped(Some(server), name).as_str())?;
            self.tools[*row as usize].answers_to_server(server).then_some(row)
        })
    }

    /// Returns up to `limit` ids that an unknown id may mean, the most likely first.
    #[doc(hidden)] // For our own crates.
    pub fn near(&self, id: &str, limit: usize) -> Vec<&ToolId> {
        let wanted = comparable(id);
        let mut near: Vec<(f64, &ToolId)> = self
            .tools
            .iter()
            .map(|tool| {
                let by_id = likeness(&wanted, &comparable(tool.id.as_str()));
                (by_id.max(likeness(&wanted, &comparable(&tool.name))), &tool.id)
            })
            .filter(|(likeness, _)| *likeness > ALIKE)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        // A typing error has one meaning, beside which others are noise.
        let least = near.first().map_or(0.0, |(best, _)| best * NEARLY);
        let near = near.into_iter().filter(|(likeness, _)| *likeness >= least);
        near.take(limit).map(|(_, id)| id).collect()
    }

    /// Returns the catalog as JSON lines that load as the same catalog.
    pub fn to_jsonl(&self) -> String {
        self.rows().collect()
    }

    /// Returns the lines of [`Catalog::to_jsonl`] one by one.
    #[doc(hidden)] // For our own crates.
    pub fn rows(&self) -> impl Iterator<Item = String> {
        self.tools.iter().map(|tool| import::to_row(tool) + "\n")
    }
}

/// The similarity above which two ids may mean the same.
const ALIKE: f64 = 0.5;

/// The same for a further id, as a share of the similarity of the nearest.
const NEARLY: f64 = 0.75;

/// Removes case and separators from a name or an id, the parts that people most often get wrong.
pub(super) fn comparable(id: &str) -> String {
    id.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the similarity of two ids, from 0 to 1 for equal ids; at least 0.6 if one contains the
/// other.
///
/// The edit distance of ids of very different lengths is not computed, because a failed lookup must
/// be fast in a catalog of 40,000 tools.
fn likeness(a: &str, b: &str) -> f64 {
    const CONTAINED: f64 = 0.6;
    const MIN_CONTAINED: usize = 3;
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let edits = if short.len() as f64 >= ALIKE * long.len() as f64 {
        // A text never has fewer bytes than characters, so non-ASCII ids get a slightly higher
        // similarity.
        1.0 - strsim::osa_distance(short, long) as f64 / long.len().max(1) as f64
    } else {
        0.0
    };
    if short.len() >= MIN_CONTAINED && long.contains(short) {
        edits.max(CONTAINED + (1.0 - CONTAINED) * short.len() as f64 / long.len() as f64)
    } else {
        edits
    }
}

/// Collects the tools of a catalog and their problems.
#[derive(Default)]
pub(super) struct CatalogBuilder {
    pub tools: Vec<Arc<Tool>>,
    pub problems: Vec<Problem>,
    rows: HashMap<ToolId, usize>,
    /// The file of the tools that are added next, if they come from one.
    file: Option<Arc<Path>>,
    /// The file of each tool.
    files: Vec<Option<Arc<Path>>>,
    clashes: Vec<Clash>,
}

/// Tools of one file that were left out, because an earlier file has different ones with their ids.
struct Clash {
    kept: Option<Arc<Path>>,
    left_out: Option<Arc<Path>>,
    first: ToolId,
    /// Whether the first is an operation, whose server is the title of its description.
    is_operation: bool,
    count: usize,
}

impl CatalogBuilder {
    /// The tools that are added next come from this file.
    pub fn start_file(&mut self, file: Option<&Path>) {
        self.file = file.map(Arc::from);
    }

    /// Adds a tool. If two tools have the same id, the first one stays; this is a problem unless
    /// two sources list the same tool. The problems of two files are returned by [`CatalogBuilder::clashes`],
    /// because two lists of one server have as many as it has tools.
    pub fn push(&mut self, tool: Arc<Tool>) -> Option<Problem> {
        let row = match self.rows.entry(tool.id.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(self.tools.len());
                self.tools.push(tool);
                self.files.push(self.file.clone());
                return None;
            }
            Entry::Occupied(first) => *first.get(),
        };
        let first = &self.tools[row];
        if *first == tool {
            // Two sources may list the same tool, such as a server and its stored list.
            let is_repeated = self.file.as_deref().is_some_and(|file| file != Path::new(""))
                && self.files[row] == self.file;
            return is_repeated.then(|| repeated().tool(tool.id.as_str()).field("id"));
        }
        let same_name = (&first.server, &first.name) == (&tool.server, &tool.name);
        if same_name && self.files[row] != self.file {
            self.add_clash(row, tool.id.clone());
            return None;
        }
        Some(duplicate_id(first, &tool).tool(tool.id.as_str()).field("id"))
    }

    fn add_clash(&mut self, row: usize, id: ToolId) {
        let (kept, left_out) = (&self.files[row], &self.file);
        let known = |clash: &&mut Clash| clash.kept == *kept && clash.left_out == *left_out;
        match self.clashes.iter_mut().find(known) {
            Some(clash) => clash.count += 1,
            None => {
                let (kept, left_out) = (kept.clone(), left_out.clone());
                let is_operation = self.tools[row].operation.is_some();
                let clash = Clash { kept, left_out, first: id, is_operation, count: 1 };
                self.clashes.push(clash);
            }
        }
    }

    /// Returns one problem for each two files that have different tools with the same ids.
    pub fn clashes(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.clashes).into_iter().map(Clash::problem).collect()
    }

    pub fn finish(self) -> LoadedCatalog {
        LoadedCatalog { catalog: Catalog::of_checked(self.tools), problems: self.problems }
    }
}

impl Clash {
    fn problem(self) -> Problem {
        let kept = self.kept.as_deref().unwrap_or(Path::new("another source")).display();
        let found = match self.count {
            1 => format!("a different tool with this id in {kept}"),
            count => {
                format!("{count} tools whose ids {kept} gives to different tools, this one first")
            }
        };
        let another = match self.is_operation {
            true => "write another `info.title`, which is the server, into one",
            false => "give the tools of one another server",
        };
        let cure =
            format!("those of {kept} were kept; name only one of the two sources, or {another}");
        let mut problem = Problem::new(Severity::Error, "a unique id", found, cure);
        problem.file = self.left_out.map(|file| file.to_path_buf());
        problem.tool(self.first.as_str()).field("id")
    }
}

fn repeated() -> Problem {
    let (found, cure) = ("the same tool a second time", "remove one of the two");
    Problem::new(Severity::Warning, "each tool once", found, cure)
}

/// Reports two different tools with the same id. Names that contain `__` can give the tools of two
/// servers the same id. The id does not show this, so the problem names both.
fn duplicate_id(first: &Tool, second: &Tool) -> Problem {
    if (&first.server, &first.name) == (&second.server, &second.name) {
        let found = "a second, different tool with the same id";
        let cure = "give one of them another id or server; the first was kept";
        return Problem::new(Severity::Error, "a unique id", found, cure);
    }
    let describe = |tool: &Tool| match &tool.server {
        Some(server) => format!("`{}` of the server `{server}`", tool.name),
        None => format!("`{}` without a server", tool.name),
    };
    let found = format!("the id of {} for {} too", describe(first), describe(second));
    let cure = "rename one of the servers, or give one of the tools an id; the first was kept";
    Problem::new(Severity::Error, "a unique id", found, cure)
}
