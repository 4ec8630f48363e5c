//! Whether the tools of an answer fit: `fits`, `unsure` and `none`, through every door.

use serde_json::{Value, json};

use crate::gateway::client::{Client, text};
use crate::http::{Server, post};
use crate::stand_ins::{journal, scripted};
use crate::support::{CommandExt as _, Sandbox, samples};

/// Tools that read and write files; none deletes one.
const FILES: &str = r#"[
    {"name": "read_file", "server": "fs", "description": "Reads the contents of a file"},
    {"name": "write_file", "server": "fs", "description": "Creates a file or overwrites it with new contents"},
    {"name": "list_directory", "server": "fs", "description": "Lists the files and folders of a directory"},
    {"name": "get_file_info", "server": "fs", "description": "Returns the size and the times of a file"}]"#;

const FITS: &str = "show me the contents of the file notes.txt";
const DELETES: &str = "delete the file old.txt";
const TALK: &str = "my knee hurts when it rains";

fn with_files(sandbox: &Sandbox) -> String {
    sandbox.write("files.json", FILES).to_str().unwrap().to_owned()
}

/// What an answer says of itself: the verdict, whether it has tools, and the reason.
fn verdict(answer: &Value) -> (&str, bool, &str) {
    let has_tools = !answer["tools"].as_array().unwrap().is_empty();
    (answer["fit"].as_str().unwrap(), has_tools, answer["fit_reason"].as_str().unwrap_or_default())
}

#[test]
fn an_answer_says_whether_its_tools_fit() {
    let sandbox = Sandbox::new();
    let tools = with_files(&sandbox);
    let route = |more: &[&str]| sandbox.json(&[&["route", "--tools", &tools], more].concat());
    assert_eq!(verdict(&route(&[FITS])), ("fits", true, ""));
    let talk = route(&[TALK]);
    let (fit, has_tools, reason) = verdict(&talk);
    assert_eq!((fit, has_tools, talk["abstained"].as_bool()), ("none", false, Some(true)));
    assert!(reason.starts_with("confidence 0.") && reason.ends_with(" is below 0.50"), "{talk}");
    assert!(!talk["excluded"].as_array().unwrap().is_empty(), "the nearest are named: {talk}");
    assert_eq!(talk["excluded"][0]["because"], reason);
    let always = route(&["--min-confidence", "0", TALK]);
    assert_eq!((verdict(&always).0, verdict(&always).1), ("unsure", true), "{always}");
    let among = route(&["--candidates", "fs__read_file", TALK]);
    assert_eq!((verdict(&among).0, verdict(&among).1), ("unsure", true), "{among}");
    let words = route(&["-s", "keyword", FITS]);
    assert_eq!((verdict(&words), words["confidence"].is_null()), (("fits", true, ""), true));
    let nothing = route(&["-s", "keyword", TALK]);
    assert_eq!(verdict(&nothing), ("none", false, ""));
}

#[test]
fn an_action_that_no_tool_does_is_said() {
    let sandbox = Sandbox::new();
    let tools = with_files(&sandbox);
    let route = |prompt: &str| sandbox.json(&["route", "--tools", &tools, prompt]);
    let answer = route(DELETES);
    let (fit, _, reason) = verdict(&answer);
    assert!(fit != "fits" && reason == "no tool here deletes", "{answer}");
    assert_eq!(verdict(&route("create the file old.txt")).0, "fits");
    let shown = sandbox.run(&["route", "--tools", &tools, DELETES]).stdout;
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.lines().next().unwrap().contains("no tool here deletes"), "{shown}");
    let with = format!(
        "{},{}]",
        FILES.trim_end_matches(']'),
        r#"{"name": "remove", "server": "fs", "description": "Removes a file from the disk"}"#
    );
    let with = sandbox.put("with.json", &with);
    let answer = sandbox.json(&["route", "--tools", &with, DELETES]);
    assert_eq!((verdict(&answer).0, &answer["tools"][0]["id"]), ("fits", &json!("fs__remove")));
}

