//! A prompt with several needs, run step by step: over the command line and HTTP.

use serde_json::{Value, json};

use crate::http::{Server, post};
use crate::stand_ins::{journal, scripted};
use crate::support::Sandbox;

/// A weather station, a mailbox and a store.
fn house() -> Sandbox {
    let takes = |required: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    scripted(&[
        (
            "weather",
            json!([
                {"name": "get_forecast", "description": "Gets the weather forecast of a city",
                 "inputSchema": takes(&["city"]), "annotations": {"readOnlyHint": true},
                 "does": {"answer": "rain in {city}"}},
            ]),
        ),
        (
            "mail",
            json!([
                {"name": "send_email", "description": "Sends an email with a text to a person's address",
                 "inputSchema": takes(&["to", "body"]), "annotations": {"readOnlyHint": false},
                 "does": {"answer": "sent to {to}"}},
            ]),
        ),
        (
            "store",
            json!([
                {"name": "delete_file", "description": "Deletes a file from the disk",
                 "inputSchema": takes(&["path"]), "annotations": {"destructiveHint": true},
                 "does": {"answer": "deleted {path}"}},
            ]),
        ),
    ])
}

const PROMPT: &str =
    "Get the weather forecast for Paris and send that by email to dana@example.org";

fn states(report: &Value) -> Vec<&str> {
    let steps = report["steps"].as_array().unwrap();
    steps.iter().map(|step| step["state"].as_str().unwrap()).collect()
}

#[test]
fn a_plan_and_a_run_search_for_the_same_words() {
    let schema = json!({"type": "object", "required": ["query"], "properties": {"query": {"type": "string"}}});
    let books = json!([{"name": "search_books", "description": "Searches the books of a library",
        "inputSchema": schema, "annotations": {"readOnlyHint": true}, "does": {"answer": "found {query}"}}]);
    let sandbox = scripted(&[("library", books)]);
    let servers = sandbox.arg("servers.json");
    let common = ["search books about dune", "--servers", &servers, "--model", "static"];
    let run = sandbox.json(&[&["run"][..], &common].concat());
    let plan = sandbox.json(&[&["run", "--plan"][..], &common].concat());
    assert_eq!(run["arguments"], plan["steps"][0]["arguments"], "{plan:#}");
    assert_eq!(run["arguments"]["arguments"], json!({"query": "dune"}));
    assert_eq!(run["arguments"]["sources"][0]["text"], "dune", "{run:#}");
}

/// A bakery whose tools take the number of an oven or of an order.
fn bakery() -> Sandbox {
    let takes = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "integer"}}});
    let tool = |name: &str, about: &str, schema: Value, reads: bool| {
        json!({"name": name, "description": about, "inputSchema": schema,
               "annotations": {"readOnlyHint": reads, "destructiveHint": false}, "does": {"answer": name}})
    };
    let none = json!({"type": "object"});
    scripted(&[(
        "bakery",
        json!([
            tool("get_temperature", "Tells how hot an oven is", takes("oven"), true),
            tool("get_stock", "Tells how much rye is left in stock", none, true),
            tool("cancel_order", "Cancels an order of a customer", takes("order"), false),
            tool("refund_order", "Refunds the money of an order", takes("order"), false),
        ]),
    )])
}

