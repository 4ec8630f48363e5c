//! `toolroute model`: get, list, round and check models.

use std::process::ExitCode;

use serde_json::json;

use super::args::{Global, ModelArgs, ModelCommand, PullArgs, RoundArgs};
use super::{paths, render};
use crate::embedding::{self, ModelFiles, ModelStore, Rounding};

pub fn run(args: &ModelArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let store = || paths::model_store(args.models.as_deref());
    match &args.command {
        ModelCommand::Pull(pull_args) => pull(&store()?, pull_args, global)?,
        ModelCommand::List => list(&store()?, global)?,
        ModelCommand::Round(args) => round(args, global)?,
        ModelCommand::Verify { name } => tell(&store()?.verify(name)?, "whole", global)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn pull(store: &ModelStore, args: &PullArgs, global: &Global) -> anyhow::Result<()> {
    let short = args.name.rsplit('/').next().unwrap_or(&args.name);
    if !args.force
        && let Ok(here) = store.open(short)
    {
        return tell(&here, "here already", global);
    }
    let files = match &args.from {
        Some(folder) => store.install(short, folder)?,
        None => download(store, args, global)?,
    };
    tell(&files, "installed", global)
}

fn round(args: &RoundArgs, global: &Global) -> anyhow::Result<()> {
    let folder = args.to.file_name().map(|name| name.to_string_lossy().into_owned());
    let about = Rounding {
        name: args.name.clone().or(folder).unwrap_or_else(|| "model".to_owned()),
        description: args.description.clone(),
        licence: args.licence.clone(),
        pooling: args.pooling,
        max_tokens: args.max_tokens,
    };
    let manifest = embedding::round(&args.from, &args.to, &about)?;
    if global.json {
        return render::json(&manifest);
    }
    let bytes: u64 = manifest.files.iter().map(|file| file.bytes).sum();
    let (name, to) = (&manifest.name, args.to.display());
    render::line(&format!("{name}: {:.1} MB, {to}", bytes as f64 / 1e6))
}

#[cfg(feature = "hub")]
fn download(store: &ModelStore, args: &PullArgs, global: &Global) -> anyhow::Result<ModelFiles> {
    use std::cell::RefCell;

    use super::progress::Progress;
    use crate::embedding::hub::{HubOptions, pull};

    let options = HubOptions {
        endpoint: args.endpoint.clone(),
        token: args.token.clone(),
        revision: args.revision.clone(),
    };
    // One bar a file: the files come one after the other.
    let current: RefCell<Option<(String, Progress)>> = RefCell::new(None);
    let tell = |file: &str, done: u64, total: u64| {
        let mut current = current.borrow_mut();
        if current.as_ref().is_none_or(|(shown, _)| shown != file) {
            render::warn(global, &format!("fetching {file}"));
            *current = Some((file.to_owned(), Progress::new("fetching", "bytes", global.quiet)));
        }
        if let Some((_, progress)) = current.as_ref() {
            progress.tell(done as usize, total as usize);
        }
    };
    Ok(pull(store, &args.name, &options, &tell)?)
}

#[cfg(not(feature = "hub"))]
fn download(_: &ModelStore, args: &PullArgs, _: &Global) -> anyhow::Result<ModelFiles> {
    anyhow::bail!(
        "this build has no network code (feature `hub`); copy the model with \
         `toolroute model pull {} --from DIR`",
        args.name
    )
}

fn list(store: &ModelStore, global: &Global) -> anyhow::Result<()> {
    let models = store.list()?;
    if global.json {
        return render::json(&models);
    }
    let mut table = render::table(&["model", "state", "MB", "licence", "revision"], &[2]);
    for model in models {
        let state = match (model.built_in, model.installed) {
            (true, _) => "built in",
            (false, true) => "installed",
            (false, false) => "not here",
        };
        let size = format!("{:.1}", model.bytes as f64 / 1e6);
        let revision = model.revision.unwrap_or_default();
        table.add_row([&model.name, state, &size, &model.licence, &revision]);
    }
    render::print(table)?;
    render::warn(global, &format!("kept in {}", store.root().display()));
    Ok(())
}

fn tell(files: &ModelFiles, state: &str, global: &Global) -> anyhow::Result<()> {
    let (name, dir, fingerprint) = (files.name(), files.dir(), files.fingerprint());
    let path = dir.map_or_else(|| "built in".to_owned(), |dir| dir.display().to_string());
    if global.json {
        return render::json(
            &json!({"name": name, "state": state, "path": dir, "fingerprint": fingerprint}),
        );
    }
    render::line(&format!("{name}: {state}, {path}"))
}