#[test]
fn rows_of_a_batch_say_it() {
    let sandbox = Sandbox::new();
    let (tools, output) = (with_files(&sandbox), sandbox.path("r.jsonl"));
    let rows = [FITS, DELETES, TALK].map(|prompt| json!({ "query": prompt }).to_string() + "\n");
    let input = sandbox.put("q.jsonl", &(rows.concat() + "not json\n"));
    let (from, to) = (&input, output.to_str().unwrap());
    let summary = sandbox.json(&["batch", "--tools", &tools, "-i", from, "-o", to]);
    let rows = std::fs::read_to_string(&output).unwrap();
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(verdict(&rows[0]), ("fits", true, ""));
    assert_eq!(verdict(&rows[1]).2, "no tool here deletes");
    assert_eq!((verdict(&rows[2]).0, verdict(&rows[2]).1), ("none", false));
    assert_eq!(rows[3].get("fit"), None);
    let unsure = rows.iter().filter(|row| row["fit"] == "unsure").count();
    assert_eq!(summary["unsure"], unsure, "{summary}");
}

#[test]
fn it_is_said_over_http() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["serve", "--tools", &with_files(&sandbox)]);
    let ask = |body: Value| post(server.port, "/v1/select", &body).ok();
    assert_eq!(verdict(&ask(json!({"prompt": FITS}))), ("fits", true, ""));
    assert_eq!(verdict(&ask(json!({"prompt": DELETES}))).2, "no tool here deletes");
    assert_eq!(verdict(&ask(json!({"prompt": TALK}))).0, "none");
    let filtered = ask(json!({"prompt": FITS, "min_score": 1000.0}));
    assert_eq!((verdict(&filtered).0, filtered["no_tools"].as_str()), ("none", Some("filtered")));
}

#[test]
fn an_agent_is_told() {
    let mut tools: Vec<Value> = serde_json::from_str(FILES).unwrap();
    for tool in &mut tools {
        let name = tool["name"].as_str().unwrap().to_owned();
        *tool = json!({"name": name, "description": tool["description"],
            "inputSchema": {"type": "object"}, "does": {"answer": "done"}});
    }
    let sandbox = scripted(&[("fs", json!(tools))]);
    let mut command = sandbox.toolroute();
    command.current_dir(sandbox.dir.path());
    command.args(["mcp", "--servers"]).arg(sandbox.path("servers.json"));
    let mut client = Client::start(command);
    client.begin();
    let all = json!({"query": FITS, "limit": 50});
    client.find_until(all, |found| found["tools"].as_array().is_some_and(|all| all.len() == 4));
    let mut find = |prompt: &str| -> Value {
        let found = client.call("find_tools", json!({ "query": prompt }));
        serde_json::from_str(text(&found)).unwrap()
    };
    assert_eq!(verdict(&find(FITS)), ("fits", true, ""));
    assert_eq!(verdict(&find(DELETES)).2, "no tool here deletes");
    assert_ne!(verdict(&find(TALK)).0, "fits");
}

#[test]
fn a_tool_that_lacks_the_action_is_not_run() {
    let sandbox = Sandbox::new();
    let said = sandbox.fails(1, &["run", "--tools", &with_files(&sandbox), TALK]);
    assert!(said.contains("no tool fits"), "{said}");
    let tool = r#"[{"name": "write_file", "server": "fs", "description": "Creates or overwrites a file"}]"#;
    let tool = sandbox.write("write.json", tool);
    let said = sandbox.fails(1, &["run", "--tools", tool.to_str().unwrap(), DELETES]);
    assert!(said.contains("no tool fits this prompt: no tool here deletes"), "{said}");
}

/// What a filter leaves out: the tool that the prompt is for, with the filter's reason, beside
/// tools that do not fit for sure.
#[track_caller]
fn left_out(answer: &Value, because: &str) {
    assert_ne!(answer["fit"], "fits", "{answer}");
    let excluded = answer["excluded"].as_array().unwrap();
    let read = excluded.iter().find(|tool| tool["id"] == "fs__read_file").unwrap();
    assert!(read["because"].as_str().unwrap().contains(because), "{answer}");
}

