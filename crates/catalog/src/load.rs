//! Loads catalogs from files and directories.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::import::{self, Import};
use crate::list::CatalogBuilder;
use crate::source::Source;
use crate::{Catalog, Error, LoadedCatalog, Problem, Severity, Tool, fallback, file, overlay};

const EXTENSIONS: [&str; 6] = ["json", "jsonl", "ndjson", "toml", "yaml", "yml"];

/// The file that describes an agent skill.
const SKILL: &str = "SKILL.md";

/// How to load a catalog.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Fail if there is an error, instead of leaving out the tool or file that has it.
    pub strict: bool,
    /// Files that set tiers and facets by id pattern. Later files take precedence.
    pub overlays: Vec<PathBuf>,
    /// Keep [`signals`](crate::Routing::signals) and [`critical`](crate::Routing::critical) of
    /// files. Otherwise they are removed with a warning, because the author of a file could use
    /// them to decide over every prompt. Those of overlays are always kept, because the user wrote
    /// them.
    pub author_signals: bool,
}

impl Catalog {
    /// Loads tools from files and directories, in the given order and, within a directory, by name.
    /// The content of a file determines its format.
    ///
    /// # Errors
    /// Returns an error if a path cannot be read, if a named file is too large or contains no tool,
    /// and, in strict mode, if any problem is an error.
    pub fn load(paths: &[impl AsRef<Path>], options: &LoadOptions) -> Result<LoadedCatalog, Error> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| path.as_ref().to_owned()).collect();
        Self::load_with(&paths, Vec::new(), options)
    }

    /// Loads a catalog as [`Catalog::load`] does, and adds these tools after those of the files.
    ///
    /// # Errors
    /// Returns the errors of [`Catalog::load`].
    pub fn load_with(
        paths: &[PathBuf],
        tools: Vec<Tool>,
        options: &LoadOptions,
    ) -> Result<LoadedCatalog, Error> {
        let mut places = Vec::new();
        for path in paths {
            if path.is_dir() {
                let files = files_below(path)?;
                places.extend(files.into_iter().map(|path| Place { path, is_named: false }));
            } else {
                places.push(Place { path: path.clone(), is_named: true });
            }
        }
        // Read in parallel, because reading takes a large part of the startup time.
        let read: Vec<_> = places.par_iter().map(|place| import_file(&place.path)).collect();
        let mut builder = CatalogBuilder::default();
        for (place, import) in places.iter().zip(read) {
            let import = import.map(|import| match options.author_signals {
                true => import,
                false => without_signals(&place.path, import),
            });
            add_file(place, import, &mut builder)?;
        }
        builder.start_file(None);
        for tool in tools {
            let problem = builder.push(tool.into());
            builder.problems.extend(problem);
        }
        let clashes = builder.clashes();
        builder.problems.extend(clashes);
        for path in &options.overlays {
            let problems = overlay::apply(path, &mut builder.tools)?;
            builder.problems.extend(problems);
        }
        builder.problems.extend(fallback::check(&builder.tools));
        if options.strict && builder.problems.iter().any(Problem::is_error) {
            return Err(Error::Strict { problems: builder.problems });
        }
        Ok(builder.finish())
    }

    /// Reads the tools of a text in any format, as [`Catalog::load`] reads those of a file.
    ///
    /// # Errors
    /// Returns an error if the text contains no tool.
    pub fn read(text: &str) -> Result<LoadedCatalog, Error> {
        let nowhere = Path::new("");
        let import = import::read(&Source::new(nowhere, text));
        let import = import.map_err(|problem| {
            let problem = Problem { file: None, ..*problem }.into();
            Error::Unrecognised { problem }
        })?;
        let mut builder = CatalogBuilder::default();
        add(nowhere, import, &mut builder);
        builder.problems.iter_mut().for_each(|problem| problem.file = None);
        Ok(builder.finish())
    }

    /// Reads tools that come with a request or a row. Either all of them are usable, or none is
    /// returned. The problems are warnings about likely mistakes.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// let tools = r#"[{"name": "send", "description": "Sends a mail"}]"#;
    /// assert_eq!(Catalog::read_tools(tools)?.0[0].name, "send");
    /// assert!(Catalog::read_tools("[]").is_err());
    /// # Ok::<(), toolroute_catalog::Error>(())
    /// ```
    #[doc(hidden)] // For our own crates.
    pub fn read_tools(text: &str) -> Result<(Vec<Tool>, Vec<Problem>), Error> {
        let (tools, problems) = Self::read_usable_tools(text)?;
        match problems.iter().find(|problem| problem.is_error()) {
            Some(problem) => Err(Error::Refused { problem: Box::new(problem.clone()) }),
            None => Ok((tools, problems)),
        }
    }

    /// Reads tools like [`Catalog::read_tools`], but leaves out those that are not usable.
    #[doc(hidden)] // For our own crates.
    pub fn read_usable_tools(text: &str) -> Result<(Vec<Tool>, Vec<Problem>), Error> {
        let LoadedCatalog { catalog, problems } = Self::read(text)?;
        let tools: Vec<Tool> = catalog.iter().cloned().collect();
        match problems.iter().find(|problem| problem.is_error()) {
            Some(problem) if tools.is_empty() => {
                Err(Error::Refused { problem: Box::new(problem.clone()) })
            }
            None if tools.is_empty() => Err(Error::NoTools),
            _ => Ok((tools, problems)),
        }
    }
}

