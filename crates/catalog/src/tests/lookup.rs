use serde_json::value::RawValue;

use crate::{Catalog, Schema, Tool, ToolId};

fn catalog() -> Catalog {
    let mut odd = Tool::new(None, "get concert", "An id with all sorts of signs.");
    odd.id = ToolId::new("TheBand::get concert|v2");
    let tools = vec![
        Tool::new(Some("files"), "read_file", "Read."),
        Tool::new(Some("files"), "search", "Search files."),
        Tool::new(Some("web"), "search", "Search the web."),
        Tool::new(Some("a:b"), "c", "A server with a colon."),
        odd,
    ];
    let loaded = Catalog::from_tools(tools);
    assert_eq!(loaded.problems, []);
    loaded.catalog
}

#[test]
fn a_tool_is_found_by_its_id_in_either_spelling_and_by_a_name_of_its_own() {
    let catalog = catalog();
    assert_eq!((catalog.len(), catalog.is_empty()), (5, false));
    for (row, tool) in (0u32..).zip(catalog.iter()) {
        assert_eq!(catalog.row(tool.id.as_str()), Some(row), "rows follow the order given");
    }
    // Models' APIs take neither colons nor spaces.
    let model_name = ToolId::new("TheBand::get concert|v2").model_name().into_owned();
    assert!(model_name.starts_with("TheBand__get_concert_v2_"), "{model_name}");
    for (id, row) in [
        ("files:search", Some(1)),
        ("web:search", Some(2)),
        ("a:b:c", Some(3)),
        ("TheBand::get concert|v2", Some(4)),
        (&model_name, Some(4)),
        ("read_file", Some(0)),
        ("get concert", Some(4)),
        ("search", None),
        ("nothing", None),
    ] {
        assert_eq!(catalog.row(id), row, "{id}");
    }
}

#[test]
fn two_tools_of_one_id_are_both_named_and_a_named_server_is_the_one_that_is_meant() {
    let clash = |first: (&str, &str), second: (&str, &str)| {
        let tool = |(server, name)| Tool::new(Some(server), name, name);
        Catalog::from_tools(vec![tool(first), tool(second)])
    };
    let loaded = clash(("a", "b__c"), ("a__b", "c"));
    let said = loaded.problems[0].to_string();
    assert!(said.starts_with("error: tool \"a__b__c\", field \"id\": "), "{said}");
    let both = "found the id of `b__c` of the server `a` for `c` of the server `a__b` too";
    assert!(said.contains(both) && said.contains("rename one of the servers"), "{said}");
    let server = |catalog: &Catalog, id| catalog.get(id).and_then(|tool| tool.server.clone());
    let found = |id| server(&loaded.catalog, id);
    assert_eq!(found("a__b__c").as_deref(), Some("a"));
    assert_eq!(found("a:b__c").as_deref(), Some("a"));
    assert_eq!(found("a__b:c"), None, "the tool of that server is not there");
    let other = clash(("a__b", "c"), ("a", "b__c")).catalog;
    assert_eq!(server(&other, "a__b:c").as_deref(), Some("a__b"));
    assert_eq!(server(&other, "a:b__c"), None);
}

#[test]
fn an_id_counts_before_another_tools_name() {
    let mut first = Tool::new(Some("s"), "b", "Has the name b.");
    first.id = ToolId::new("a");
    let mut second = Tool::new(Some("s"), "a", "Has the id b.");
    second.id = ToolId::new("b");
    let catalog = Catalog::from_tools(vec![first, second]).catalog;
    assert_eq!(catalog.row("a"), Some(0));
    assert_eq!(catalog.row("b"), Some(1));
}

#[test]
fn near_ids_are_suggested_likeliest_first() {
    let catalog = catalog();
    let near = |id, limit| catalog.near(id, limit).iter().map(|id| id.as_str()).collect::<Vec<_>>();
    assert_eq!(near("files__readfile", 1), ["files__read_file"]);
    assert_eq!(near("serach", 5), ["files__search", "web__search"]);
    assert_eq!(near("FILES.READ", 1), ["files__read_file"]);
    assert_eq!(near("xylophone", 5), [""; 0]);
    assert_eq!(near("search", 0), [""; 0]);
}

#[test]
fn of_two_tools_with_one_id_the_first_stays() {
    let first = Tool::new(Some("s"), "t", "First.");
    let second = Tool::new(Some("s"), "t", "Second.");
    let loaded = Catalog::from_tools(vec![first.clone(), first.clone(), second]);
    assert_eq!(loaded.catalog.iter().collect::<Vec<_>>(), [&first]);
    assert_eq!(loaded.problems.len(), 1, "identical tools are silently one");
    assert!(loaded.problems[0].is_error());
}

#[test]
fn schemas_that_differ_in_white_space_and_order_alone_are_one_tool() {
    let tool = |schema: &str| {
        let schema = RawValue::from_string(schema.to_owned()).unwrap();
        Tool { input_schema: Some(Schema::new(schema)), ..Tool::new(Some("s"), "t", "Text.") }
    };
    let schema = r#"{"type":"object","required":["a"]}"#;
    let spaced = "{\n  \"required\": [\"a\"],\n  \"type\": \"object\"\n}";
    let loaded = Catalog::from_tools(vec![tool(schema), tool(spaced)]);
    assert_eq!((loaded.catalog.len(), loaded.problems.len()), (1, 0), "{:?}", loaded.problems);
    let kept = loaded.catalog.iter().next().unwrap().input_schema.as_ref().unwrap();
    assert_eq!(kept.as_str(), schema, "the first text stays, byte for byte");
    let other = Catalog::from_tools(vec![tool(schema), tool(r#"{"type":"object"}"#)]);
    assert_eq!(other.problems.len(), 1);
    // What is too deep to parse is equal to itself alone.
    let deep = |end: &str| format!("{}{end}{}", "[".repeat(200), "]".repeat(200));
    assert_eq!(tool(&deep("1")), tool(&deep("1")));
    assert_ne!(tool(&deep("1")), tool(&deep(" 1")));
}