#[test]
fn a_tool_that_is_left_out_does_not_vouch_for_the_others() {
    let sandbox = Sandbox::new();
    let tools = with_files(&sandbox);
    let cost = "[[overlay]]\nmatch = \"fs__read_file\"\ncost = \"high\"\n";
    let cost = sandbox.put("cost.toml", cost);
    let route = |prompt: &str, more: &[&str]| {
        sandbox.json(&[&["route", "--tools", &tools, prompt, "--overlay", &cost], more].concat())
    };
    let cheap = ["--max-cost", "low", "--undeclared", "admit"];
    left_out(&route(FITS, &cheap), "cost high is above low");
    left_out(&route(FITS, &["--exclude", "fs__read_file"]), "leaves out `fs__read_file`");
    let unfit = route(FITS, &["--exclude", "fs__read_file", "--min-confidence", "1"]);
    left_out(&unfit, "leaves out `fs__read_file`");
    assert_eq!((verdict(&unfit).0, &unfit["no_tools"]), ("none", &json!("nothing_fits")));
    assert!(unfit["excluded"].as_array().unwrap().len() > 1, "the nearest are named: {unfit}");
    left_out(&route("`fs__read_file`", &["--exclude", "fs__read_file"]), "leaves out");
    // The others are judged as if they were named.
    let others = ["fs__write_file", "fs__list_directory", "fs__get_file_info"];
    let named: Vec<&str> = others.iter().flat_map(|id| ["--candidates", id]).collect();
    let [named, left] = [&named, &["--exclude", "fs__read_file"][..]].map(|more| route(FITS, more));
    assert_eq!(
        (&named["confidence"], &named["evidence"]),
        (&left["confidence"], &left["evidence"])
    );
    // An excluded tool that does not fit changes nothing.
    let further = route(FITS, &["--exclude", "fs__list_directory"]);
    assert_eq!(verdict(&further), ("fits", true, ""));

    let (from, to) = (sandbox.path("q.jsonl"), sandbox.path("r.jsonl"));
    sandbox.write("q.jsonl", json!({ "query": FITS }).to_string());
    let batch = ["batch", "--tools", &tools, "--overlay", &cost, "-i", from.to_str().unwrap()];
    sandbox.run(&[&batch[..], &["-o", to.to_str().unwrap()], &cheap].concat());
    let row: Value = serde_json::from_str(&std::fs::read_to_string(to).unwrap()).unwrap();
    assert_ne!(row["fit"], "fits", "{row}");
}

#[test]
fn a_server_or_a_profile_is_judged_by_its_own_tools() {
    let search = r#",{"name": "search", "server": "web", "description": "Searches the web"}]"#;
    let sandbox = Sandbox::new();
    let tools = FILES.trim_end_matches(']').to_owned() + search;
    let tools = sandbox.put("both.json", tools);
    let config = "[profiles.web]\nservers = [\"web\"]\n";
    let config = sandbox.put("toolroute.toml", config);
    let args = ["serve", "--tools", &tools, "--config", &config];
    let server = Server::start(&sandbox, &args);
    let ask = |body: Value| post(server.port, "/v1/select", &body).ok();
    left_out(&ask(json!({"prompt": FITS, "server": "web"})), "enable");
    left_out(&ask(json!({"prompt": FITS, "profile": "web"})), "enable");
    left_out(&ask(json!({"prompts": [FITS, TALK], "server": "web"}))["results"][0], "enable");
    let context = json!({"excluded_tools": ["fs__read_file"]});
    left_out(&ask(json!({"prompt": FITS, "context": context})), "leaves out");
    assert_eq!(verdict(&ask(json!({"prompt": FITS, "server": "fs"}))), ("fits", true, ""));
}

