use std::path::Path;

use serde_json::{Value, json};

use super::Import;
use crate::source::Source;
use crate::tests::{ids, load_clean};
use crate::{Catalog, ComplexityRange, Cost, Hints, LatencyTier, Problem, Reliability, Tool};

fn tool<'c>(catalog: &'c Catalog, id: &str) -> &'c Tool {
    catalog.get(id).unwrap_or_else(|| panic!("no {id} in {:?}", ids(catalog)))
}

fn schema(catalog: &Catalog, id: &str) -> Value {
    tool(catalog, id).input_schema.as_ref().unwrap().to_value().unwrap()
}

fn read(text: &str) -> Result<Import, Box<Problem>> {
    super::read(&Source::new(Path::new("dir/any.json"), text))
}

pub(super) fn read_text(text: &str) -> Import {
    read(text).unwrap_or_else(|problem| panic!("{problem}"))
}

fn read_ids(text: &str) -> Vec<String> {
    let import = read_text(text);
    assert_eq!(import.problems, [], "{text}");
    import.tools.iter().map(|found| found.tool.id.to_string()).collect()
}

#[test]
fn mcp_page() {
    let catalog = load_clean("formats/mcp_page.json");
    assert_eq!(ids(&catalog), ["mcp_page__append_note", "mcp_page__list_notes"]);
    let append = tool(&catalog, "append_note");
    assert_eq!(append.server.as_deref(), Some("mcp_page"), "from the file's name");
    assert_eq!(append.title.as_deref(), Some("Append to a note"));
    let hints = Hints {
        read_only: Some(false),
        destructive: Some(false),
        idempotent: Some(false),
        from_overlay: false,
    };
    assert_eq!(append.hints, hints);
    let list = tool(&catalog, "list_notes");
    assert_eq!(list.title.as_deref(), Some("All notes"));
    assert_eq!(list.hints, Hints { read_only: Some(true), ..Hints::default() });
}

#[test]
fn mcp_captures_of_several_pages_and_servers() {
    for (file, expected) in [
        ("mcp_session.jsonl", ["garden__water", "garden__mow"]),
        // In the file's order.
        ("mcp_servers.json", ["zoo__list", "aquarium__list"]),
    ] {
        assert_eq!(ids(&load_clean(&format!("formats/{file}"))), expected, "{file}");
    }
}

#[test]
fn a_log_of_both_directions_gives_the_tools_of_its_answers() {
    let log = |answer: &str| {
        [
            r#"{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"clientInfo": {"name": "c"}}}"#,
            r#"{"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": "garden"}}}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "resources/list"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}}"#,
            r#"{"jsonrpc": "2.0", "id": "2", "method": "tools/list"}"#,
            answer,
            r#"{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "water", "arguments": {}}}"#,
            r#"{"jsonrpc": "2.0", "id": 3, "result": {"content": [{"type": "text", "text": "done"}]}}"#,
        ]
        .join("\n")
    };
    let answer = r#"{"jsonrpc": "2.0", "id": "2", "result": {"tools": [{"name": "water"}]}}"#;
    let loaded = Catalog::read(&log(answer)).unwrap();
    assert_eq!(loaded.problems, []);
    assert_eq!(ids(&loaded.catalog), ["garden__water"]);
    assert_eq!(read_text(&log(answer)).skipped, 7);

    let refused = r#"{"jsonrpc": "2.0", "id": "2", "error": {"code": -32603, "message": "no"}}"#;
    let other = [log(refused), answer.to_owned()].join("\n");
    let loaded = Catalog::read(&other).unwrap();
    assert_eq!(
        loaded.problems.len(),
        1,
        "that no tools were listed is told: {:?}",
        loaded.problems
    );
    let said = Catalog::read(&log("{\"jsonrpc\": \"2.0\"}")).unwrap_err().to_string();
    assert!(said.contains("expected a tool or a list of tools"), "{said}");
}

