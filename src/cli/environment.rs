//! What the environment says where no flag does. An empty variable is none.
//!
//! Not by clap: it counts a variable as a typed flag, so that one exported for another day would
//! conflict with what is typed now.

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(feature = "mcp")]
use clap::ValueEnum as _;

use super::args::{
    BenchArgs, BenchCommand, CatalogArgs, Command, EngineArgs, LedgerChoice, LedgerCommand,
    ModelArgs, ModelChoice, ModelCommand, SelectArgs, ToolsArgs, ToolsCommand,
};
use super::context_args::ListArgs;
#[cfg(feature = "mcp")]
use super::doctor::DoctorArgs;
use super::feedback_args::{FeedbackArgs, FeedbackCommand};
#[cfg(feature = "mcp")]
use super::pins::Pinning;

/// Fills in what was not typed.
pub fn fill(command: &mut Command) {
    fill_from(command, &|name| std::env::var_os(name));
    #[cfg(feature = "mcp")]
    fill_servers_file(command);
}

/// Where servers are needed and none are named, they are those of the file that `import` writes, if
/// there is one.
#[cfg(feature = "mcp")]
fn fill_servers_file(command: &mut Command) {
    let live = match command {
        Command::Call(args) => &mut args.catalog.live,
        Command::Run(args) => &mut args.catalog.live,
        Command::Doctor(args) => &mut args.catalog.live,
        #[cfg(feature = "server")]
        Command::Mcp(args) => &mut args.catalog.live,
        _ => return,
    };
    if live.servers.is_none() {
        live.servers = super::paths::servers().ok().filter(|path| path.is_file());
    }
}

type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn fill_from(command: &mut Command, variables: Variables<'_>) {
    match command {
        Command::Index(args) => both(&mut args.catalog, &mut args.engine, variables),
        Command::Learn(args) => {
            both(&mut args.catalog, &mut args.engine, variables);
            fill_path(&mut args.output, "TOOLROUTE_USAGE", variables);
            if let Some(log) = &mut args.log {
                fill_path(log, "TOOLROUTE_FEEDBACK", variables);
            }
        }
        Command::Route(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
            log(&mut args.history.feedback, variables);
        }
        Command::Batch(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
            log(&mut args.history.feedback, variables);
        }
        Command::Eval(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
        }
        Command::Bench(BenchArgs { what: Some(BenchCommand::Encoder(args)), .. }) => {
            choice(&mut args.choice, variables);
        }
        Command::Bench(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
        }
        Command::Tools(args) => tools(args, variables),
        Command::Analyze(args) => choice(&mut args.choice, variables),
        Command::Candidates(args) => {
            catalog(&mut args.catalog, variables);
            log(&mut args.history.feedback, variables);
        }
        Command::Model(args) => model(args, variables),
        Command::Feedback(args) => feedback(args, variables),
        Command::Completions { .. } | Command::Config(_) => {}
        runs => fill_runs(runs, variables),
    }
}

/// Of commands that run tools or show what came of it, those of servers apart.
fn fill_runs(command: &mut Command, variables: Variables<'_>) {
    match command {
        Command::Conduct(args) => {
            both(&mut args.catalog, &mut args.engine, variables);
            ledger(&mut args.ledger, variables);
            #[cfg(feature = "mcp")]
            log(&mut args.log.feedback, variables);
        }
        Command::Metrics(args) => {
            log(&mut args.feedback, variables);
            ledger(&mut args.ledger, variables);
        }
        Command::Ledger(args) => match &mut args.command {
            LedgerCommand::Show(args) => ledger(&mut args.ledger, variables),
        },
        #[cfg(feature = "mcp")]
        servers => fill_servers(servers, variables),
        #[cfg(not(feature = "mcp"))]
        _ => {}
    }
}