/// What `run --plan` answers to a prompt, and its exit code.
fn planned(sandbox: &Sandbox, prompt: &str, more: &[&str]) -> (Value, Option<i32>) {
    let mut command = sandbox.toolroute();
    command.args(["run", "--plan", prompt, "--model", "static", "--json", "--servers"]);
    let output = command.arg(sandbox.path("servers.json")).args(more).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

#[test]
fn no_wish_is_lost_and_what_is_doubtful_is_told() {
    let sandbox = bakery();
    let plan = |prompt: &str| planned(&sandbox, prompt, &[]).0;
    let report = plan("how hot is oven 1 and how much rye is left");
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    assert_eq!(report["complete"], true);
    let report = plan("cancel order 12 and refund it");
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let wanted = [
        r#"get_temperature {"oven": 1}"#,
        "get_stock {}",
        r#"cancel_order {"order": 12}"#,
        r#"refund_order {"order": 12}"#,
    ];
    assert_eq!(journal(&sandbox, "bakery"), wanted);
    let report = plan("Please:\n1. cancel order 14\n2. tell me how hot oven 2 is");
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let wanted = [r#"cancel_order {"order": 14}"#, r#"get_temperature {"oven": 2}"#];
    assert_eq!(journal(&sandbox, "bakery")[4..], wanted);
    let report = plan("how much rye is left and how much rye is in stock");
    assert_eq!(states(&report), ["answered"], "one call is one step: {report:#}");
    let report = plan("check how hot oven 1 is and how much rye is left");
    assert_eq!(report["complete"], false, "{report:#}");
    let last = report["steps"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["need"], &last["state"]),
        (&json!("how much rye is left"), &json!("not_run"))
    );
    assert!(last["why"].as_str().unwrap().contains("ask for it by itself"), "{last}");
}

#[test]
fn a_run_of_one_of_several_things_asks_or_says_so() {
    let sandbox = bakery();
    let run = |prompt: &str| {
        let mut command = sandbox.toolroute();
        command.args(["run", prompt, "--model", "static", "--json", "--servers"]);
        command.arg(sandbox.path("servers.json")).output().unwrap()
    };
    let asked = run("cancel order 14 and refund it");
    let said = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(said.contains("asks for 2 things") && said.contains("--plan"), "{said}");
    assert_eq!((asked.status.code(), journal(&sandbox, "bakery").len()), (Some(2), 0), "{said}");
    let told = run("how hot is oven 1 and how much rye is left");
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(said.contains("asks for 2 things"), "{said}");
    assert_eq!(journal(&sandbox, "bakery").len(), 1, "{said}");
}

#[test]
fn each_need_gets_its_tool_and_the_result_of_the_one_before() {
    let sandbox = house();
    let servers = sandbox.arg("servers.json");
    let typed = ["run", "--plan", PROMPT, "--servers", &servers, "--model", "static"];
    let report = sandbox.json(&typed);
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    assert_eq!(report["complete"], true);
    let [forecast, mail] = [&report["steps"][0], &report["steps"][1]];
    assert_eq!(
        (&forecast["tool"], &mail["tool"]),
        (&json!("weather__get_forecast"), &json!("mail__send_email"))
    );
    assert_eq!(forecast["arguments"]["arguments"], json!({"city": "Paris"}));
    assert_eq!(mail["arguments"]["arguments"]["to"], "dana@example.org");
    let body = &mail["arguments"]["sources"];
    let from = body.as_array().unwrap().iter().find(|source| source["name"] == "body").unwrap();
    assert_eq!(from["from"], "last_result", "{mail:#}");
    assert_eq!(journal(&sandbox, "mail").len(), 1);
    assert!(journal(&sandbox, "mail")[0].contains("rain in Paris"));
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let report = post(server.port, "/v1/run", &json!({"prompt": PROMPT})).ok();
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let draft = post(server.port, "/v1/run", &json!({"prompt": PROMPT, "dry_run": true})).ok();
    assert_eq!(draft["steps"][0]["state"], "ready", "{draft:#}");
    assert_eq!(journal(&sandbox, "mail").len(), 2, "nothing is called that is only shown");
}

#[test]
fn a_plan_stops_at_what_is_missing_at_what_is_not_agreed_to_and_at_the_loop_guard() {
    let sandbox = house();
    let servers = sandbox.arg("servers.json");
    let plan = |prompt: &str, more: &[&str], code: i32| {
        let (report, found) = planned(&sandbox, prompt, more);
        assert_eq!(found, Some(code), "{report:#}");
        report
    };
    let missing = "Get the weather forecast and then delete the file /tmp/report.txt from the disk";
    let report = plan(missing, &[], 2);
    assert_eq!(states(&report), ["clarify", "not_run"], "{report:#}");
    let deletes =
        "Delete the file /tmp/report.txt from the disk and get the weather forecast for Paris";
    let report = plan(deletes, &[], 2);
    assert_eq!(states(&report), ["confirm", "not_run"], "{report:#}");
    assert_eq!(journal(&sandbox, "store"), [] as [&str; 0]);
    let report = plan(deletes, &["--yes"], 0);
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let forbidden = "do not send an email to dana@example.org that says \"hello\"";
    let report = plan(forbidden, &[], 2);
    assert_eq!(states(&report), ["clarify"], "{report:#}");
    assert!(report["steps"][0]["why"].as_str().unwrap().contains("\"do not\""), "{report:#}");
    let forbidden = "No envíes un correo a dana@example.org";
    let said = sandbox.fails(2, &["run", forbidden, "--servers", &servers]);
    assert!(said.contains("the prompt says \"no\""), "{said}");
    let condition = "If it rains in Paris, send an email to dana@example.org that says \"hello\"";
    let said = sandbox.fails(2, &["run", condition, "--servers", &servers, "--model", "static"]);
    assert!(said.contains("the prompt says \"if\""), "{said}");
    assert_eq!(journal(&sandbox, "mail"), [] as [&str; 0]);
    let quoted =
        "Send an email to dana@example.org that says \"drink tea and get the weather forecast\"";
    let report = plan(quoted, &["--dry-run"], 0);
    assert_eq!(states(&report), ["ready"], "what is quoted is said, not asked for: {report:#}");
    let forecast = "get the weather forecast for Oslo";
    for _ in 0..3 {
        plan(forecast, &["--session", "weather"], 0);
    }
    let report = plan(forecast, &["--session", "weather"], 1);
    assert_eq!(states(&report), ["failed"], "{report:#}");
    let said = sandbox.fails(2, &["run", "--plan", "x", "--args", "{}", "--servers", &servers]);
    assert!(said.contains("--plan"), "{said}");
}

#[test]
fn an_order_with_a_condition_a_later_time_or_a_ban_anywhere_is_asked_about_first() {
    let minutes = json!({"type": "object", "required": ["minutes"],
        "properties": {"minutes": {"type": "number"}}});
    let mixer = json!([
        {"name": "stop_mixer", "description": "Stops the dough mixer", "does": {"answer": "stopped"},
         "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": false}},
        {"name": "start_mixer", "description": "Starts the dough mixer for some minutes",
         "does": {"answer": "started"}, "inputSchema": minutes, "annotations": {"destructiveHint": false}},
    ]);
    let sandbox = scripted(&[("bakery", mixer)]);
    let servers = sandbox.arg("servers.json");
    let common = ["--servers", &servers, "--model", "static"];
    let server = Server::start(&sandbox, &[&["serve"][..], &common].concat());
    for (prompt, word) in [
        ("stop the mixer if it is too warm", "\"if\""),
        ("stop the mixer in case it is too warm", "\"in case\""),
        ("when the dough is warm, stop the mixer", "\"when\""),
        ("check whether the dough is warm and stop the mixer", "\"whether\""),
        ("stop the mixer and start the mixer for 5 minutes if it is warm", "\"if\""),
        ("stop the mixer and start the mixer for 5 minutes tomorrow", "\"tomorrow\""),
        ("stop the mixer and start the mixer for 5 minutes on 5 May", "\"5 May\""),
        ("stop the mixer and start the mixer for 5 minutes, only on Sundays", "\"only on\""),
        ("stop the mixer, only with the baker's consent", "\"with the baker's consent\""),
        ("stop the mixer in 5 minutes", "\"5 minutes\""),
        ("stop the mixer at 5", "\"5\""),
        ("stop the mixer in an hour", "\"an hour\""),
        ("stop the mixer in a couple of minutes", "\"in a couple of minutes\""),
        ("stop the mixer tomorrow", "\"tomorrow\""),
        ("start the mixer for 5 minutes in an hour", "\"an hour\""),
        ("the mixer must not be stopped", "must not"),
        ("nobody should stop the mixer", "nobody"),
        ("stop the mixer? not yet", "\"not\""),
        ("stop the mixer should the dough get too warm", "\"should\""),
        ("maybe stop the mixer", "\"maybe\""),
        ("can I stop the mixer?", "asks a question"),
        ("tell me how to stop the mixer", "asks a question"),
        ("Dana has stopped the mixer", "tells something"),
        ("my boss wants me to stop the mixer", "tells something"),
        ("please ask Dana to stop the mixer", "somebody else"),
        ("remind me to stop the mixer", "somebody else"),
        ("¿puedo parar la batidora?", "asks a question"),
        ("Ist der Mixer gestoppt?", "asks a question"),
        ("wir stoppen den Mixer schon", "tells something"),
        ("arrête le mixeur demain", "\"tomorrow\""),
        ("останови миксер и запусти миксер на 5 минут завтра", "\"tomorrow\""),
    ] {
        let said = sandbox.fails(2, &[&["run", prompt][..], &common].concat());
        assert!(said.contains(word), "{prompt}: {said}");
        assert!(said.contains(&format!("--servers {servers}")), "{prompt}: {said}");
        let plan = post(server.port, "/v1/run", &json!({"prompt": prompt})).ok();
        assert_eq!(plan["complete"], false, "{prompt}: {plan:#}");
    }
    assert_eq!(journal(&sandbox, "bakery"), [] as [&str; 0]);
    let report = sandbox.json(&[&["run", "start the mixer for 5 minutes"][..], &common].concat());
    assert_eq!(report["arguments"]["arguments"], json!({"minutes": 5}), "{report:#}");
    for prompt in [
        "stop the mixer at once",
        "would you please stop the mixer",
        "the mixer is too loud, stop it if you can",
        "don't forget to stop the mixer",
    ] {
        sandbox.json(&[&["run", prompt][..], &common].concat());
    }
    assert_eq!(journal(&sandbox, "bakery").len(), 5);
}