#[test]
fn mcp_in_its_other_shapes() {
    let tool = r#"{"name": "t", "inputSchema": {"type": "object"}}"#;
    for (text, id) in [
        (format!("[{tool}]"), "any__t"),
        (format!("{{\"tools\": [{tool}]}}"), "any__t"),
        (format!("{{\"tools\": [{tool}], \"serverInfo\": {{\"name\": \"s\"}}}}"), "s__t"),
        (format!("{{\"server\": \"s\", \"tools\": [{tool}]}}"), "s__t"),
        (format!("{{\"s\": {{\"tools\": [{tool}]}}}}"), "s__t"),
        (format!("{{\"s\": {{\"result\": {{\"tools\": [{tool}]}}}}}}"), "s__t"),
        (format!("{{\"servers\": {{\"s\": [{tool}]}}}}"), "s__t"),
        (format!("{{\"servers\": [{{\"name\": \"s\", \"tools\": [{tool}]}}]}}"), "s__t"),
        (format!("[{{\"jsonrpc\": \"2.0\", \"result\": {{\"tools\": [{tool}]}}}}]"), "any__t"),
        (format!("{{\"session\": \"x\", \"servers\": {{\"s\": [{tool}]}}}}"), "s__t"),
        (format!("{{\"data\": {{\"tools\": [{tool}]}}}}"), "data__t"),
    ] {
        assert_eq!(read_ids(&text), [id], "{text}");
    }
    let named = format!("{{\"session\": {{\"tools\": [{tool}]}}, \"s\": {{\"tools\": [{tool}]}}}}");
    assert_eq!(read_ids(&named), ["session__t", "s__t"]);
}

#[test]
fn a_map_of_tools_keeps_their_own_fields_and_names_what_is_no_tool() {
    let full = r#"{"description": "Removes", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": true}, "tags": ["x"]}"#;
    let import = read_text(&format!("{{\"tools\": {{\"rm\": {full}}}}}"));
    assert_eq!(import.problems, []);
    let tool = &import.tools[0].tool;
    assert_eq!((tool.id.as_str(), tool.hints.destructive), ("rm", Some(true)));
    assert_eq!(tool.tags, ["x"]);
    let bare = r#"{"parameters": {"type": "object"}}"#;
    assert_eq!(read_ids(&format!("{{\"rm\": {full}, \"ls\": {bare}}}")), ["rm", "ls"]);
    let import =
        read_text(&format!("{{\"tools\": {{\"rm\": {full}, \"other\": {{\"foo\": 1}}}}}}"));
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert_eq!(import.tools.len(), 1);
    assert!(problem.is_error() && problem.tool.as_deref() == Some("other"), "{problem}");
    assert!(problem.found.contains("foo"), "{problem}");
}