/// A file to read.
struct Place {
    path: PathBuf,
    /// Whether the user named it; otherwise it was found in a directory.
    is_named: bool,
}

/// Adds the tools of a file. If the file was found in a directory, an error in it is only reported.
fn add_file(
    Place { path, is_named }: &Place,
    import: Result<Import, Error>,
    builder: &mut CatalogBuilder,
) -> Result<(), Error> {
    match import {
        Ok(import) => add(path, import, builder),
        Err(error) if *is_named => return Err(error),
        Err(Error::Unrecognised { problem }) => builder.problems.push(*problem),
        Err(error) => builder.problems.push(unreadable(path, &error)),
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

/// Returns the files below a folder that [`Catalog::load`] reads.
#[doc(hidden)] // For our own crates.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    list_files(folder, &mut files, &mut HashSet::new(), false)?;
    Ok(files)
}

/// Lists the catalog files below a directory by name. Hidden files are skipped, and links are
/// followed once. In the folder of a skill, which may contain any files, only skills are listed.
fn list_files(
    directory: &Path,
    files: &mut Vec<PathBuf>,
    seen: &mut HashSet<PathBuf>,
    in_skill: bool,
) -> Result<(), Error> {
    let failed = |source| Error::Unreadable { path: directory.to_owned(), source };
    if !seen.insert(directory.canonicalize().map_err(failed)?) {
        return Ok(());
    }
    let entries: Result<Vec<_>, _> = std::fs::read_dir(directory).map_err(failed)?.collect();
    let mut entries = entries.map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let in_skill = in_skill || entries.iter().any(|entry| entry.file_name() == SKILL);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            list_files(&path, files, seen, in_skill)?;
        } else if (entry.file_name() == SKILL || !in_skill && is_catalog_file(&path))
            && may_be_a_file(&path)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file in a directory is read, by its extension.
fn is_catalog_file(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|found| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(found)))
}

/// Returns `true` if a path in a directory is read. A pipe is not read because it would block, and
/// a device because it has no end. A broken link is read, so that it is reported.
fn may_be_a_file(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |metadata| metadata.is_file())
}

fn import_file(path: &Path) -> Result<Import, Error> {
    let file = file::read(path)?;
    import::read(&Source::of(path, &file)).map_err(|problem| Error::Unrecognised { problem })
}

/// Removes `signals` and `critical` from the tools of a file, with a warning.
fn without_signals(path: &Path, mut import: Import) -> Import {
    let has_any = |tool: &Tool| !tool.routing.signals.is_empty() || tool.routing.critical;
    let found = import.tools.iter_mut().map(|found| &mut found.tool);
    let affected: Vec<&mut Tool> = found.filter(|tool| has_any(tool)).map(Arc::make_mut).collect();
    let count = affected.len();
    let first = affected.first().map(|tool| tool.id.to_string());
    for tool in affected {
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

fn add(path: &Path, import: Import, builder: &mut CatalogBuilder) {
    let (tools, skipped) = (import.tools.len(), import.skipped);
    tracing::debug!(file = %path.display(), tools, skipped, "read tools");
    builder.problems.extend(import.problems);
    builder.start_file(Some(path));
    for found in import.tools {
        if let Some(mut problem) = builder.push(found.tool) {
            problem.file = Some(path.to_owned());
            problem.line = found.line;
            builder.problems.push(problem);
        }
    }
}