/// The words of the command that a question ends with, without `toolroute`, as a shell reads them.
fn printed_command(said: &str) -> Vec<String> {
    let (_, command) =
        said.split_once("by its name: toolroute ").unwrap_or_else(|| panic!("{said}"));
    let print = format!("printf '%s\\n' {}", command.lines().next().unwrap());
    let output = std::process::Command::new("sh").args(["-c", &print]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn the_command_of_a_question_names_all_sources_of_tools() {
    let sandbox = scripted(&[("sky", json!([{"name": "clouds", "description": "Lists clouds"}]))]);
    let tools =
        json!([{"name": "rainfall", "server": "gauge", "description": "Measures rainfall"}]);
    let tools = sandbox.put("the tools.json", tools.to_string());
    let servers = sandbox.arg("servers.json");
    let sources = ["--tools", &tools, "--servers", &servers];
    for run in [&["run", "my knee hurts"][..], &["run", "--plan", "my knee hurts"]] {
        let command =
            sandbox.toolroute().args(run).args(sources).args(["--min-confidence", "0"]).assert();
        let said = [&command.get_output().stdout[..], &command.get_output().stderr].concat();
        let words = printed_command(&String::from_utf8(said).unwrap());
        assert!(sources.iter().all(|word| words.contains(&(*word).to_owned())), "{words:?}");
        // It finds the tool, which no server of the file runs.
        let command = sandbox.toolroute().args(&words).assert().code(1);
        let said = String::from_utf8_lossy(&command.get_output().stderr).into_owned();
        assert!(said.contains("has no server here"), "{said}");
    }
}

#[test]
fn no_command_is_shown_for_a_tool_that_does_the_opposite() {
    let tools = json!([
        {"name": "seal_box", "description": "Seals the box until somebody unseals it by hand."},
    ]);
    let sandbox = Sandbox::new();
    let file = sandbox.write("tools.json", tools.to_string());
    for run in [&["run", "unseal the box"][..], &["run", "--plan", "unseal the box"]] {
        let args = [run, &["--tools", file.to_str().unwrap(), "--dry-run"]].concat();
        let output = sandbox.toolroute().args(args).assert().code(2);
        let said = [&output.get_output().stdout[..], &output.get_output().stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert!(
            said.contains("no tool here unseals") && !said.contains("toolroute call"),
            "{said}"
        );
    }
}

#[test]
fn a_tool_that_is_not_sure_to_fit_runs_only_if_it_reads() {
    const SONGS: &str = "songs about rainfall";
    let tool = |name: &str, hints: Value| {
        json!([{"name": name, "description": "Measures rainfall", "annotations": hints,
                "inputSchema": {"type": "object"}, "does": {"answer": "done"}}])
    };
    for (hints, runs) in [
        (json!({"readOnlyHint": true}), true),
        (json!({"readOnlyHint": false}), false),
        (json!({}), false),
    ] {
        let sandbox = scripted(&[("sky", tool("rainfall", hints))]);
        let servers = sandbox.arg("servers.json");
        let common = ["--servers", &servers, "--min-confidence", "0"];
        let code = if runs { 0 } else { 2 };
        for run in [&["run", SONGS][..], &["run", "--plan", SONGS]] {
            let output = sandbox.toolroute().args(run).args(common).assert().code(code);
            let said = [&output.get_output().stdout[..], &output.get_output().stderr].concat();
            let said = String::from_utf8(said).unwrap();
            let asks = said.contains("is below 0.75, and sky__rainfall may change something")
                && said.contains("toolroute call sky__rainfall --args '{}'");
            assert_eq!(asks, !runs, "{said}");
        }
        // For programs, the question is on stdout.
        let run = ["run", SONGS, "--json"];
        let output = sandbox.toolroute().args(run).args(common).assert().code(code);
        let report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
        let state = if runs { "answered" } else { "clarify" };
        let told = (&report["outcome"], &report["tool"]);
        assert_eq!(told, (&json!(state), &json!("sky__rainfall")), "{report}");
        assert_eq!(
            report["message"].to_string().contains("may change something"),
            !runs,
            "{report}"
        );
        let server = Server::start(&sandbox, &[&["serve"], &common[..]].concat());
        let report = post(server.port, "/v1/run", &json!({"prompt": SONGS})).ok();
        assert_eq!(report["steps"][0]["state"], state, "{report}");
        assert_eq!(journal(&sandbox, "sky").len(), if runs { 4 } else { 0 });
    }
}

#[test]
fn a_prompt_that_cannot_be_read_changes_nothing_unasked() {
    let stop = json!([{"name": "stop_mixer", "description": "Stops the mixer", "does": {"answer": "done"}}]);
    let sandbox = scripted(&[("bakery", stop)]);
    let servers = sandbox.arg("servers.json");
    let asks = "in a language that is not read, and bakery__stop_mixer may change something";
    // Without a confidence, so that only the language is a reason to ask.
    for strategy in ["semantic", "keyword"] {
        let common = ["--servers", &servers, "--strategy", strategy];
        let prompt = "ferma il mixer per favore";
        let said = sandbox.fails(2, &[&["run", prompt], &common[..]].concat());
        assert!(said.contains(asks), "{strategy}: {said}");
        let answer = sandbox.json(&[&["route", prompt], &common[..]].concat());
        assert_eq!(answer["degraded"], "unread_language", "{strategy}: {answer:#}");
    }
    assert_eq!(journal(&sandbox, "bakery").len(), 0);
    // However near a tool is, nobody knows whether it is meant.
    let mail = json!([{"name": "send_email", "description": "Sends an email about a meeting to a person"}]);
    let mail = sandbox.put("mail.json", mail.to_string());
    let prompt = "stuur een email naar Anna over de meeting";
    let answer = sandbox.json(&["route", prompt, "--tools", &mail]);
    assert!(answer["confidence"].as_f64().unwrap() > 0.75, "{answer:#}");
    let told = (answer["fit"].as_str(), answer["fit_reason"].as_str());
    let why = "the prompt is in a language that the model does not read";
    assert_eq!(told, (Some("unsure"), Some(why)), "{answer:#}");
}

#[test]
fn nothing_is_changed_that_a_prompt_forbids_or_that_the_tool_cannot_say() {
    let text = json!({"type": "object", "properties": {"guests": {"type": "integer"}}});
    let tools = json!([
        {"name": "change_guest_count", "description": "Guests of the event, for the kitchen",
         "inputSchema": text, "does": {"answer": "done"}},
        {"name": "send_confirmation", "description": "Sends the guest the confirmation of the booking",
         "does": {"answer": "done"}}]);
    let sandbox = scripted(&[("events", tools)]);
    let servers = sandbox.arg("servers.json");
    for (prompt, because) in [
        ("Don't change the guest count to 155", "change_guest_count may change something"),
        (
            "send the guest a message that his taxi is here",
            "no parameter takes \"his taxi is here\"",
        ),
    ] {
        let run = ["run", prompt, "--servers", &servers, "--min-confidence", "0"];
        let said = sandbox.fails(2, &run);
        assert!(said.contains(because), "{said}");
    }
    assert_eq!(journal(&sandbox, "events").len(), 0);
}

#[test]
fn small_talk_calls_no_tool_that_only_reads() {
    let wind = json!([{"name": "get_wind_forecast", "description": "Wind for the next hours at the berths",
        "annotations": {"readOnlyHint": true}, "does": {"answer": "calm"}}]);
    let sandbox = scripted(&[("quay", wind)]);
    let servers = sandbox.arg("servers.json");
    let run = |prompt| ["run", prompt, "--servers", &servers, "--min-confidence", "0"];
    let said = sandbox.fails(2, &run("good morning!"));
    assert!(said.contains("the prompt says nothing of quay__get_wind_forecast"), "{said}");
    assert_eq!(journal(&sandbox, "quay").len(), 0);
    sandbox.run(&run("wind at the berths?"));
    assert_eq!(journal(&sandbox, "quay").len(), 1);
}

#[test]
fn a_least_confidence_without_a_confidence_is_noticed() {
    let sandbox = Sandbox::new();
    let tools = with_files(&sandbox);
    let warned = |more: &[&str]| {
        let typed = ["route", "--tools", &tools, FITS];
        let output = sandbox.run(&[&typed, more].concat());
        String::from_utf8(output.stderr).unwrap().contains("--min-confidence changes nothing with")
    };
    for without in [["-s", "keyword"], ["-s", "semantic"], ["--blend", "plain"]] {
        assert!(warned(&[&without[..], &["--min-confidence", "0.9"]].concat()), "{without:?}");
        assert!(!warned(&without), "{without:?}");
    }
    assert!(!warned(&["--min-confidence", "0.1"]));
}

#[test]
fn quality_is_measured_as_it_ships() {
    let sandbox = Sandbox::new();
    let rows = [(FITS, "fs__read_file"), (TALK, "fs__read_file")];
    let rows = rows.map(|(query, id)| json!({"query": query, "gold": [id]}).to_string() + "\n");
    let (tools, queries) = (with_files(&sandbox), sandbox.write("q.jsonl", rows.concat()));
    let args = ["eval", "--tools", &tools, "--queries", queries.to_str().unwrap()];
    let result = |more: &[&str]| sandbox.json(&[&args[..], more].concat())["results"][0].clone();
    let shipped = result(&[]);
    let recall = |of: &Value| of["recall@5"].as_f64().unwrap();
    assert_eq!((recall(&shipped), recall(&shipped["without_abstention"])), (0.5, 1.0), "{shipped}");
    assert_eq!((&shipped["none"], &shipped["unsure"]), (&json!(0.5), &json!(0.0)));
    let always = result(&["--min-confidence", "0"]);
    assert_eq!((recall(&always), &always["unsure"]), (1.0, &json!(0.5)), "{always}");
    assert_eq!(always["right_first"], json!({"fits": 1.0, "unsure": 0.0}));
    assert_eq!(shipped["right_first"], Value::Null, "no answer is unsure: {shipped}");
    assert_eq!(recall(&result(&["--min-confidence", "1", "--tools", &samples()])), 0.0);
}

#[test]
fn prompts_that_no_tool_serves_are_counted_apart() {
    let sandbox = Sandbox::new();
    let rows = [
        json!({"query": FITS, "gold": ["fs__read_file"]}),
        json!({"query": TALK, "gold": []}),
        json!({"query": FITS, "tools": []}),
    ];
    let rows = rows.map(|row| row.to_string() + "\n");
    let tools = with_files(&sandbox);
    let file = |name: &str, rows: &[String]| {
        sandbox.write(name, rows.concat()).to_str().unwrap().to_owned()
    };
    let (all, unserved) = (file("all.jsonl", &rows), file("unserved.jsonl", &rows[1..]));
    let args = ["eval", "--tools", &tools, "--queries", &all, "--misses"];
    let report = sandbox.json(&args);
    let result = &report["results"][0];
    assert_eq!((&report["queries"], &report["bad"]), (&json!(1), &Value::Null), "{report}");
    assert_eq!((&result["recall@1"], &result["none"]), (&json!(1.0), &json!(0.0)), "{report}");
    assert_eq!(result["unserved"], json!({"queries": 2, "none": 0.5, "unsure": 0.0}));
    // One that is answered as if a tool served it is a miss.
    let misses = report["misses"].as_array().unwrap();
    assert_eq!((misses.len(), &misses[0]["line"], &misses[0]["gold"]), (1, &json!(3), &json!([])));
    let table = String::from_utf8(sandbox.run(&args).stdout).unwrap();
    assert!(table.contains("prompts without a tool") && table.contains("right: –"), "{table}");
    let alone = ["eval", "--tools", &tools, "--queries", &unserved];
    let table = String::from_utf8(sandbox.run(&alone).stdout).unwrap();
    assert!(table.contains("0.500") && !table.contains("nDCG"), "{table}");
}
