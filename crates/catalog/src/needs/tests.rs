use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::Schema;
use crate::text::words_of;

fn tool(name: &str, required: &[&str]) -> Tool {
    let schema = json!({"type": "object", "required": required});
    described(name, "", schema)
}

fn described(name: &str, description: &str, schema: serde_json::Value) -> Tool {
    let mut tool = Tool::new(Some("tmdb"), name, description);
    tool.input_schema = Some(Schema::new(to_raw_value(&schema).unwrap()));
    tool
}

/// Each needed parameter of a tool, with the names of the tools that give it.
fn needs(tools: &[Tool], name: &str) -> Vec<(String, Vec<String>)> {
    let catalog = Catalog::from_tools(tools.to_vec()).catalog;
    let needs = catalog.needs(catalog.get(name).unwrap());
    let name = |id: &ToolId| catalog.get(id.as_str()).unwrap().name.clone();
    needs.into_iter().map(|need| (need.parameter, need.from.iter().map(name).collect())).collect()
}

fn need(parameter: &str, from: &[&str]) -> (String, Vec<String>) {
    (parameter.to_owned(), from.iter().map(ToString::to_string).collect())
}

#[test]
fn an_id_comes_from_what_searches_lists_or_creates_it() {
    let tools = [
        tool("get_tv_credits", &["tv_id", "language"]),
        tool("search_tv", &["query"]),
        tool("get_tv_details", &["tv_id"]),
        tool("delete_tv", &["query"]),
        tool("search_movies", &["query"]),
        tool("add_to_playlist", &["playlistId", "movie_id"]),
        tool("create_playlist", &["name"]),
        tool("list_my_playlists_of_friends", &[]),
        tool("get_playlist_covers", &[]),
    ];
    assert_eq!(needs(&tools, "get_tv_credits"), [need("tv_id", &["search_tv"])]);
    let lists = need("playlistId", &["list_my_playlists_of_friends", "create_playlist"]);
    assert_eq!(needs(&tools, "add_to_playlist"), [lists, need("movie_id", &["search_movies"])]);
    assert_eq!(needs(&tools, "search_tv"), []);
}

#[test]
fn names_without_a_verb_give_what_they_list_and_initials_are_read() {
    let tools = [
        tool("merge", &["mr_iid"]),
        tool("mr_list", &[]),
        tool("alert_mute", &["alert_id"]),
        tool("alerts", &[]),
        tool("transfer_alerts", &[]),
        tool("receive", &["poId"]),
        tool("listPurchaseOrders", &[]),
    ];
    assert_eq!(needs(&tools, "merge"), [need("mr_iid", &["mr_list"])]);
    assert_eq!(needs(&tools, "alert_mute"), [need("alert_id", &["alerts"])]);
    assert_eq!(needs(&tools, "receive"), [need("poId", &["listPurchaseOrders"])]);
}

#[test]
fn an_id_or_a_key_is_that_of_one_thing_and_a_verb_gives_nothing() {
    let issues = [
        tool("deleteIssue", &["issueIdOrKey"]),
        tool("searchForIssues", &[]),
        described("search", "Search statuses", json!({})),
    ];
    assert_eq!(needs(&issues, "deleteIssue"), [need("issueIdOrKey", &["searchForIssues"])]);
    let lists =
        [tool("add-column", &["listId"]), described("accounts", "List all accounts", json!({}))];
    assert_eq!(needs(&lists, "add-column"), []);
}

#[test]
fn names_of_every_style_say_what_is_given() {
    for (name, expected) in [
        ("search_tv", "tv"),
        ("GET /search/tv", "tv"),
        ("dashboard_list", "dashboard"),
        ("get_list_of_open_tabs", "tab"),
        ("searchCompanies", "company"),
        ("search_users_by_email", "user"),
        ("resolve-library-id", "library"),
        ("Card Search", "card"),
        ("get_team_roster", "roster"),
    ] {
        let found = entity::objects(&words_of(name));
        assert!(found.iter().any(|word| word == expected), "{name}: {found:?}");
    }
    assert!(entity::objects(&words_of("get_team_roster")).iter().all(|word| word != "team"));
    assert!(entity::objects(&words_of("search_by_category")).is_empty());
}

