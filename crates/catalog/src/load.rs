//! Catalogs from files and directories.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::import::{self, Import};
use crate::list::Gathered;
use crate::source::Source;
use crate::{Catalog, Error, Loaded, Problem, Severity, Tool, fallback, file, overlay};

const EXTENSIONS: [&str; 6] = ["json", "jsonl", "ndjson", "toml", "yaml", "yml"];

/// How to load a catalog.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Fail on the first error instead of leaving out what is wrong.
    pub strict: bool,
    /// Files that set tiers and facets by id pattern; later ones win.
    pub overlays: Vec<PathBuf>,
    /// Take what files of tools say of when their tools are right ([`signals`](crate::Routing::signals), [`critical`](crate::Routing::critical)). Without it
    /// that is left out with a warning: whoever wrote the file would have a say over every prompt. Overlays are the
    /// user's own, and always taken.
    pub author_signals: bool,
}

impl Catalog {
    /// Loads tools from files and directories, in the order given and, within a directory, by
    /// name. The format of a file is told by its content.
    ///
    /// # Errors
    /// A path that cannot be read, a named file that is too large or without anything that is a tool, and, in strict
    /// mode, any problem of level error.
    pub fn load(paths: &[PathBuf], options: &LoadOptions) -> Result<Loaded, Error> {
        Self::load_with(paths, Vec::new(), options)
    }

    /// [`Catalog::load`] with more tools after those of the files.
    ///
    /// # Errors
    /// As [`Catalog::load`].
    pub fn load_with(
        paths: &[PathBuf],
        tools: Vec<Tool>,
        options: &LoadOptions,
    ) -> Result<Loaded, Error> {
        let mut places = Vec::new();
        for path in paths {
            if path.is_dir() {
                let mut files = Vec::new();
                list_files(path, &mut files, &mut HashSet::new())?;
                places.extend(files.into_iter().map(|path| Place { path, is_named: false }));
            } else {
                places.push(Place { path: path.clone(), is_named: true });
            }
        }
        // Side by side: reading is a good part of a start.
        let read: Vec<_> = places.par_iter().map(|place| import_file(&place.path)).collect();
        let mut gathered = Gathered::default();
        for (place, import) in places.iter().zip(read) {
            let import = import.map(|import| match options.author_signals {
                true => import,
                false => without_signals(&place.path, import),
            });
            take_in(place, import, &mut gathered)?;
        }
        for tool in tools {
            let problem = gathered.push(tool);
            gathered.problems.extend(problem);
        }
        for path in &options.overlays {
            let problems = overlay::apply(path, &mut gathered.tools)?;
            gathered.problems.extend(problems);
        }
        gathered.problems.extend(fallback::check(&gathered.tools));
        if options.strict && gathered.problems.iter().any(Problem::is_error) {
            return Err(Error::Strict { problems: gathered.problems });
        }
        Ok(gathered.into_loaded())
    }

    /// The tools of a text in any of the formats, as [`Catalog::load`] reads them from a file.
    ///
    /// # Errors
    /// A text without anything that is a tool.
    pub fn read(text: &str) -> Result<Loaded, Error> {
        let nowhere = Path::new("");
        let import = import::read(&Source::new(nowhere, text));
        let import =
            import.map_err(|problem| Error::Unrecognised { problem: unplaced(problem) })?;
        let mut gathered = Gathered::default();
        add(nowhere, import, &mut gathered);
        gathered.problems.iter_mut().for_each(|problem| problem.file = None);
        Ok(gathered.into_loaded())
    }
}

/// Of a text that stands in no file.
fn unplaced(mut problem: Box<Problem>) -> Box<Problem> {
    problem.file = None;
    problem
}

/// A file to read.
struct Place {
    path: PathBuf,
    /// Else it was met in a directory.
    is_named: bool,
}

/// A file that was only met, not named, is reported where it is not understood.
fn take_in(
    Place { path, is_named }: &Place,
    import: Result<Import, Error>,
    gathered: &mut Gathered,
) -> Result<(), Error> {
    match import {
        Ok(import) => add(path, import, gathered),
        Err(error) if *is_named => return Err(error),
        Err(Error::Unrecognised { problem }) => gathered.problems.push(*problem),
        Err(error) => gathered.problems.push(unreadable(path, &error)),
    }
    Ok(())
}

fn unreadable(path: &Path, error: &Error) -> Problem {
    let (found, cure) = match error {
        Error::Unreadable { source, .. } => {
            (source.to_string(), "check its permissions, or move it out of the directory")
        }
        error => (error.to_string(), "move it out of the directory"),
    };
    let mut problem = Problem::new(Severity::Error, "a readable file", found, cure);
    problem.file = Some(path.to_owned());
    problem
}

/// Catalog files below a directory by name; hidden ones are left out, links followed once.
fn list_files(
    directory: &Path,
    files: &mut Vec<PathBuf>,
    seen: &mut HashSet<PathBuf>,
) -> Result<(), Error> {
    let failed = |source| Error::Unreadable { path: directory.to_owned(), source };
    if !seen.insert(directory.canonicalize().map_err(failed)?) {
        return Ok(());
    }
    let entries: Result<Vec<_>, _> = std::fs::read_dir(directory).map_err(failed)?.collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            list_files(&path, files, seen)?;
        } else if has_catalog_extension(&path) && may_be_a_file(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn has_catalog_extension(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|found| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(found)))
}

/// A pipe in a directory would be waited for, and a device has no end. What is not there (a link
/// that leads nowhere) is taken all the same, and reported when it is read.
fn may_be_a_file(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

fn import_file(path: &Path) -> Result<Import, Error> {
    let file = file::read(path)?;
    import::read(&Source::of(path, &file)).map_err(|problem| Error::Unrecognised { problem })
}

/// Takes from the tools of a file what its author says of when they are right, and tells it.
fn without_signals(path: &Path, mut import: Import) -> Import {
    let says = |tool: &Tool| !tool.routing.signals.is_empty() || tool.routing.critical;
    let says: Vec<&mut Tool> =
        import.tools.iter_mut().map(|found| &mut found.tool).filter(|tool| says(tool)).collect();
    let count = says.len();
    let first = says.first().map(|tool| tool.id.to_string());
    for tool in says {
        tool.routing.signals.clear();
        tool.routing.critical = false;
    }
    if let Some(first) = first {
        let mut problem = Problem::new(
            Severity::Warning,
            "no say over prompts by the author of a file",
            format!("`signals` or `critical` in {count} tools, {first:?} the first; left out"),
            "where you trust the file, pass --author-signals (author_signals = true); or write them in an overlay of yours",
        );
        problem.file = Some(path.to_owned());
        import.problems.push(problem.field("routing"));
    }
    import
}

fn add(path: &Path, import: Import, gathered: &mut Gathered) {
    let (tools, skipped) = (import.tools.len(), import.skipped);
    tracing::debug!(file = %path.display(), tools, skipped, "read tools");
    gathered.problems.extend(import.problems);
    for found in import.tools {
        if let Some(mut problem) = gathered.push(found.tool) {
            problem.file = Some(path.to_owned());
            problem.line = found.line;
            gathered.problems.push(problem);
        }
    }
}
