//! Tools that give what others need, by every door.

use serde_json::{Value, json};

use crate::gateway::client::{Client, text};
use crate::http::{Server, post};
use crate::support::{Sandbox, ids};

const ASK: &str = "who are the cast and crew of the series Breaking Bad";
const CREDITS: &str = "tmdb__tv_credits";
const SEARCH: &str = "tmdb__search_tv";

/// Credits that need the id of a series, the search that gives it, and enough of others to keep it out of
/// five places.
fn catalog(sandbox: &Sandbox) -> String {
    let mut credits = tool("tmdb", "tv_credits", "The cast and crew of a series");
    credits["input_schema"] = json!({
        "type": "object", "properties": {"tv_id": {"type": "integer"}}, "required": ["tv_id"],
    });
    let mut search = tool("tmdb", "search_tv", "Search for a series by its title or its cast");
    search["cost"] = json!("high");
    let mut tools = vec![credits, search, tool("mail", "send_email", "Sends an email")];
    for kind in ["film", "play", "opera", "musical", "podcast"] {
        let said = format!("The cast and crew of a {kind}");
        tools.push(tool(kind, &format!("{kind}_credits"), &said));
    }
    let rows: Vec<String> = tools.iter().map(Value::to_string).collect();
    sandbox.write("tools.jsonl", rows.join("\n")).to_string_lossy().into_owned()
}

#[test]
fn a_tool_that_gives_an_id_stands_after_the_one_that_needs_it() {
    let sandbox = Sandbox::new();
    let tools = catalog(&sandbox);
    let route = |more: &[&str]| {
        let all = ["route", "--tools", &tools, "--min-confidence", "0"];
        sandbox.json(&[&all, more].concat())
    };
    let answer = route(&[ASK]);
    assert_eq!(ids(&answer)[..2], [CREDITS, SEARCH], "{answer:#}");
    assert_eq!(ids(&answer).len(), 5);
    let [credits, search] = [0, 1].map(|at| &answer["tools"][at]);
    assert_eq!(credits["needs"], json!([{"parameter": "tv_id", "from": [SEARCH]}]));
    assert!(search.get("needs").is_none(), "{search:#}");
    let supply = &search["explanation"]["supply"];
    assert_eq!(*supply, json!({"parameter": "tv_id", "to": CREDITS}));
    let why = search["explanation"]["why"].as_str().unwrap();
    assert!(why.starts_with("gives tv_id for tmdb__tv_credits; "), "{why}");
    // The first five are the same for every larger limit; one place has no room.
    assert_eq!(ids(&route(&["--limit", "7", ASK]))[..5], ids(&answer)[..]);
    assert_eq!(ids(&route(&["--limit", "1", ASK])), [CREDITS]);
    // A filter leaves it out, and the plain blend is nothing but two scores.
    for more in [&["--max-cost", "low"][..], &["--blend", "plain"]] {
        let answer = route(&[more, &[ASK]].concat());
        assert!(!has_supply(&answer), "{more:?}: {answer:#}");
    }
    assert!(!ids(&route(&["--max-cost", "medium", ASK])).contains(&SEARCH));
    // A prompt with the id needs no search.
    assert!(!has_supply(&route(&["the cast and crew of the series with the tv id 1396"])));
}

fn tool(server: &str, name: &str, description: &str) -> Value {
    json!({"server": server, "name": name, "description": description})
}

/// A tool that the prompt asks for besides stays where the answer has no room for both.
#[test]
fn a_supplier_takes_no_place_of_a_tool_that_fits_as_well_as_the_first() {
    let sandbox = Sandbox::new();
    let mut post = tool("chat", "post_message", "Post a message to a channel.");
    post["input_schema"] = json!({
        "type": "object", "properties": {"channel_id": {"type": "string"}}, "required": ["channel_id"],
    });
    let tools = [
        post,
        tool("chat", "list_channels", "Lists all channels of the workspace."),
        tool("geo", "get_weather", "Returns the weather of a city."),
        tool("geo", "get_tides", "Returns the tides of a port."),
    ];
    let rows = tools.map(|tool| tool.to_string()).join("\n");
    let tools = &sandbox.put("tools.jsonl", rows);
    let prompt = "post a message to the general channel and get the weather in Paris";
    let route = |limit: &str| sandbox.json(&["route", "--tools", tools, "--limit", limit, prompt]);
    let [first, supplier, besides] =
        ["chat__post_message", "chat__list_channels", "geo__get_weather"];
    assert_eq!(ids(&route("2")), [first, besides]);
    assert_eq!(ids(&route("3")), [first, supplier, besides]);
}