/// Of commands for servers and before them.
#[cfg(feature = "mcp")]
fn fill_servers(command: &mut Command, variables: Variables<'_>) {
    match command {
        Command::Call(args) => {
            both(&mut args.catalog, &mut args.engine, variables);
            log(&mut args.execution.log.feedback, variables);
        }
        Command::Run(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
            log(&mut args.execution.log.feedback, variables);
        }
        Command::Pins(args) => fill_path(&mut args.pins, "TOOLROUTE_PINS", variables),
        Command::Doctor(args) => doctor(args, variables),
        #[cfg(feature = "server")]
        Command::Mcp(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
            log(&mut args.record.log.feedback, variables);
        }
        #[cfg(feature = "server")]
        Command::Serve(args) => {
            all(&mut args.catalog, &mut args.engine, &mut args.select, variables);
            ledger(&mut args.ledger, variables);
            log(&mut args.record.log.feedback, variables);
        }
        #[cfg(feature = "server")]
        Command::Proxy(args) => choice(&mut args.choice, variables),
        _ => {}
    }
}

fn tools(args: &mut ToolsArgs, variables: Variables<'_>) {
    match &mut args.command {
        ToolsCommand::List(ListArgs { catalog: args, .. })
        | ToolsCommand::Validate(args)
        | ToolsCommand::Show { catalog: args, .. } => catalog(args, variables),
        ToolsCommand::Probe(args) => both(&mut args.catalog, &mut args.engine, variables),
    }
}

#[cfg(feature = "mcp")]
fn doctor(args: &mut DoctorArgs, variables: Variables<'_>) {
    both(&mut args.catalog, &mut args.engine, variables);
    fill_path(&mut args.feedback, "TOOLROUTE_FEEDBACK", variables);
    fill_path(&mut args.ledger, "TOOLROUTE_LEDGER", variables);
}

fn all(
    tools: &mut CatalogArgs,
    engine: &mut EngineArgs,
    select: &mut SelectArgs,
    variables: Variables<'_>,
) {
    both(tools, engine, variables);
    if !select.usage.no_usage {
        fill_path(&mut select.usage.usage, "TOOLROUTE_USAGE", variables);
    }
}

fn both(tools: &mut CatalogArgs, args: &mut EngineArgs, variables: Variables<'_>) {
    catalog(tools, variables);
    choice(&mut args.choice, variables);
    if !args.no_save {
        fill_path(&mut args.index, "TOOLROUTE_INDEX", variables);
    }
}

fn ledger(choice: &mut LedgerChoice, variables: Variables<'_>) {
    fill_path(&mut choice.ledger, "TOOLROUTE_LEDGER", variables);
}

fn log(feedback: &mut Option<PathBuf>, variables: Variables<'_>) {
    fill_path(feedback, "TOOLROUTE_FEEDBACK", variables);
}

fn choice(choice: &mut ModelChoice, variables: Variables<'_>) {
    fill_path(&mut choice.models, "TOOLROUTE_MODELS", variables);
    fill_text(&mut choice.model, "TOOLROUTE_MODEL", variables);
}

/// Several paths are separated as in `PATH`.
fn catalog(args: &mut CatalogArgs, variables: Variables<'_>) {
    if let (true, Some(value)) = (args.tools.is_empty(), set("TOOLROUTE_TOOLS", variables)) {
        let paths = std::env::split_paths(&value);
        args.tools = paths.filter(|path| !path.as_os_str().is_empty()).collect();
    }
    #[cfg(feature = "mcp")]
    {
        fill_path(&mut args.live.servers, "TOOLROUTE_SERVERS", variables);
        fill_path(&mut args.live.pinning.pins, "TOOLROUTE_PINS", variables);
        if args.live.pinning.pin_mode.is_none() {
            let said = set("TOOLROUTE_PIN", variables);
            // A word that is none of the three must not watch less than was meant.
            let said = said.map(|said| {
                Pinning::from_str(&said.to_string_lossy(), true).unwrap_or(Pinning::Strict)
            });
            args.live.pinning.pin_mode = said;
        }
    }
}