#[test]
fn parameters_are_ids_by_name_path_or_description() {
    let with = |name: &str, parameter: &str, description: &str| {
        let property = json!({parameter: {"description": description}});
        let schema = json!({"required": [parameter], "properties": property});
        let found = entity::id_parameters(&described(name, "", schema));
        found.into_iter().map(|found| found.entity.join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(with("x", "merge_request_id", ""), ["merge request"]);
    assert_eq!(with("x", "playerid", ""), ["player"]);
    assert_eq!(with("x", "issueKey", ""), ["issue"]);
    assert_eq!(with("x", "account", "ID of the account to read"), ["account"]);
    assert_eq!(with("x", "id", "The ID of the task"), ["task"]);
    assert_eq!(with("x", "id", "Task ID"), ["task"]);
    assert_eq!(with("updateTask", "id", ""), ["task"]);
    assert_eq!(with("/titles/{id}/crew", "id", ""), ["title"]);
    for no_id in ["api_key", "query", "account", "paid", "void", "key"] {
        assert!(with("x", no_id, "A text").is_empty(), "{no_id}");
    }
}

#[test]
fn where_no_name_says_so_the_search_of_the_server_does() {
    let mut tools = vec![tool("get_release", &["release_id"]), tool("search", &["query"])];
    assert_eq!(needs(&tools, "get_release"), [need("release_id", &["search"])]);
    tools.remove(1);
    assert_eq!(needs(&tools, "get_release"), []);
}

#[test]
fn a_tool_for_exactly_the_entity_is_known() {
    let tools = ["cancelOrder", "listPurchaseOrders", "listOrders", "get_order_details"];
    let mut tools = tools.map(|name| tool(name, &[]));
    tools[0] = tool("cancelOrder", &["order_id"]);
    let catalog = Catalog::from_tools(tools.to_vec()).catalog;
    let suppliers = catalog.required_ids(0)[0].suppliers.iter();
    let found: Vec<_> = suppliers.map(|supplier| (supplier.row, supplier.is_exact)).collect();
    assert_eq!(found, [(2, true), (3, true), (1, false)]);
}

#[test]
fn a_supplier_that_the_text_names_replaces_the_guess() {
    let pitches = |description: &str, of_parameter: &str| {
        let property = json!({"player_id": {"description": of_parameter}});
        let schema = json!({"required": ["player_id"], "properties": property});
        let tools = [
            described("get_pitches", description, schema),
            tool("lookup_player", &["name"]),
            tool("get_register", &["name"]),
            tool("get_player_card", &["player_id"]),
            tool("create_table", &[]),
        ];
        needs(&tools, "get_pitches")
    };
    let (guess, named) = ([need("player_id", &["lookup_player"])], &["get_register"]);
    for (description, of_parameter) in [
        ("Requires the player_id from get_register.", ""),
        ("Pitches. Call `get_register` first to obtain the ID of the player.", ""),
        ("player_id : INT :\n  the official ID.\n  Find this by calling get_register,", ""),
        ("", "The player (from get_register or create_table)"),
        ("Use get_register, then get_player_card, for the player id.", ""),
    ] {
        assert_eq!(pitches(description, of_parameter), [need("player_id", named)]);
    }
    for description in [
        "",
        "Use get_register instead if you have no player_id.",
        "Pitches by player_id. Register players with get_register.",
        "get_pitches returns the pitches of a player id.",
        "Needs the player id of get_player_card.",
    ] {
        assert_eq!(pitches(description, ""), guess, "{description}");
    }
}

#[test]
fn without_a_schema_the_description_says_what_is_required() {
    let open = |name: &str, description: &str| described(name, description, json!({}));
    let tools = [
        open("add_comment", "Requires issue_id. Use the get_issue_by_key tool to get the issue_id"),
        open("get_issue_by_key", "Finds an issue by its key, such as AB-7"),
        open("list_issues", "Returns the board_id and the issue_id for add_comment"),
        open("list_boards", "All boards"),
    ];
    assert_eq!(needs(&tools, "add_comment"), [need("issue_id", &["get_issue_by_key"])]);
    for name in ["get_issue_by_key", "list_issues", "list_boards"] {
        assert_eq!(needs(&tools, name), [], "{name}");
    }
    let catalog = Catalog::from_tools(tools.to_vec()).catalog;
    assert_eq!(catalog.stated_suppliers(), [1]);
    assert!(catalog.required_ids(0)[0].is_stated);
}

#[test]
fn a_uuid_is_known_by_schema_name_or_description() {
    let is_uuid = |description: &str, parameter: &str, property: serde_json::Value| {
        let schema = json!({"required": [parameter], "properties": {parameter: property}});
        entity::id_parameters(&described("close_issue", description, schema))[0].is_uuid
    };
    assert!(is_uuid("", "issue_id", json!({"format": "uuid"})));
    assert!(is_uuid("", "issue_uuid", json!({})));
    assert!(is_uuid("", "issueGUID", json!({})));
    assert!(is_uuid("Requests issue_id as UUID.", "issue_id", json!({})));
    assert!(!is_uuid(
        "See the guide. Other ids are UUIDs.",
        "issue_id",
        json!({"description": "Fluid key"})
    ));
}

#[test]
fn ids_are_not_taken_from_another_server_or_from_none() {
    let mut tools = vec![tool("get_release", &["release_id"]), tool("list_releases", &[])];
    assert_eq!(needs(&tools, "get_release").len(), 1);
    tools[1] = Tool::new(Some("other"), "list_releases", "");
    assert_eq!(needs(&tools, "get_release"), []);
    let none = |name: &str| Tool { server: None, ..tool(name, &["release_id"]) };
    let list = Tool::new(None, "list_releases", "");
    assert_eq!(needs(&[none("get_release"), list], "get_release"), []);
}

#[test]
fn schemas_of_any_shape_are_read() {
    for schema in [
        json!(true),
        json!({"required": "a_id"}),
        json!({"required": [1, null]}),
        json!({"required": ["account"], "properties": [1]}),
        json!({"required": ["account"], "properties": {"account": 1}}),
    ] {
        assert_eq!(entity::id_parameters(&described("get_thing", "", schema)), []);
    }
}