/// Tools of a tracker: to move an issue takes its key and a transition, and a similar tool creates one.
#[test]
fn neither_a_similar_tool_nor_one_id_for_two_keeps_a_supplier_out() {
    let sandbox = Sandbox::new();
    let tool = |name: &str, description: &str, required: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        json!({"server": "tracker", "name": name, "description": description, "input_schema": schema})
    };
    let tools = [
        tool("move_issue", "Move an issue to another state", &["issue_key", "transition_id"]),
        tool(
            "create_transition",
            "Create a transition that moves issues between states",
            &["name"],
        ),
        tool("list_transitions", "List the states to which an issue can be moved", &[]),
        tool("search_issues", "Search for issues by words", &["query"]),
    ];
    let rows = tools.map(|tool| tool.to_string()).join("\n");
    let tools = &sandbox.put("tools.jsonl", rows);
    let route = |prompt: &str| {
        let answer = sandbox.json(&["route", "--tools", tools, "--limit", "3", prompt]);
        ids(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let with_key = route("move the issue WEB-71 to done");
    assert_eq!(with_key[..2], ["tracker__move_issue", "tracker__list_transitions"]);
    assert!(!with_key.contains(&"tracker__search_issues".to_owned()), "{with_key:?}");
    let without = route("move the issue about the login to done");
    assert!(without.contains(&"tracker__search_issues".to_owned()), "{without:?}");
}

#[test]
fn a_supplier_that_the_text_names_is_added_however_far_it_is() {
    let sandbox = Sandbox::new();
    let note = "Leave a note on an issue. Requests issue_id as uuid. Call get_by_shorthand first to get the issue_id.";
    let mut tools = vec![
        tool("plane", "leave_note", note),
        tool("plane", "get_by_shorthand", "From FIRST-123 to its row in the database"),
        tool("plane", "list_issues", "All issues"),
    ];
    for kind in ["film", "play", "opera", "musical", "podcast"] {
        tools.push(tool(kind, &format!("{kind}_note"), &format!("Leave a note on a {kind}")));
    }
    let rows: Vec<String> = tools.iter().map(Value::to_string).collect();
    let tools = &sandbox.put("tools.jsonl", rows.join("\n"));
    let route =
        |prompt: &str| sandbox.json(&["route", "--tools", tools, "--min-confidence", "0", prompt]);
    let answer = route("leave a note on the issue WEB-1234 that it is fixed");
    let both = ["plane__leave_note", "plane__get_by_shorthand"];
    assert_eq!(ids(&answer)[..2], both, "{answer:#}");
    assert_eq!(answer["tools"][1]["explanation"]["supply"]["to"], both[0]);
    let uuid = "leave a note on the issue 3fa85f64-5717-4562-b3fc-2c963f66afa6 that it is fixed";
    assert!(!has_supply(&route(uuid)));
}

/// `place_hold` needs a book and a member, and their searches share no word with the prompt; the list
/// that `pause_hold` needs does.
const LIBRARY: &str = r#"[
    {"server": "library", "name": "search_books", "description": "Search the catalogue by title, author or subject"},
    {"server": "library", "name": "find_member", "description": "Look up a library member by name or email"},
    {"server": "library", "name": "place_hold", "description": "Place a hold on a book for a member", "input_schema":
        {"type": "object", "properties": {"book_id": {}, "member_id": {}}, "required": ["book_id", "member_id"]}},
    {"server": "library", "name": "pause_hold", "description": "Pause a hold while the member is on holiday",
        "input_schema": {"type": "object", "properties": {"hold_id": {}}, "required": ["hold_id"]}},
    {"server": "library", "name": "list_holds", "description": "List all holds that wait for pick-up"},
    {"server": "library", "name": "hold_shelf_report", "description": "Report of the hold shelf: holds per branch"},
    {"server": "library", "name": "cancel_holds", "description": "Cancel all holds on a book"},
    {"server": "library", "name": "move_holds", "description": "Move all holds on a book to another branch"},
    {"server": "library", "name": "count_holds", "description": "Count the holds on a book and its members"},
    {"server": "library", "name": "renew_loan", "description": "Extend the due date of a loan"},
    {"server": "tasks", "name": "add_reminder", "description": "Remind somebody of something at a time"}]"#;