fn model(args: &mut ModelArgs, variables: Variables<'_>) {
    fill_path(&mut args.models, "TOOLROUTE_MODELS", variables);
    if let ModelCommand::Pull(args) = &mut args.command {
        fill_text(&mut args.endpoint, "HF_ENDPOINT", variables);
        fill_text(&mut args.token, "HF_TOKEN", variables);
    }
}

fn feedback(args: &mut FeedbackArgs, variables: Variables<'_>) {
    log(&mut args.feedback, variables);
    match &mut args.command {
        FeedbackCommand::Add(args) => choice(&mut args.choice, variables),
        FeedbackCommand::Recommend(args) => both(&mut args.catalog, &mut args.engine, variables),
        _ => {}
    }
}

fn fill_path(field: &mut Option<PathBuf>, name: &str, variables: Variables<'_>) {
    if field.is_none() {
        *field = set(name, variables).map(PathBuf::from);
    }
}

fn fill_text(field: &mut Option<String>, name: &str, variables: Variables<'_>) {
    if field.is_none() {
        *field = set(name, variables).map(|value| value.to_string_lossy().into_owned());
    }
}

fn set(name: &str, variables: Variables<'_>) -> Option<OsString> {
    variables(name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Cli, RouteArgs};

    fn route(typed: &[&str], variables: &[(&str, &str)]) -> RouteArgs {
        let mut command = Cli::parse_from([&["toolroute", "route"], typed].concat()).command;
        fill_from(&mut command, &|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        });
        let Command::Route(args) = command else { panic!("route was typed") };
        args
    }

    #[test]
    fn a_typed_flag_decides_and_an_empty_variable_is_none() {
        let all = [
            ("TOOLROUTE_MODELS", "models"),
            ("TOOLROUTE_MODEL", "model"),
            ("TOOLROUTE_INDEX", "index"),
        ];
        let filled = route(&[], &all).engine;
        assert_eq!(
            (filled.choice.models, filled.index),
            (Some("models".into()), Some("index".into()))
        );
        assert_eq!(filled.choice.model.as_deref(), Some("model"));
        let typed = route(&["--models", "a", "--model", "b", "--no-save"], &all).engine;
        assert_eq!(
            (typed.choice.models, typed.choice.model.as_deref()),
            (Some("a".into()), Some("b"))
        );
        assert_eq!(typed.index, None);
        let empty = route(&[], &all.map(|(name, _)| (name, ""))).engine;
        assert_eq!((empty.choice.models, empty.choice.model, empty.index), (None, None, None));
    }

    #[test]
    fn learn_reads_the_log_that_the_variable_names_only_where_a_log_was_asked_for() {
        let log = |typed: &[&str]| {
            let typed = [&["toolroute", "learn"], typed].concat();
            let mut command = Cli::parse_from(typed).command;
            fill_from(&mut command, &|name| {
                (name == "TOOLROUTE_FEEDBACK").then(|| "mine.db".into())
            });
            let Command::Learn(args) = command else { panic!("learn was typed") };
            args.log
        };
        assert_eq!(log(&["past.jsonl"]), None);
        assert_eq!(log(&["--log"]), Some(Some("mine.db".into())));
        assert_eq!(log(&["--log", "other.db"]), Some(Some("other.db".into())));
    }

    #[test]
    fn several_catalogs_are_separated_as_in_path() {
        let joined = std::env::join_paths(["a,b.jsonl", "c"]).unwrap();
        let variables = [("TOOLROUTE_TOOLS", joined.to_str().unwrap())];
        let paths = |args: RouteArgs| args.catalog.tools;
        assert_eq!(paths(route(&[], &variables)), [PathBuf::from("a,b.jsonl"), "c".into()]);
        assert_eq!(paths(route(&["--tools", "x,y"], &variables)), [PathBuf::from("x,y")]);
        assert!(paths(route(&[], &[("TOOLROUTE_TOOLS", "")])).is_empty());
    }
}