#[test]
fn a_time_is_a_value_where_the_tool_is_about_a_later_time() {
    let takes = |required: &[&str]| {
        json!({"type": "object", "required": required, "properties": {
            "text": {"type": "string"}, "minutes": {"type": "integer"}}})
    };
    let tool = |name: &str, about: &str, schema: Value| {
        json!({"name": name, "description": about, "inputSchema": schema,
               "annotations": {"readOnlyHint": false}, "does": {"answer": name}})
    };
    let sandbox = scripted(&[(
        "bakery",
        json!([
            tool("remind", "Reminds you of something", takes(&["text", "minutes"])),
            tool("start_mixer", "Starts the dough mixer", takes(&[])),
        ]),
    )]);
    let servers = sandbox.arg("servers.json");
    let common = ["--servers", &servers, "--model", "static", "--dry-run"];
    for (prompt, minutes) in [
        ("remind me in 5 minutes to call Anna", 5),
        ("remind me in an hour to call Anna", 60),
        ("remind me to call Anna in 5 minutes.", 5),
    ] {
        let report = sandbox.json(&[&["run", prompt][..], &common].concat());
        let taken = json!({"text": "call Anna", "minutes": minutes});
        assert_eq!(report["arguments"]["arguments"], taken, "{prompt}: {report:#}");
    }
    let report = sandbox.json(&[&["run", "start the mixer for 5 minutes"][..], &common].concat());
    assert_eq!(report["arguments"]["arguments"], json!({"minutes": 5}), "{report:#}");
    let said = sandbox.fails(2, &[&["run", "start the mixer in 5 minutes"][..], &common].concat());
    assert!(said.contains("5 minutes"), "{said}");
}

