use super::*;
use crate::cli::args::{Command, RouteArgs};
use crate::engine::{Signal, Strategy};

/// `toolroute route …` with a file and variables.
fn route(file: &str, variables: &[(&str, &str)], typed: &[&str]) -> (RouteArgs, Settings) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolroute.toml");
    std::fs::write(&path, file).unwrap();
    let config = path.to_str().unwrap().to_owned();
    let mut all = vec!["toolroute", "--config", &config, "route"];
    all.extend(typed);
    let parsed = parse_from(all.into_iter().map(OsString::from).collect(), &|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    });
    let cli = match parsed {
        Ok(cli) => cli,
        Err(Refused::Typed(error)) => panic!("{error}"),
        Err(Refused::Configured(failure)) => panic!("{failure}"),
    };
    let Command::Route(args) = cli.command else { panic!("route was typed") };
    (args, cli.global.settings)
}

fn origin(settings: &Settings, key: &str) -> Origin {
    settings.effective.iter().find(|value| value.key == key).unwrap().origin.clone()
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
    assert_eq!(origin(&settings, "rrf_k"), Origin::Default);
    assert_eq!(args.prompt, ["a prompt"]);
}

#[test]
fn tables_become_settings_and_prompts_after_two_dashes_stay() {
    let file = "limit = \"auto:2\"\n[signals]\nintent = 0.25\n[profiles]\nresearch = [\"web__*\"]\n\
                git = {servers = [\"git\"]}\n\
                [small_models]\nmax_tools = 4\n[cache]\nttl_ms = 5\n[min_shares]\nkeyword = 1\n";
    let (args, settings) = route(file, &[], &["--", "--limit", "of what"]);
    assert_eq!((args.limit.most, args.prompt.len()), (2, 2));
    assert_eq!(settings.signals.unwrap().get(Signal::Intent), 0.25);
    assert_eq!(settings.profiles.as_ref().unwrap()["research"].tools, ["web__*"]);
    let mut config = EngineConfig::default();
    settings.apply(&mut config);
    assert_eq!(config.small_models.max_tools, 4);
    assert_eq!(config.profiles["git"], ["*"]);
    assert_eq!(config.profile_servers.len(), 1);
    assert_eq!(config.profile_servers["git"], ["git"]);
    assert_eq!(config.min_shares, Some(MinShares { semantic: 3, keyword: 1 }));
    let (_, settings) = route(file, &[("TOOLROUTE_SIGNALS", "phase=0.5,intent=0")], &["x"]);
    let signals = settings.signals.unwrap();
    assert_eq!((signals.get(Signal::Phase), signals.get(Signal::Intent)), (0.5, 0.0));
}

#[test]
fn paths_of_a_file_start_at_it_and_what_was_typed_is_not_contradicted() {
    let file = "tools = [\"my\"]\nindex = \"v.snapshot\"\nwhole = true\n";
    let (args, _) = route(file, &[], &["x", "--no-save"]);
    assert!(args.engine.index.is_none() && args.select.whole);
    assert!(args.catalog.tools[0].ends_with("my") && args.catalog.tools[0].is_absolute());
    let (args, settings) = route(file, &[("TOOLROUTE_TOOLS", "other")], &["x"]);
    assert!(args.catalog.tools.is_empty(), "the variable is filled in later");
    assert_eq!(origin(&settings, "tools"), Origin::Variable { name: "TOOLROUTE_TOOLS" });
    assert!(args.engine.index.unwrap().ends_with("v.snapshot"));
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let refused = |variables: &[(&str, &str)], typed: &[&str]| {
        let typed = typed.iter().map(OsString::from).collect();
        let refused = parse_from(typed, &|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        });
        match refused.err() {
            Some(Refused::Configured(failure)) => failure,
            _ => panic!("nothing was refused"),
        }
    };
    let route = ["toolroute", "route", "x"];
    let failure = refused(&[("TOOLROUTE_LIMIT", "many")], &route);
    assert!(failure.said.contains("TOOLROUTE_LIMIT: expected a number, `auto`"), "{failure}");
    let failure = refused(&[("TOOLROUTE_CONFIG", "/no/such.toml")], &route);
    assert_eq!(failure.code, exit::IO, "{failure}");
}

#[test]
fn a_command_gets_only_what_it_has_flags_for() {
    let file = "tools = [\"somewhere\"]\nlimit = 3\nthreads = 1\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toolroute.toml");
    std::fs::write(&path, file).unwrap();
    for typed in [
        &["config", "check"][..],
        &["doctor"],
        &["index"],
        &["tools", "list"],
        &["model", "list"],
        &["pins", "list"],
        &["feedback", "stats"],
        &["completions", "bash"],
    ] {
        let mut all = vec!["toolroute", "--config", path.to_str().unwrap()];
        all.extend(typed);
        let variables: Variables<'_> =
            &|name| (name == "TOOLROUTE_STRATEGY").then(|| "keyword".into());
        let parsed = parse_from(all.into_iter().map(OsString::from).collect(), variables);
        assert!(parsed.is_ok(), "{typed:?}");
    }
    // Told by the command itself: `ArgMatches::try_contains_id` knows in debug builds only.
    let mut command = Cli::command();
    let typed = ["toolroute", "pins", "list"];
    let matches = command.try_get_matches_from_mut(typed).unwrap();
    let leaf = Leaf::of(&command, &matches);
    assert!(leaf.knows("held") && leaf.knows("threads") && leaf.knows("pins"));
    assert!(!leaf.knows("tools") && !leaf.knows("limit") && !leaf.knows("servers"));
}