#[test]
fn a_schema_that_nests_too_deep_is_an_error() {
    let schema = "{\"type\": \"object\", \"properties\": {\"a\": ".repeat(70)
        + "{\"type\": \"str\"}"
        + &"}}".repeat(70);
    let import = read_text(&format!(r#"[{{"name": "t", "parameters": {schema}}}]"#));
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert!(problem.is_error() && problem.expected.contains("levels of brackets"), "{problem}");
}

#[test]
fn toolbench_lists_that_cannot_be_read_are_reported() {
    let city = r#"{"name": "city", "type": "STRING"}"#;
    for (required, optional, kept) in [
        (r#"[{"type": "STRING"}]"#, format!("[{city}]"), Some(json!({"city": {"type": "string"}}))),
        (r#"{"city": {"type": "STRING"}}"#, "[]".to_owned(), None),
    ] {
        let text = format!(
            r#"{{"api_list": [{{"name": "t", "required_parameters": {required}, "optional_parameters": {optional}}}]}}"#
        );
        let import = read_text(&text);
        let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
        assert!(!problem.is_error(), "{problem}");
        assert_eq!(problem.field.as_deref(), Some("required_parameters"));
        let schema = import.tools[0].tool.input_schema.as_ref();
        let properties = schema.map(|schema| schema.to_value().unwrap()["properties"].clone());
        assert_eq!(properties, kept);
    }
}

#[test]
fn an_unfinished_capture_is_a_warning() {
    let import = read_text(r#"{"result": {"tools": [], "nextCursor": "more"}}"#);
    assert!(import.problems[0].to_string().contains("nextCursor"));
}

#[test]
fn openai_nested_in_a_request_body() {
    let catalog = load_clean("formats/openai_nested.json");
    assert_eq!(
        ids(&catalog),
        ["get_water_temperature", "list_bathing_places", "file_search"],
        "native tools are kept"
    );
    let written = r#"{"type":"object",  "properties":{"place":{"type":"string"},"unit":{"enum":["C","F"]}}, "required":["place"]}"#;
    let schema = tool(&catalog, "get_water_temperature").input_schema.as_ref().unwrap();
    assert_eq!(schema.as_str(), written, "byte for byte");
    assert_eq!(tool(&catalog, "list_bathing_places").description, "");
}

#[test]
fn openai_flat_and_legacy() {
    let catalog = load_clean("formats/openai_flat.json");
    assert_eq!(ids(&catalog), ["bookTable", "cancelTable"]);
    let schema = tool(&catalog, "bookTable").input_schema.as_ref().unwrap();
    assert!(schema.as_str().contains(r#""minimum": 1.0}"#), "numbers keep their spelling");
    assert_eq!(ids(&load_clean("formats/openai_functions.json")), ["roll_dice"]);
}

#[test]
fn anthropic_in_a_request_body() {
    let catalog = load_clean("formats/anthropic.json");
    assert_eq!(ids(&catalog), ["find_recipe", "web_search"]);
    let schema = tool(&catalog, "find_recipe").input_schema.as_ref().unwrap();
    assert!(schema.as_str().contains("{\n        \"type\""), "line breaks are kept");
    assert!(tool(&catalog, "web_search").input_schema.is_none());
}

#[test]
fn vllm_entries() {
    let catalog = load_clean("formats/vllm_tools_db.json");
    let parcel = tool(&catalog, "track_parcel");
    assert!(parcel.description.starts_with("Where a parcel is"));
    assert_eq!(parcel.categories, ["logistics"]);
    assert_eq!(parcel.tags, ["parcel", "delivery"]);
    assert!(parcel.input_schema.is_some());
}

#[test]
fn openapi_in_yaml() {
    let catalog = load_clean("formats/openapi.yaml");
    let server = "lending-library-books-loans";
    let expected = ["getBook", "delete_books_isbn", "lendBook"].map(|n| format!("{server}__{n}"));
    assert_eq!(ids(&catalog), expected);
    let get = tool(&catalog, "getBook");
    assert_eq!(
        get.description,
        "Look up a book. Returns the book with its authors and all its copies."
    );
    assert_eq!(get.categories, ["books", "search"]);
    assert_eq!(get.reliability, Some(Reliability::High), "from the top of the document");
    assert_eq!(get.hints.read_only, Some(true));
    let expected = json!({
        "type": "object",
        "properties": {
            "fields": {"type": "array", "items": {"type": "string"}},
            "isbn": {"type": "string", "pattern": "^[0-9]{13}$", "description": "The book's number."}
        },
        "required": ["isbn"]
    });
    assert_eq!(schema(&catalog, "getBook"), expected);
    let delete = tool(&catalog, "delete_books_isbn");
    let hints = Hints {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(true),
        from_overlay: false,
    };
    assert_eq!(delete.hints, hints);
    assert_eq!((delete.cost, delete.latency_ms), (Some(Cost::Medium), Some(4_000)));
}

#[test]
fn openapi_references() {
    let lend = schema(&load_clean("formats/openapi.yaml"), "lendBook");
    assert_eq!(lend["required"], json!(["reader", "isbn"]));
    let reader = &lend["properties"]["reader"]["properties"];
    assert_eq!(reader["name"], json!({"type": "string"}));
    let again = "again the value of #/components/schemas/Reader";
    assert_eq!(reader["guardian"]["description"], again, "a ring ends");
}

#[test]
fn openapi_in_json() {
    let catalog = load_clean("formats/openapi.json");
    assert_eq!(
        ids(&catalog),
        ["thermostat__put_rooms_room_target", "thermostat__listRooms", "thermostat__importRooms"]
    );
    let put = schema(&catalog, "put_rooms_room_target");
    assert_eq!(put["required"], json!(["room", "body"]), "a body with an equal name stays apart");
    let degrees = &put["properties"]["body"]["properties"]["degrees"];
    assert_eq!(degrees["example"], json!({"$ref": "#/not/a/reference"}), "examples are data");
    let import = schema(&catalog, "importRooms");
    assert_eq!(import["properties"]["body"]["type"], "array");
    assert!(import.get("required").is_none());
    assert_eq!(tool(&catalog, "importRooms").hints.destructive, None);
}

#[test]
fn an_api_without_a_title_that_names_it_has_no_server() {
    for title in ["", "!?"] {
        let text = json!({"openapi": "3.1.0", "info": {"title": title, "version": "1"},
            "paths": {"/rooms": {"get": {"operationId": "listRooms"}}}});
        let catalog = Catalog::read(&text.to_string()).unwrap().catalog;
        assert_eq!(catalog.tools()[0].id.as_str(), "listRooms", "{title:?}");
        assert_eq!(catalog.tools()[0].server, None, "{title:?}");
        let rows = catalog.to_jsonl();
        assert_eq!(Catalog::read(&rows).unwrap().catalog.to_jsonl(), rows);
    }
}

#[test]
fn a_misspelt_list_beside_the_tools_is_reported() {
    for text in [
        "[[tools]]\nname = \"x\"\n[[tool]]\nname = \"y\"\n",
        r#"{"tools": [{"name": "x"}], "tool": []}"#,
    ] {
        let import = read_text(text);
        let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
        assert!(problem.to_string().contains("did you mean \"tools\""), "{problem}");
    }
}

#[test]
fn toml_tables() {
    let catalog = load_clean("formats/tools.toml");
    assert_eq!(ids(&catalog), ["shop__print_label", "shop | stock"]);
    let label = tool(&catalog, "shop:print_label");
    assert_eq!(label.tags, ["print"], "a string is a list of one");
    assert_eq!(label.consumes, ["address", "weight"]);
    assert_eq!(label.cost, Some(Cost::Tiny));
    assert_eq!(label.declared_latency_tier, Some(LatencyTier::Fast));
    assert_eq!(label.facets.complexity, Some(ComplexityRange { min: 0.0, max: 0.25 }));
    assert_eq!(label.hints.read_only, Some(false));
    assert_eq!(crate::text::parameter_names(label), ["order", "copies", "before"]);
    let stock = tool(&catalog, "shop | stock");
    let text = r#"{"type": "object", "properties": {"article": {}}}"#;
    assert_eq!(stock.input_schema.as_ref().unwrap().as_str(), text);
    assert_eq!(stock.facets.languages, ["de", "en"]);
    assert_eq!(stock.latency_tier(), Some(LatencyTier::Fast));
}

#[test]
fn own_rows() {
    let catalog = load_clean("formats/rows.jsonl");
    assert_eq!(ids(&catalog), ["Weather::by city|v2", "hourly__by_city"]);
    let first = tool(&catalog, "Weather::by city|v2");
    let written = r#"{"type": "object",  "properties": {"z": {"maximum": 1e2}, "a": {}}}"#;
    assert_eq!(first.input_schema.as_ref().unwrap().as_str(), written);
    assert_eq!(first.server, None, "null is absent");
    let second = tool(&catalog, "hourly:by_city");
    assert!(second.input_schema.is_none());
    assert_eq!(second.satisfies, ["forecast"]);
    assert_eq!(second.reliability, Some(Reliability::High), "case does not matter");
}

#[test]
fn a_row_made_by_adding_to_an_mcp_tool_keeps_what_was_added() {
    let import = read_text(
        r#"{"id": "x y", "name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": true}, "cost": "low"}"#,
    );
    let tool = &import.tools[0].tool;
    assert_eq!((tool.id.as_str(), tool.cost), ("x y", Some(Cost::Low)));
    assert_eq!(tool.hints.read_only, Some(true));
}

#[test]
fn what_holds_no_tools_or_is_broken_says_so_and_where() {
    for (text, says) in [
        (
            "{\n  \"tools\": [\n    oops\n",
            "any.json:3:5: expected JSON, found `oops`: expected value",
        ),
        (
            "[[tools]]\nname = \"a\"\nserver = = 1\n",
            "any.json:3:10: expected TOML, found `server = = 1`: ",
        ),
        ("a: [1\nb: {\n", "any.json:2:2: expected JSON, TOML or YAML, found `b: {`: "),
        ("a = 1\n[tools\n", "any.json:2:7: expected TOML, found `[tools`: "),
        ("a:\n  - b: 1\n   c: 2\n", ":3:4: expected JSON, TOML or YAML, found `c: 2`: while"),
        ("a: {b: 1, b: 2}\n", "found `a: {b: 1, b: 2}`: duplicate mapping key: b; correct"),
        ("a: 1\n---\nb: 2\n", "one YAML document a file"),
        ("---\ntools:\n - name: x\n---\ntools:\n - name: y\n", "one YAML document a file"),
        ("openapi: 4.1\npaths: {}\n", "an object with openapi, paths"),
        (r#"{"mcpServers": {}}"#, "tools/list"),
        (r#"{"jsonrpc": "2.0", "error": {}}"#, "error response"),
        ("[1, 2]", "the number 1"),
        ("{}", "an object"),
    ] {
        let problem = read(text).unwrap_err().to_string();
        assert!(problem.contains(says) && !problem.contains('\n'), "{problem}");
    }
    assert_eq!(read_ids("[]"), [""; 0]);
    assert_eq!(read_ids("---\ntools:\n - name: x\n"), ["x"], "one document");
}

#[test]
fn concatenated_documents() {
    let text =
        "{\n  \"id\": \"a\",\n  \"name\": \"a\"\n}\n{\n  \"id\": \"b\",\n  \"name\": \"b\"\n}\n";
    assert_eq!(read_ids(text), ["a", "b"]);
}

#[test]
fn an_unknown_field_is_told_once_a_file() {
    let rows = r#"{"id": "a", "name": "a", "tgas": []}"#.repeat(5).replace("}{", "}\n{");
    let import = read_text(&rows);
    assert_eq!(import.problems.len(), 1);
    assert!(import.problems[0].cure.contains("\"tags\""));
}

#[test]
fn wrong_annotations_do_not_cost_the_tool() {
    for (annotations, field) in
        [(r#"{"readOnlyHint": "yes"}"#, "annotations.readOnlyHint"), (r#""oops""#, "annotations")]
    {
        let tool =
            format!(r#"[{{"name": "t", "inputSchema": {{}}, "annotations": {annotations}}}]"#);
        let import = read_text(&tool);
        let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
        assert_eq!((import.tools.len(), problem.is_error()), (1, false), "{problem}");
        assert_eq!(problem.field.as_deref(), Some(field));
    }
}

#[test]
fn the_format_of_a_list_is_one_decision() {
    let bare = r#"{"name": "b"}"#;
    let null = r#"{"name": "b", "inputSchema": null}"#;
    let mcp = r#"{"name": "a", "inputSchema": {"type": "object"}}"#;
    let ours = r#"{"name": "c", "inputSchema": {}, "tags": ["x"]}"#;
    let flat = r#"{"name": "f", "parameters": {}}"#;
    for (text, ids) in [
        (format!("{{\"tools\": [{mcp}, {bare}]}}"), vec!["any__a", "any__b"]),
        (format!("{{\"tools\": [{null}, {mcp}]}}"), vec!["any__b", "any__a"]),
        (format!("[{bare}, {mcp}, {flat}]"), vec!["any__b", "any__a", "f"]),
        (format!("[{null}]"), vec!["any__b"]),
        (format!("[{bare}]"), vec!["b"]),
        (format!("[{mcp}, {bare}, {ours}]"), vec!["a", "b", "c"]),
        (format!("{mcp}\n{bare}\n"), vec!["any__a", "any__b"]),
        (format!("{{\"result\": {{\"tools\": [{mcp}, {ours}]}}}}"), vec!["any__a", "any__c"]),
    ] {
        assert_eq!(read_ids(&text), ids, "{text}");
    }
}

#[test]
fn openai_custom_tools_have_their_own_names() {
    let tool = |name: &str| {
        format!(
            r#"{{"type": "custom", "custom": {{"name": "{name}", "description": "Runs {name}"}}}}"#
        )
    };
    let text = format!("{{\"tools\": [{}, {}]}}", tool("run_sql"), tool("run_lua"));
    assert_eq!(read_ids(&text), ["run_sql", "run_lua"]);
    assert_eq!(read_text(&text).tools[1].tool.description, "Runs run_lua");
    assert_eq!(read_ids(r#"[{"type": "custom", "name": "flat"}]"#), ["flat"]);
}

#[test]
fn different_tools_without_names_do_not_vanish_silently() {
    let text = r#"[{"type": "mcp", "server_label": "a"},
        {"server_label": "a", "type": "mcp"},
        {"type": "mcp", "server_label": "b"}]"#;
    let import = read_text(text);
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert!(problem.is_error() && problem.line == Some(3), "{problem}");
    assert!(problem.to_string().contains("of the same type"), "{problem}");
}

#[test]
fn a_json_schema_keeps_its_bytes_and_words_of_other_languages_become_its_types() {
    let parameters = |schema: &str| {
        let import = read_text(&format!(r#"[{{"name": "t", "parameters": {schema}}}]"#));
        assert_eq!(import.problems, [], "{schema}");
        import.tools[0].tool.input_schema.as_ref().unwrap().as_str().to_owned()
    };
    for schema in [
        r#"{ "type": "object",  "properties": {"type": {"type": ["string", "null"]}}}"#,
        r#"{"properties": {"a": {"default": {"type": "invoice"}, "maximum": 1e2}}, "type": "object"}"#,
        r##"{"$ref":  "#/$defs/A", "$defs": {"A": {"type": "object"}}}"##,
        "{}",
    ] {
        assert_eq!(parameters(schema), schema);
    }
    for (word, expected) in [
        ("STRING", "string"),
        ("str, optional", "string"),
        ("Optional[int]", "integer"),
        ("List[float]", "array"),
        ("string[]", "array"),
        ("Dict[str, int]", "object"),
        ("double", "number"),
        ("bool", "boolean"),
        ("np.ndarray", "np.ndarray"),
    ] {
        let written = parameters(&format!(r#"{{"x": {{"type": "{word}"}}}}"#));
        let schema = json!({"type": "object", "properties": {"x": {"type": expected}}});
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), schema, "{word}");
    }
    assert_eq!(
        parameters(r#"{"x": {"type": "any"}}"#),
        r#"{"type":"object","properties":{"x":{}}}"#
    );
    assert_eq!(parameters("[]"), r#"{"type":"object","properties":{}}"#);
}