/// A car, whose tools are named after its things.
fn car() -> Sandbox {
    let takes = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let switch = |name: &str| takes(json!({name: {"type": "boolean"}}), &[name]);
    let tool = |name: &str, about: &str, schema: Value| json!({"name": name, "description": about, "inputSchema": schema, "does": {"answer": name}});
    scripted(&[(
        "car",
        json!([
            tool("trunk", "Open or close the trunk.", switch("open")),
            tool("sentry", "Sentry mode with cameras.", switch("on")),
            tool("location", "Where the car is.", takes(json!({}), &[])),
            tool("trips", "Trips of the car.", takes(json!({"limit": {"type": "integer"}}), &[])),
            tool("horn", "Sounds the horn.", takes(json!({}), &[])),
        ]),
    )])
}

#[test]
fn tools_that_are_named_after_things_answer_questions_and_switch_what_is_said() {
    let sandbox = car();
    let servers = sandbox.arg("servers.json");
    let common = ["--servers", &servers, "--dry-run"];
    for (prompt, tool, arguments) in [
        ("where is the car?", "car__location", json!({})),
        ("which trips did the car make?", "car__trips", json!({})),
        ("turn on sentry mode", "car__sentry", json!({"on": true})),
        ("open the trunk", "car__trunk", json!({"open": true})),
    ] {
        let report = sandbox.json(&[&["run", prompt][..], &common].concat());
        assert_eq!(report["tool"], tool, "{prompt}: {report:#}");
        assert_eq!(report["arguments"]["arguments"], arguments, "{prompt}: {report:#}");
    }
    for (prompt, word) in
        [("open the sunroof", "\"sunroof\""), ("is the trunk open?", "asks a question")]
    {
        let said = sandbox.fails(2, &[&["run", prompt][..], &common].concat());
        assert!(said.contains(word), "{prompt}: {said}");
    }
}