#[test]
fn the_first_tool_gets_the_suppliers_of_all_its_ids() {
    let sandbox = Sandbox::new();
    let tools = &sandbox.put("library.json", LIBRARY);
    let route =
        |prompt: &str| sandbox.json(&["route", "--tools", tools, "--min-confidence", "0", prompt]);
    let first = "library__place_hold";
    let answer = route("put a hold on the book Dune for the member Maria");
    assert_eq!(ids(&answer)[0], first, "{answer:#}");
    let supplies: Vec<&Value> = answer["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["explanation"].get("supply"))
        .collect();
    assert!(!supplies.is_empty(), "{answer:#}");
    assert!(supplies.iter().all(|supply| supply["to"] == first), "{answer:#}");
    // One of them takes the place of a tool that is no supplier.
    for supplier in ["library__search_books", "library__find_member"] {
        assert!(ids(&answer).contains(&supplier), "{answer:#}");
    }
    // With both ids in the prompt, the first tool lacks nothing.
    let answer = route("put a hold on the book 4711 for the member 1234");
    assert_eq!(ids(&answer)[0], first, "{answer:#}");
    assert!(!answer.to_string().contains("for library__place_hold"), "{answer:#}");
}

fn has_supply(answer: &Value) -> bool {
    let tools = answer["tools"].as_array().unwrap();
    tools.iter().any(|tool| tool["explanation"].get("supply").is_some())
}

#[test]
fn every_door_turns_it_off() {
    let sandbox = Sandbox::new();
    let tools = catalog(&sandbox);
    let route = ["route", "--tools", &tools, "--min-confidence", "0", ASK];
    let off = sandbox.json(&[&route[..], &["--no-complete"]].concat());
    assert!(!ids(&off).contains(&SEARCH), "{off:#}");
    assert_eq!(off["tools"][0]["needs"][0]["from"], json!([SEARCH]));
    let config = &sandbox.put("off.toml", "complete = false\n");
    assert_eq!(sandbox.json(&[&route[..], &["--config", config]].concat()), off);
    let shown = sandbox.json(&["config", "show", "--config", config]);
    assert!(shown.to_string().contains("\"complete\""), "{shown:#}");
    let table = sandbox.run(&["route", "--tools", &tools, "--no-complete", ASK]).stdout;
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("tmdb__tv_credits needs tv_id, from tmdb__search_tv"), "{table}");

    let server = Server::start(&sandbox, &["serve", "--tools", &tools]);
    let select = |complete: Value| {
        post(server.port, "/v1/select", &json!({"prompt": ASK, "complete": complete})).ok()
    };
    let on = select(Value::Null);
    assert_eq!(ids(&on)[..2], [CREDITS, SEARCH], "{on:#}");
    assert_eq!(on["tools"][0]["needs"][0]["parameter"], "tv_id");
    assert_eq!(ids(&select(json!(true))), ids(&on));
    assert!(!ids(&select(json!(false))).contains(&SEARCH));
}

#[test]
fn a_tool_that_may_not_be_called_is_not_named_as_a_supplier() {
    let sandbox = Sandbox::new();
    let tools = catalog(&sandbox);
    let config = &sandbox.put("own.toml", "[profiles]\ncredits = [\"*_credits\"]\n");
    let of_credits = |more: &[&str]| {
        let route = ["route", "--tools", &tools, "--min-confidence", "0", "--config", config, ASK];
        let answer = sandbox.json(&[&route[..], more].concat());
        let found = answer["tools"].as_array().unwrap().iter().find(|tool| tool["id"] == CREDITS);
        found.expect("the credits").clone()
    };
    assert_eq!(of_credits(&[])["needs"][0]["from"], json!([SEARCH]));
    for more in [["--profile", "credits"], ["--exclude", SEARCH], ["--max-cost", "medium"]] {
        assert!(of_credits(&more).get("needs").is_none(), "{more:?}");
    }
}

#[test]
fn a_profile_of_the_gateway_names_no_supplier_outside_of_it() {
    let sandbox = Sandbox::new();
    let tool = |name: &str, said: &str, required: Value| {
        let schema = json!({"type": "object", "properties": {"order_id": {"type": "string"}}, "required": required});
        json!({"name": name, "description": said, "inputSchema": schema})
    };
    let shop = json!({"type": "process", "command": "unused", "tools": [
        tool("change_order", "Changes an order", json!(["order_id"])),
        tool("list_orders", "Lists all orders", json!([])),
    ]});
    let servers = sandbox.servers(&json!({ "shop": shop }));
    let config = sandbox.write("own.toml", "[profiles]\norders = [\"*_order\"]\n");
    let ask = |more: &[&str]| {
        let mut command = sandbox.toolroute();
        command.arg("mcp");
        command.arg("--servers").arg(&servers).arg("--config").arg(&config).args(more);
        let mut client = Client::start(command);
        client.begin();
        let has_it = |found: &Value| ids(found).contains(&"shop__change_order");
        let found = client.find_until(json!({"query": "change an order"}), has_it).to_string();
        let described = client.call("describe_tool", json!({"tool_name": "shop__change_order"}));
        let called =
            client.call("call_tool", json!({"tool_name": "shop__change_order", "arguments": {}}));
        [found, text(&described).to_owned(), text(&called).to_owned()]
    };
    for said in ask(&[]) {
        assert!(said.contains("shop__list_orders"), "{said}");
    }
    for said in ask(&["--profile", "orders"]) {
        assert!(said.contains("order_id") && !said.contains("list_orders"), "{said}");
    }
}
