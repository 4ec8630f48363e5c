//! Messages of the command line and the server that name a cure: the cure is one that works.

use crate::support::{Sandbox, samples};

#[test]
fn patterns_that_match_nothing_are_told_and_those_that_match_are_left_out() {
    let sandbox = Sandbox::new();
    let tools = samples();
    let route = |more: &[&str]| {
        let args = ["route", "-s", "keyword", "current weather", "--tools", &tools];
        let output = sandbox.run(&[&args[..], more].concat());
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap())
    };
    let [table, notes] = route(&["--exclude", "meteo__*", "--exclude", "nope_*"]);
    assert!(!table.contains("meteo__") && !table.contains("excluded"), "{table}");
    let told = notes.contains("`nope_*` matches none of the 103 tools; ids look like `");
    assert!(told && !notes.contains("`meteo__*`"), "{notes}");
    let [table, notes] = route(&["--enable", "meteo"]);
    assert!(table.contains("no tool is left") && !table.contains("excluded"), "{table}");
    assert!(notes.contains("ids look like `meteo__"), "{notes}");
    let profiles = "[profiles]\nsky = [\"meteo__*\", \"sky__*\"]\n";
    let config = sandbox.write("toolroute.toml", profiles);
    let [_, notes] = route(&["--profile", "sky", "--config", config.to_str().unwrap(), "--json"]);
    assert_eq!(notes.matches("matches none of").count(), 1, "{notes}");
    assert!(notes.contains("`sky__*` matches none"), "{notes}");
}