#[test]
fn a_draft_of_a_plan_needs_no_servers() {
    let sandbox = car();
    let servers = sandbox.arg("servers.json");
    let listed = sandbox.json(&["tools", "list", "--servers", &servers]);
    let tools = &sandbox.put("car.json", listed.to_string());
    let prompt = "turn on sentry mode and open the trunk";
    let report = sandbox.json(&["run", "--plan", "--dry-run", "--tools", tools, prompt]);
    assert_eq!(states(&report), ["ready", "ready"], "{report:#}");
    let said = sandbox.fails(2, &["run", "--plan", "--tools", tools, prompt]);
    assert!(said.contains("no servers are named"), "{said}");
}

/// Allotments, with their gardeners and keys.
fn garden() -> Sandbox {
    let takes = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties});
    let text = || json!({"type": "string"});
    let plot = || json!({"plot_id": text(), "refund_iban": {"type": "string", "description": "IBAN that the deposit is paid out to"}});
    let key = json!({"plot_id": text(), "kind": {"enum": ["gate", "shed"]}});
    let of_gardener = || takes(&["gardener_id"], json!({"gardener_id": text()}));
    let tool = |name: &str, about: &str, schema: Value, (reads, does): (bool, Value)| {
        json!({"name": name, "description": about, "inputSchema": schema,
               "annotations": {"readOnlyHint": reads}, "does": does})
    };
    let found = json!({"data": {"gardeners": [{"gardener_id": "G-4", "name": "Ines"}]}});
    let done = || json!({"answer": "done"});
    scripted(&[(
        "garden",
        json!([
            tool("close_plot", "Closes a plot", takes(&["plot_id"], plot()), (false, done())),
            tool(
                "order_key",
                "Orders a key of a plot",
                takes(&["plot_id", "kind"], key),
                (false, done())
            ),
            tool(
                "find_gardeners",
                "Finds gardeners by their name",
                takes(&["name"], json!({"name": text()})),
                (true, found)
            ),
            tool("list_plots", "Lists the plots of a gardener", of_gardener(), (true, done())),
            tool("list_loans", "Lists the loans of a gardener", of_gardener(), (true, done())),
        ]),
    )])
}

