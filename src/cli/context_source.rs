//! Builds a [`Context`] from a command's arguments: JSON, files and a conversation.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use super::args::{ContextArgs, ContextSourceArgs, Global};
use super::exit;
use super::{render, setup};
use toolroute_rank::engine::{Context, Engine, SourceFile, Turn};
use toolroute_rank::selection::ToolFilter;

/// Folders with third-party or generated files.
const NOT_OURS: &[&str] =
    &["node_modules", "target", "vendor", "dist", "build", "__pycache__", "venv"];

/// Maximum size of a source file. Larger files are data, whatever their names.
const MOST_BYTES: u64 = 2 << 20;

impl ContextArgs {
    /// Returns the context, or `None` if no context was given.
    pub fn context(&self, global: &Global) -> anyhow::Result<Option<Context>> {
        let mut context = self.source.read(global)?;
        let typed = self.stage.is_some()
            || self.profile.is_some()
            || self.for_model.is_some()
            || self.cost_aware
            || self.budget_tokens.is_some()
            || !(self.enable.is_empty() && self.exclude.is_empty());
        if typed {
            let context = context.get_or_insert_default();
            context.stage = self.stage.or(context.stage);
            context.profile = self.profile.clone().or(context.profile.take());
            context.model = self.for_model.clone().or(context.model.take());
            context.cost_aware |= self.cost_aware;
            context.budget_tokens = self.budget_tokens.or(context.budget_tokens);
            if !self.enable.is_empty() {
                context.enabled_tools = Some(self.enable.clone());
            }
            context.excluded_tools.extend(self.exclude.iter().cloned());
        }
        Ok(context)
    }

    /// Warns of each pattern of `--enable`, `--exclude` and `--profile` that matches no tool, most
    /// often a typing error.
    pub fn warn_unmatched(&self, engine: &Engine, global: &Global) -> anyhow::Result<()> {
        let catalog = engine.catalog();
        let Some(any) = catalog.iter().next() else { return Ok(()) };
        let profile = self.profile.as_ref().and_then(|name| engine.config().profiles.get(name));
        for pattern in self.enable.iter().chain(&self.exclude).chain(profile.into_iter().flatten())
        {
            let filter = ToolFilter::new(Some(std::slice::from_ref(pattern)), &[], None)?;
            if catalog.iter().any(|tool| filter.admit(tool).is_ok()) {
                continue;
            }
            let near = catalog.near(pattern, 1).first().map_or(&any.id, |near| near);
            let (pattern, id) = (render::shortened(pattern, render::MAX_ID_CHARS), near.as_str());
            let tools = catalog.len();
            let said = format!(
                "warning: `{pattern}` matches none of the {tools} tools; ids look like `{id}`"
            );
            render::warn(global, &render::plain(&said));
        }
        Ok(())
    }
}

impl ContextSourceArgs {
    /// Reads the context; `None` if no argument for it was typed.
    pub fn read(&self, global: &Global) -> anyhow::Result<Option<Context>> {
        let mut context = match &self.context {
            Some(path) => Some(Context::from_json(&text(path, "context")?)?),
            None => None,
        };
        if let Some(path) = &self.conversation {
            let context = context.get_or_insert_default();
            context.conversation = conversation(&text(path, "conversation")?, path)?;
            context.analyze = true;
        }
        for path in &self.files {
            let context = context.get_or_insert_default();
            if !path.exists() {
                return Err(exit::io(format!(
                    "there is no file or folder {}; check --files",
                    path.display()
                )));
            }
            let mut found = Vec::new();
            list(path, &mut found)?;
            for file in found {
                add(path, &file, context, global)?;
            }
        }
        Ok(context)
    }
}

fn text(path: &Path, what: &str) -> anyhow::Result<String> {
    let read = match path == Path::new(setup::STREAM) {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    read.with_context(|| format!("cannot read the {what} from {}", path.display()))
}

/// Parses a list of turns, or the member `messages` of a request to a language model. Only the text
/// parts of messages are used.
fn conversation(text: &str, path: &Path) -> anyhow::Result<Vec<Turn>> {
    let bad = |found: String| {
        let said = format!(
            "{}: expected a list of turns such as {{\"role\": \"user\", \"text\": \"…\"}}, {found}",
            path.display()
        );
        exit::bad_data(said)
    };
    let mut value: Value =
        serde_json::from_str(text).map_err(|error| bad(format!("found no JSON: {error}")))?;
    if let Some(messages) = value.get_mut("messages") {
        value = messages.take();
    }
    let Value::Array(turns) = value else { return Err(bad("found something else".to_owned())) };
    let turn = |(at, turn): (usize, Value)| {
        let role = turn["role"].clone();
        let text = match (&turn["text"], &turn["content"]) {
            (Value::String(text), _) | (_, Value::String(text)) => text.clone(),
            (_, Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            // A turn that only calls a tool has no text.
            (_, Value::Null) => String::new(),
            _ => return Err(bad(format!("found no text in turn {at}"))),
        };
        let turn = serde_json::json!({"role": role, "text": text});
        serde_json::from_value(turn).map_err(|error| bad(format!("found turn {at}: {error}")))
    };
    turns.into_iter().enumerate().map(turn).collect()
}

/// Lists the files below a path, sorted by name.
fn list(path: &Path, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let failed = || format!("cannot read the folder {}", path.display());
    let entries: Result<Vec<_>, _> = std::fs::read_dir(path).with_context(failed)?.collect();
    let mut entries = entries.with_context(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type().with_context(failed)?;
        // `.github` has workflows, which show how a project is built. Other hidden folders belong
        // to tools.
        let hidden = name.starts_with('.') && name != ".github";
        // Symbolic links are not followed: they may lead outside the folder or form a cycle.
        if kind.is_dir() && !hidden && !NOT_OURS.contains(&name.as_ref()) {
            list(&entry.path(), found)?;
        } else if kind.is_file() && !hidden {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// Adds a file by its path relative to the named folder. Binary files have no content.
fn add(root: &Path, file: &Path, context: &mut Context, global: &Global) -> anyhow::Result<()> {
    let below = file.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
    let path = below.unwrap_or(file).to_string_lossy().replace('\\', "/");
    let failed = || format!("cannot read {}", file.display());
    let about = std::fs::metadata(file).with_context(failed)?;
    if !about.is_file() {
        // A device may have no end, and a pipe no writer.
        return Err(exit::io(format!(
            "{} is no regular file but a device, a pipe or a socket; expected files and folders \
             for --files",
            file.display()
        )));
    }
    let size = about.len();
    let content = if size > MOST_BYTES {
        render::warn(global, &format!("warning: {path} is taken by its name alone: {size} bytes"));
        String::new()
    } else {
        String::from_utf8(std::fs::read(file).with_context(failed)?).unwrap_or_default()
    };
    if !context.files.iter().any(|known| known.path == path) {
        context.files.push(SourceFile { path, content });
    }
    Ok(())
}
