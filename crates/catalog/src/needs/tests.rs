use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::Schema;

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
        let found = supply::objects(&entity::words(name));
        assert!(found.iter().any(|word| word == expected), "{name}: {found:?}");
    }
    assert!(supply::objects(&entity::words("get_team_roster")).iter().all(|word| word != "team"));
    assert!(supply::objects(&entity::words("search_by_category")).is_empty());
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
fn where_no_name_says_so_a_description_or_the_search_of_the_server_does() {
    let mut tools = vec![
        tool("get_release", &["release_id"]),
        described("get_schedule", "Releases of a day. More.", json!({"required": ["date"]})),
        tool("search", &["query"]),
    ];
    assert_eq!(needs(&tools, "get_release"), [need("release_id", &["get_schedule"])]);
    tools.remove(1);
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