#[test]
fn a_plan_looks_at_all_steps_before_it_changes_anything() {
    let sandbox = garden();
    let servers = sandbox.arg("servers.json");
    let plan = |prompt: &str, more: &[&str]| planned(&sandbox, prompt, more);
    let impossible = "close plot P-7 and order a key of plot P-8";
    for more in [&[][..], &["--dry-run"]] {
        let (report, code) = plan(impossible, more);
        assert_eq!(states(&report), ["not_run", "clarify"], "{report:#}");
        assert_eq!(code, Some(2));
        let why = report["steps"][0]["why"].as_str().unwrap();
        assert!(why.contains("\"order a key of plot P-8\""), "{why}");
    }
    let (report, _) = plan("list the plots of gardener G-4 and order a key of plot P-8", &[]);
    assert_eq!(states(&report), ["answered", "clarify"], "what reads is called: {report:#}");
    assert_eq!(journal(&sandbox, "garden"), [r#"list_plots {"gardener_id": "G-4"}"#]);
    let server = Server::by_static(&sandbox, &["--servers", &servers]);
    let report = post(server.port, "/v1/run", &json!({"prompt": impossible})).ok();
    assert_eq!(states(&report), ["not_run", "clarify"], "{report:#}");
    let (report, code) = plan("close plot P-7, pay out to DE89370400440532013000", &[]);
    assert_eq!((states(&report), code), (vec!["answered"], Some(0)), "{report:#}");
    let closed = r#"close_plot {"plot_id": "P-7", "refund_iban": "DE89370400440532013000"}"#;
    assert_eq!(journal(&sandbox, "garden")[1..], [closed]);
}

#[test]
fn a_step_takes_the_values_of_the_one_before_to_which_it_refers() {
    let sandbox = garden();
    let plan = |prompt: &str| planned(&sandbox, prompt, &[]).0;
    let report = plan("find the gardener \"Ines\" and list her plots");
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let source = &report["steps"][1]["arguments"]["sources"][0];
    assert_eq!((&source["value"], &source["from"]), (&json!("G-4"), &json!("last_result")));
    let report = plan("list the plots of gardener G-9 and then the loans of that gardener");
    assert_eq!(states(&report), ["answered", "answered"], "{report:#}");
    let wanted = [r#"list_plots {"gardener_id": "G-9"}"#, r#"list_loans {"gardener_id": "G-9"}"#];
    assert_eq!(journal(&sandbox, "garden")[2..], wanted);
}

#[test]
fn a_plan_that_is_only_shown_is_not_remembered() {
    let sandbox = house();
    let run = |more: &[&str]| {
        let more = [&["--session", "trip"], more].concat();
        let (report, code) = planned(&sandbox, "get the weather forecast for Oslo", &more);
        assert_eq!(code, Some(0), "{report:#}");
    };
    let remembers = || {
        let kept = walk(&sandbox.path("state"));
        kept.iter().any(|path| std::fs::read_to_string(path).unwrap().contains("weather"))
    };
    run(&["--dry-run"]);
    assert!(!remembers());
    run(&[]);
    assert!(remembers());
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => walk(&path),
        path => vec![path],
    });
    below.collect()
}

#[test]
fn a_plan_that_its_session_cannot_finish_calls_nothing() {
    let sandbox = house();
    let servers = sandbox.arg("servers.json");
    let common = ["--servers", &servers, "--model", "static"];
    let limited = ["run", "--plan", PROMPT, "--session-calls", "1"];
    let said = sandbox.fails(2, &[&limited[..], &common].concat());
    assert!(said.contains("at most 1 requests") && said.contains("found 2"), "{said}");
    let server = Server::by_static(&sandbox, &["--servers", &servers, "--session-calls", "1"]);
    assert_eq!(post(server.port, "/v1/run", &json!({"prompt": PROMPT})).error().0, 400);
    assert!(journal(&sandbox, "weather").is_empty() && journal(&sandbox, "mail").is_empty());
    // The words of a prompt need no quotes, and one without words is an error with and without a plan.
    let words: Vec<&str> = PROMPT.split(' ').collect();
    let report = sandbox.json(&[&["run", "--plan"], &words[..], &common].concat());
    assert_eq!(states(&report), ["answered", "answered"]);
    for plan in [&[][..], &["--plan"]] {
        sandbox.fails(3, &[&["run", "?"], plan, &common].concat());
    }
    let missing = ["run", "the weather", "--last-result", "/nowhere.txt"];
    sandbox.fails(5, &[&missing[..], &common].concat());
}
