use std::path::PathBuf;

use super::*;
use crate::cli::exit;
use crate::cli::settings::{Origin, keys};
use toolroute_rank::engine::{EngineConfig, MinShares, Signal, SignalWeights, Strategy};

fn parse(typed: &[&str], variables: &[(&str, &str)]) -> anyhow::Result<Cli> {
    Cli::read(typed.iter().map(OsString::from).collect(), &|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    })
}

/// Parses `toolroute …` with variables and a file.
fn configured(file: &str, typed: &[&str], variables: &[(&str, &str)]) -> Cli {
    let path = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(&path, file).unwrap();
    let config = ["toolroute", "--config", path.path().to_str().unwrap()];
    parse(&[&config, typed].concat(), variables).unwrap_or_else(|error| panic!("{error}"))
}

/// Parses `toolroute …` with variables and without a file.
fn read(typed: &[&str], variables: &[(&str, &str)]) -> Command {
    configured("", typed, variables).command
}

/// Parses `toolroute route …` with a file and variables.
fn route(
    file: &str,
    variables: &[(&str, &str)],
    typed: &[&str],
) -> (crate::cli::route::RouteArgs, Settings) {
    let cli = configured(file, &[&["route"], typed].concat(), variables);
    let Command::Route(args) = cli.command else { panic!("route was typed") };
    (args, cli.global.settings)
}

fn origin(settings: &Settings, key: &str) -> Origin {
    settings.of_files().find(|setting| setting.key() == key).unwrap().origin.clone()
}

#[test]
fn flags_win_over_variables_over_the_file_over_defaults() {
    let file = "tool_selection_strategy = \"keyword\"\nlimit = 7\nmin_confidence = 0.25\n";
    let variables = [("TOOLROUTE_LIMIT", "8"), ("TOOLROUTE_MIN_CONFIDENCE", "0.75")];
    let (args, settings) = route(file, &variables, &["--min-confidence", "0", "a prompt"]);
    assert_eq!(args.select.strategy, Strategy::Keyword);
    assert_eq!((args.limit.most, args.select.min_confidence), (8, 0.0));
    assert!(matches!(origin(&settings, "tool_selection_strategy"), Origin::File { .. }));
    assert_eq!(origin(&settings, "limit"), Origin::Variable { name: "TOOLROUTE_LIMIT" });
    let flag = Origin::Flag { name: "min-confidence".into() };
    assert_eq!(origin(&settings, "min_confidence"), flag);
    assert_eq!(origin(&settings, "policy_band"), Origin::Default);
    assert_eq!(args.prompt, ["a prompt"]);
}

#[test]
fn tables_become_settings_and_prompts_after_two_dashes_stay() {
    let file = "limit = \"auto:2\"\n[signals]\nintent = 0.25\n[profiles]\nresearch = [\"web__*\"]\n\
                git = {servers = [\"git\"]}\n\
                [small_models]\nmax_tools = 4\n[cache]\nttl_ms = 5\n[min_shares]\nkeyword = 1\n";
    let (args, settings) = route(file, &[], &["--", "--limit", "of what"]);
    assert_eq!((args.limit.most, args.prompt.len()), (2, 2));
    let signals = settings.table::<SignalWeights>(&keys::SIGNALS).unwrap();
    assert_eq!(signals.get(Signal::Intent), 0.25);
    assert_eq!(settings.profiles()["research"].tools, ["web__*"]);
    let mut config = EngineConfig::default();
    settings.apply(&mut config);
    assert_eq!(config.small_models.max_tools, 4);
    assert_eq!(config.profiles["git"], ["*"]);
    assert_eq!(config.profile_servers.len(), 1);
    assert_eq!(config.profile_servers["git"], ["git"]);
    assert_eq!(config.min_shares, Some(MinShares { semantic: 3, keyword: 1 }));
    let (_, settings) = route(file, &[("TOOLROUTE_SIGNALS", "phase=0.5,intent=0")], &["x"]);
    let signals = settings.table::<SignalWeights>(&keys::SIGNALS).unwrap();
    assert_eq!((signals.get(Signal::Phase), signals.get(Signal::Intent)), (0.5, 0.0));
}

#[test]
fn paths_of_a_file_start_at_it_and_what_was_typed_is_not_contradicted() {
    let file = "tools = [\"my\"]\nindex = \"v.snapshot\"\nwhole = true\n";
    let (args, _) = route(file, &[], &["x", "--no-save"]);
    assert!(args.engine.index.is_none() && args.select.whole);
    assert!(args.catalog.tools[0].ends_with("my") && args.catalog.tools[0].is_absolute());
    let (args, settings) = route(file, &[("TOOLROUTE_TOOLS", "other")], &["x"]);
    assert_eq!(args.catalog.tools, [PathBuf::from("other")]);
    assert_eq!(origin(&settings, "tools"), Origin::Variable { name: "TOOLROUTE_TOOLS" });
    assert!(args.engine.index.unwrap().ends_with("v.snapshot"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let refused = |variable| parse(&["toolroute", "route", "x"], &[variable]).err().unwrap();
    let failure = refused(("TOOLROUTE_LIMIT", "many"));
    let said = failure.to_string();
    assert!(said.contains("TOOLROUTE_LIMIT: expected a number, `auto`"), "{said}");
    let failure = refused(("TOOLROUTE_CONFIG", "/no/such.toml"));
    assert_eq!(exit::code(&failure), exit::IO, "{failure}");
}

#[test]
fn a_command_gets_only_what_it_has_flags_for() {
    let file = "tools = [\"somewhere\"]\nlimit = 3\nthreads = 1\n";
    for typed in [
        &["config", "check"][..],
        &["doctor"],
        &["index"],
        &["tools", "list"],
        &["model", "list"],
        &["pins", "list"],
        &["feedback", "stats"],
    ] {
        let cli = configured(file, typed, &[("TOOLROUTE_STRATEGY", "keyword")]);
        assert_eq!(cli.global.threads, Some(1), "{typed:?}");
    }
    let shell = configured(file, &["completions", "bash"], &[]);
    assert_eq!(shell.global.threads, None, "a shell's start reads no settings");
}

#[test]
fn a_typed_flag_decides_and_an_empty_variable_is_none() {
    let route = |typed: &[&str], variables: &[(&str, &str)]| {
        let Command::Route(args) = read(&[&["route"], typed].concat(), variables) else {
            panic!("route was typed")
        };
        args.engine
    };
    let all = [
        ("TOOLROUTE_MODELS", "models"),
        ("TOOLROUTE_MODEL", "model"),
        ("TOOLROUTE_INDEX", "index"),
        ("TOOLROUTE_DEVICE", "cuda:1"),
        ("TOOLROUTE_PRECISION", "f32"),
    ];
    let filled = route(&[], &all);
    assert_eq!((filled.choice.models, filled.index), (Some("models".into()), Some("index".into())));
    assert_eq!(filled.choice.model.as_deref(), Some("model"));
    assert_eq!(filled.choice.device.to_string(), "cuda:1");
    assert_eq!(filled.precision, toolroute_vectors::embedding::Precision::F32);
    let typed = route(&["--models", "a", "--model", "b", "--no-save"], &all);
    assert_eq!((typed.choice.models, typed.choice.model.as_deref()), (Some("a".into()), Some("b")));
    assert_eq!(typed.index, None);
    let empty = route(&[], &all.map(|(name, _)| (name, "")));
    assert_eq!((empty.choice.models, empty.choice.model, empty.index), (None, None, None));
}

#[test]
fn learn_reads_the_log_that_the_variable_names_only_where_a_log_was_asked_for() {
    let log = |typed: &[&str]| {
        let variables = [("TOOLROUTE_FEEDBACK", "mine.db"), ("TOOLROUTE_USAGE", "usage")];
        let Command::Learn(args) = read(&[&["learn"], typed].concat(), &variables) else {
            panic!("learn was typed")
        };
        (args.log, args.output.unwrap().to_str().unwrap().to_owned())
    };
    let usage = || "usage".to_owned();
    assert_eq!(log(&["past.jsonl"]), (None, usage()));
    assert_eq!(log(&["--log"]), (Some(Some("mine.db".into())), usage()));
    assert_eq!(log(&["--log", "other.db"]), (Some(Some("other.db".into())), usage()));
    assert_eq!(log(&["--output", "my"]), (None, "my".to_owned()));
}

#[test]
fn every_value_of_a_variable_fits_the_argument_that_takes_it() {
    let words = |key: &keys::Key| match key.kind {
        keys::Kind::Word(words) => words().to_vec(),
        keys::Kind::Number(..) | keys::Kind::Limit | keys::Kind::Count(..) => vec!["1"],
        keys::Kind::Flag => vec!["true", "false"],
        _ => vec!["cpu"],
    };
    for key in keys::KEYS.iter().filter(|key| !matches!(key.kind, keys::Kind::Table(_))) {
        for word in words(key) {
            let variables = [(key.variable, word)];
            if key.name != keys::CONFIG.name {
                read(&["route"], &variables);
                read(&["mcp"], &variables);
                read(&["serve"], &variables);
                read(&["feedback", "weights"], &variables);
                read(&["model", "pull"], &variables);
            }
        }
    }
}

#[test]
fn the_defaults_of_the_table_are_those_of_the_engine() {
    let Command::Route(args) = read(&["route"], &[]) else { panic!("route was typed") };
    let config = EngineConfig::default();
    assert_eq!(args.select.fusion().unwrap(), config.fusion);
    assert_eq!(args.select.strategy, config.strategy);
    assert_eq!(args.select.min_confidence, config.min_confidence);
    assert_eq!(args.select.policy_band, config.policy_band);
    assert_eq!(args.select.policy.policy(), config.policy);
    assert_eq!(args.engine.search, config.index);
}
