//! Tests that operations become tools with the right names, arguments and problems.

use serde_json::{Value, json};

use crate::import::Import;
use crate::import::refs::Refs;
use crate::import::tests::read_text;
use crate::{Operation, Place};

pub(super) fn api(paths: Value) -> Import {
    read_text(&json!({"openapi": "3.0.3", "paths": paths}).to_string())
}

pub(super) fn sent(import: &Import, at: usize) -> &Operation {
    import.tools[at].tool.operation.as_ref().unwrap()
}

pub(super) fn schema(import: &Import, at: usize) -> Value {
    import.tools[at].tool.input_schema.as_ref().unwrap().to_value().unwrap()
}

#[test]
fn a_form_is_imported_as_json_is() {
    let text = json!({"type": "string"});
    let form = json!({"type": "object", "required": ["to"], "properties": {"to": text, "ids": {"type": "array"}}});
    let kind = "application/x-www-form-urlencoded";
    let encoding = json!({"ids": {"explode": false}});
    let import = api(json!({
        "/form": {"post": {"requestBody": {"required": true, "content": {kind: {"schema": form, "encoding": encoding}}}}},
        "/both": {"post": {"requestBody": {"content": {kind: {"schema": form}, "application/json": {"schema": form}}}}},
        "/any": {"post": {"requestBody": {"required": true, "content": {"application/json": {}}}}},
    }));
    assert_eq!(import.problems, []);
    let body = sent(&import, 0).body.as_ref().unwrap();
    assert!(body.is_form() && body.required);
    assert_eq!(schema(&import, 0), form);
    let members: Vec<_> =
        sent(&import, 0).arguments.iter().map(|a| (a.name.as_str(), a.place, a.joined)).collect();
    assert_eq!(members, [("to", Place::Member, false), ("ids", Place::Member, true)]);
    assert_eq!(sent(&import, 1).body, None, "JSON before a form");
    assert_eq!(schema(&import, 2)["required"], json!(["body"]), "a body without a schema");
}

#[test]
fn parts_and_deep_objects_are_imported_with_how_they_are_sent() {
    let binary = json!({"type": "string", "format": "binary", "description": "A picture"});
    let parts = json!({"type": "object", "required": ["picture"], "properties": {
        "title": {"type": "string"}, "picture": binary,
        "more": {"type": "array", "items": {"contentMediaType": "application/pdf"}}}});
    let encoding = json!({"picture": {"contentType": "image/png"}});
    let content = json!({"multipart/form-data": {"schema": parts, "encoding": encoding}});
    let filter = json!({"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object"}});
    let taken = json!({"name": "title", "in": "query"});
    let post = |parameter: Value| json!({"post": {"parameters": [parameter], "requestBody": {"required": true, "content": content}}});
    let import = api(json!({"/a": post(filter), "/b": post(taken)}));
    let arguments = &sent(&import, 0).arguments;
    let told: Vec<_> =
        arguments.iter().map(|a| (a.name.as_str(), a.deep, a.file.as_deref())).collect();
    let expected = [
        ("filter", true, None),
        ("title", false, None),
        ("picture", false, Some("image/png")),
        ("more", false, Some("application/pdf")),
    ];
    assert_eq!(told, expected);
    let schema = schema(&import, 0);
    let picture = json!({"type": "string", "description": "A picture (the file's content in base64)",
        "contentEncoding": "base64"});
    assert_eq!(schema["properties"]["picture"], picture);
    assert_eq!(schema["properties"]["more"]["items"]["contentEncoding"], "base64");
    assert_eq!(schema["required"], json!(["picture"]));
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert!(problem.to_string().contains("multipart/form-data (post_b)"), "{problem}");
    assert!(!sent(&import, 1).is_body_known());
}

#[test]
fn a_body_that_cannot_be_made_is_told() {
    let file = |required: bool| {
        let content = json!({"multipart/form-data": {"schema": {"type": "object"}}});
        json!({"post": {"requestBody": {"required": required, "content": content}}})
    };
    let import = api(json!({"/must": file(true), "/may": file(false)}));
    assert_eq!(import.tools.len(), 2);
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    let said = problem.to_string();
    assert!(!problem.is_error(), "{said}");
    assert!(
        said.contains("multipart/form-data (post_must)") && said.contains("post_may"),
        "{said}"
    );
    let required = [0, 1].map(|at| sent(&import, at).body.as_ref().unwrap().required);
    assert_eq!(required, [true, false]);
}

#[test]
fn every_operation_is_a_tool_of_its_own() {
    let names = |paths: &[&str]| -> Vec<String> {
        let paths: Value =
            paths.iter().map(|path| (path.to_string(), json!({"get": {}}))).collect();
        let import = api(paths);
        assert_eq!(import.problems, []);
        import.tools.iter().map(|found| found.tool.name.clone()).collect()
    };
    assert_eq!(names(&["/pets/{id}", "/pets"]), ["get_pets_id", "get_pets"], "as ever");
    for (paths, expected) in [
        (["/users/{me}", "/users/me"], ["get_users_by_me", "get_users_me"]),
        (["/users/me", "/users/{me}"], ["get_users_me", "get_users_by_me"]),
        (["/a_b", "/a/b"], ["get_a_b_2", "get_a_b"]),
        (["/a/b", "/a/b/"], ["get_a_b", "get_a_b_2"]),
    ] {
        assert_eq!(names(&paths), expected, "{paths:?}");
    }
    let numbered = names(&["/a/b", "/a_b", "/a_b_2", "/a-b"]);
    assert_eq!(numbered, ["get_a_b_3", "get_a_b_4", "get_a_b_2", "get_a_b"]);
    let own = api(json!({"/a": {"get": {}}, "/b": {"get": {"operationId": "get_a"}}}));
    let names: Vec<&str> = own.tools.iter().map(|found| found.tool.name.as_str()).collect();
    assert_eq!(names, ["get_a_2", "get_a"]);
}

#[test]
fn yaml_has_two_words_for_booleans() {
    let import = read_text(
        "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      parameters:\n      - name: country\n        in: query\n        \
         required: true\n        schema: {enum: [SE, NO, on, yes, y, true, False, 12]}\n",
    );
    let schema = schema(&import, 0);
    let expected = json!(["SE", "NO", "on", "yes", "y", true, false, 12]);
    assert_eq!(schema["properties"]["country"]["enum"], expected);
    assert_eq!(schema["required"], json!(["country"]));
}

#[test]
fn a_servers_variables_have_their_defaults() {
    let variables =
        json!({"v": {"default": "v1", "enum": ["v1", "v2"]}, "port": {"default": 8443}});
    let text = json!({"openapi": "3.0.3", "paths": {"/a/": {"get": {}}},
        "servers": [{"url": "https://h.example:{port}/{v}/{v}/{other}", "variables": variables}]});
    let import = read_text(&text.to_string());
    let operation = sent(&import, 0);
    assert_eq!(operation.server.as_deref(), Some("https://h.example:8443/v1/v1/{other}"));
    assert_eq!(operation.path, "/a/");
}

#[test]
fn one_name_in_two_places_is_two_arguments() {
    let at = |name: &str, place: &str| json!({"name": name, "in": place, "required": true, "schema": {"type": place}});
    let parameters = json!([at("limit", "query"), at("limit", "header"), at("body", "query")]);
    let body =
        json!({"required": true, "content": {"application/json": {"schema": {"type": "array"}}}});
    let import = api(json!({"/a": {"post": {"parameters": parameters, "requestBody": body}}}));
    let schema = schema(&import, 0);
    assert_eq!(schema["required"], json!(["limit", "limit_header", "body", "body_content"]));
    assert_eq!(schema["properties"]["limit"]["type"], "query");
    assert_eq!(schema["properties"]["limit_header"]["type"], "header");
    let arguments = &sent(&import, 0).arguments;
    let sent: Vec<_> =
        arguments.iter().map(|a| (a.name.as_str(), a.place, a.sent_name())).collect();
    let expected = [
        ("limit", Place::Query, "limit"),
        ("limit_header", Place::Header, "limit"),
        ("body", Place::Query, "body"),
        ("body_content", Place::Body, "body_content"),
    ];
    assert_eq!(sent, expected);
}

#[test]
fn headers_that_are_said_elsewhere_are_no_arguments() {
    let named = |name: &str| json!({"name": name, "in": "header", "required": true});
    let parameters = ["Authorization", "ACCEPT", "Content-Type", "X-Trace"].map(named);
    let import = api(json!({"/a": {"get": {"parameters": parameters}}}));
    assert_eq!(schema(&import, 0)["required"], json!(["X-Trace"]));
    assert_eq!(sent(&import, 0).arguments.len(), 1);
}

#[test]
fn references_that_cannot_be_followed_are_told() {
    let reference = |to: &str| json!({"$ref": to});
    let schema_of = |to: &str| json!({"name": "p", "in": "query", "schema": reference(to)});
    let import = api(json!({
        "/a": {"get": {"parameters": [schema_of("https://schemas.example/a.json"), reference("#/nowhere")]}},
        "/b": {"post": {"requestBody": reference("bodies.yaml#/B")}},
        "/c": reference("paths/c.yaml"),
        "/d": {"get": {"parameters": [schema_of("#/no/schema")]}},
    }));
    assert_eq!(import.tools.len(), 3);
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert!(!problem.is_error(), "{problem}");
    let expected =
        "#/no/schema, #/nowhere, bodies.yaml#/B, https://schemas.example/a.json, paths/c.yaml";
    assert_eq!(problem.found, expected);
    let kept = json!({"$ref": "https://schemas.example/a.json"});
    assert_eq!(schema(&import, 0)["properties"], json!({"p": kept}), "as it stands");
}

#[test]
fn properties_may_have_the_names_of_keywords() {
    let target = json!({"$ref": "#/s/T"});
    let properties = ["default", "enum", "const", "example", "examples", "properties"];
    let properties: Value =
        properties.iter().map(|name| (name.to_string(), target.clone())).collect();
    let body = json!({"type": "object", "properties": properties, "$defs": {"default": target},
        "default": {"$ref": "#/s/T"}});
    let api = json!({"openapi": "3.1.0", "s": {"T": {"type": "string"}}, "paths": {"/": {"post": {
        "requestBody": {"content": {"application/json": {"schema": {"properties": {"b": body}}}}}}}}});
    let schema = &schema(&read_text(&api.to_string()), 0)["properties"]["b"];
    for (name, property) in schema["properties"].as_object().unwrap() {
        assert_eq!(property, &json!({"type": "string"}), "{name}");
    }
    assert_eq!(schema["$defs"]["default"], json!({"type": "string"}));
    assert_eq!(schema["default"], json!({"$ref": "#/s/T"}), "data as before");
}

#[test]
fn a_version_without_quotes_is_a_number() {
    for version in ["3.1", "3.0", "3", "\"3.1.0\"", "3.1.0"] {
        let text = format!("openapi: {version}\npaths:\n  /a:\n    get: {{operationId: a}}\n");
        assert_eq!(read_text(&text).tools.len(), 1, "{version}");
    }
}

#[test]
fn a_web_of_references_stays_small() {
    let schemas: Vec<String> = (0..40)
        .map(|i| {
            let next = format!("{{\"$ref\": \"#/s/{}\"}}", i + 1);
            format!("\"{i}\": {{\"properties\": {{\"a\": {next}, \"b\": {next}}}}}")
        })
        .collect();
    let body = r##"{"content": {"application/json": {"schema": {"$ref": "#/s/0"}}}}"##;
    let text = format!(
        "{{\"openapi\": \"3.0.0\", \"paths\": {{\"/\": {{\"post\": {{\"requestBody\": {body}}}}}}}, \"s\": {{{}}}}}",
        schemas.join(",")
    );
    let import = read_text(&text);
    assert!(import.tools[0].tool.input_schema.as_ref().unwrap().as_str().len() < 500_000);
}

/// Builds an API description in which many operations refer to the values of `shared`.
fn amplifier(shared: Value, operations: usize, parameters: usize, parameter: Value) -> String {
    let mut paths = serde_json::Map::new();
    for operation in 0..operations {
        let parameters: Vec<Value> = (0..parameters)
            .map(|at| {
                let mut parameter = parameter.clone();
                if parameter.get("$ref").is_none() {
                    parameter["name"] = json!(format!("p{at}"));
                }
                parameter
            })
            .collect();
        paths.insert(format!("/{operation}"), json!({"get": {"parameters": parameters}}));
    }
    json!({"openapi": "3.0.0", "paths": paths, "s": shared}).to_string()
}

#[test]
fn large_data_by_reference_stays_small() {
    let values: Vec<String> = (0..30_000).map(|at| format!("v{at:06}")).collect();
    let bytes = |import: &Import| -> usize {
        let schemas = import.tools.iter().map(|found| found.tool.input_schema.as_ref().unwrap());
        schemas.map(|schema| schema.as_str().len()).sum()
    };
    let shared = json!({
        "E": {"enum": values},
        "P": {"name": "p", "in": "query", "schema": {"enum": values}},
        "T": {"name": "p", "in": "query", "description": "x".repeat(300_000), "schema": {}},
    });
    let by_schema = json!({"in": "query", "schema": {"$ref": "#/s/E"}});
    let one_operation = read_text(&amplifier(shared.clone(), 1, 3_000, by_schema));
    assert_eq!(schema(&one_operation, 0)["properties"].as_object().unwrap().len(), 3_000);
    assert!(bytes(&one_operation) < 1_000_000);
    let [problem] = one_operation.problems.as_slice() else { panic!() };
    assert!(!problem.is_error() && problem.found.contains("1 larger"), "{problem}");

    // Each operation is kept, without the list or the text that is too long for its share.
    for parameter in [json!({"$ref": "#/s/P"}), json!({"$ref": "#/s/T"})] {
        let many = read_text(&amplifier(shared.clone(), 600, 1, parameter));
        assert_eq!(many.tools.len(), 600);
        assert!(bytes(&many) < 70_000_000, "{}", bytes(&many));
        let [problem] = many.problems.as_slice() else { panic!("{:?}", many.problems) };
        assert!(!problem.is_error() && problem.found.contains("600 larger"), "{problem}");
    }

    let item = json!({"get": {"summary": "x".repeat(300_000)}});
    let paths: Value = (0..600).map(|at| (format!("/{at}"), json!({"$ref": "#/s/item"}))).collect();
    let text = json!({"openapi": "3.0.0", "paths": paths, "s": {"item": item}}).to_string();
    let many = read_text(&text);
    let problem = many.problems.iter().find(|problem| problem.is_error()).unwrap();
    assert!(problem.found.contains("left out"), "{problem}");
}

#[test]
fn schemas_that_do_not_fit_keep_their_outermost_members() {
    let wide = |next: usize| {
        let member = |at: usize| (format!("member_{at}"), json!({"$ref": format!("#/s/{next}")}));
        json!({"type": "object", "properties": (0..20).map(member).collect::<Value>()})
    };
    let schemas: Value = (0..6).map(|at| (at.to_string(), wide(at + 1))).collect();
    let body = json!({"content": {"application/json": {"schema": {"$ref": "#/s/0"}}}});
    let text =
        json!({"openapi": "3.0.0", "s": schemas, "paths": {"/a": {"post": {"requestBody": body}}}});
    let import = read_text(&text.to_string());
    let [problem] = import
        .problems
        .iter()
        .filter(|p| p.field.as_deref() != Some("$ref"))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", import.problems)
    };
    assert!(problem.to_string().contains("only the outer schemas"), "{problem}");
    let properties = schema(&import, 0)["properties"].clone();
    let inner = &properties["member_19"]["properties"];
    assert_eq!(inner.as_object().map(serde_json::Map::len), Some(20), "the last as the first");
    assert_eq!(inner["member_19"], json!({}));
}

#[test]
fn a_body_that_is_no_plain_object_is_one_argument_with_its_schema() {
    let plain = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}});
    let with = |key: &str, value: Value| {
        let mut schema = plain.clone();
        schema[key] = value;
        schema
    };
    let alone = |schema: Value| json!({"type": "object", "properties": {"body": schema}});
    let required = json!([{"required": ["a"]}, {"required": ["b"]}]);
    let one_of = json!({"oneOf": [plain, {"type": "array"}]});
    let all_of = with("allOf", json!([{"properties": {"c": {}}}]));
    for (schema_of_body, expected) in [
        (json!(true), alone(json!(true))),
        (json!(false), alone(json!(false))),
        (one_of.clone(), alone(one_of)),
        (all_of.clone(), alone(all_of)),
        (json!({"type": "object"}), alone(json!({"type": "object"}))),
        (json!({"properties": null}), alone(json!({"properties": null}))),
        (with("anyOf", required), plain.clone()),
    ] {
        let body = json!({"content": {"application/json": {"schema": schema_of_body}}});
        let import = api(json!({"/a": {"post": {"requestBody": body}}}));
        assert_eq!(schema(&import, 0), expected);
        assert_eq!(import.problems, []);
    }
}

#[test]
fn references_may_be_percent_encoded() {
    let parameter =
        json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let import = api(json!({
        "/a/{id}": {"get": {"parameters": [parameter]}},
        "/b/{id}": {"get": {"parameters": [{"$ref": "#/paths/~1a~1%7Bid%7D/get/parameters/0"}]}},
    }));
    assert_eq!(import.problems, []);
    assert_eq!(schema(&import, 1)["required"], json!(["id"]));
}

#[test]
fn the_text_of_a_path_is_that_of_operations_without_text() {
    let import = api(json!({"/a": {"summary": "Pets", "description": "All pets.",
        "get": {}, "post": {"summary": "Adds a pet"}}}));
    let told: Vec<&str> = import.tools.iter().map(|found| &*found.tool.description).collect();
    assert_eq!(told, ["Pets. All pets.", "Adds a pet"]);
}

#[test]
fn what_the_top_declares_is_judged_once() {
    let api = |extension: Value| {
        let paths = json!({"/a": {"get": {}}, "/b": {"get": {"x-toolroute": {"cost": "low"}}}});
        json!({"openapi": "3.0.0", "x-toolroute": extension, "paths": paths}).to_string()
    };
    let import = read_text(&api(json!({"cost": "dear", "reliability": "high"})));
    assert_eq!((import.tools.len(), import.problems.len()), (2, 1));
    assert!(import.tools[0].tool.reliability.is_none() && import.tools[1].tool.cost.is_some());
    let import = read_text(&api(json!({"reliability": "high"})));
    assert!(import.tools.iter().all(|found| found.tool.reliability.is_some()));
    assert_eq!(import.problems, []);
}

#[test]
fn an_id_in_a_path_says_what_it_identifies() {
    let path = |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    let get = |names: &[&str]| {
        let parameters: Vec<Value> = names.iter().map(|name| path(name)).collect();
        json!({"get": {"parameters": parameters}})
    };
    let mut told = get(&["id"]);
    told["get"]["parameters"][0]["description"] = json!("The number on the invoice");
    let import = api(json!({
        "/incidents/{id}/timeline": get(&["id"]),
        "/pull-requests/{Number}": get(&["Number"]),
        "/pets/{petId}": get(&["petId"]),
        "/{id}": get(&["id"]),
        "/invoices/{id}": told,
        "/users/{user}/{key}": get(&["user", "key"]),
    }));
    let said =
        |at: usize, name: &str| schema(&import, at)["properties"][name]["description"].clone();
    assert_eq!(said(0, "id"), "ID of the incident");
    assert_eq!(said(1, "Number"), "Number of the pull request");
    assert_eq!(said(2, "petId"), Value::Null, "its name says it");
    assert_eq!(said(3, "id"), Value::Null);
    assert_eq!(said(4, "id"), "The number on the invoice");
    assert_eq!(said(5, "key"), Value::Null, "nothing but another parameter is before it");
}

#[test]
fn a_deprecated_operation_says_so() {
    let import = api(
        json!({"/a": {"get": {"summary": "Lists pets", "deprecated": true}}, "/b": {"get": {"summary": "Lists pets"}}}),
    );
    assert_eq!(import.tools[0].tool.description, "Lists pets (deprecated)");
    assert!(import.tools[0].tool.is_deprecated() && !import.tools[1].tool.is_deprecated());
}

/// An object that is too large for an operation's share if there are many operations.
fn large() -> Value {
    let text = "x".repeat(100);
    let member = |at: usize| (format!("p{at}"), json!({"type": "string", "description": text}));
    json!({"type": "object", "properties": (0..2_500).map(member).collect::<Value>()})
}

#[test]
fn a_large_body_that_all_operations_share_is_not_copied_for_each() {
    const OPERATIONS: usize = 100;
    let paths = |operation: Value| -> Value {
        (0..OPERATIONS).map(|at| (format!("/{at}"), json!({"post": operation}))).collect()
    };
    let schemas = json!({"W": {"$ref": "#/s/X"}, "Y": large(),
        "X": {"type": "object", "properties": {"v": {"$ref": "#/s/Y"}}}});
    let body = json!({"content": {"application/json": {"schema": {"$ref": "#/s/W"}}}});
    let nested =
        json!({"openapi": "3.0.0", "s": schemas, "paths": paths(json!({"requestBody": body}))});
    let shared = json!({"name": "b", "in": "body", "required": true, "schema": large()});
    let by_parameter = json!({"swagger": "2.0", "parameters": {"B": shared},
        "paths": paths(json!({"parameters": [{"$ref": "#/parameters/B"}]}))});
    for text in [nested, by_parameter] {
        let import = read_text(&text.to_string());
        let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
        assert!(problem.found.contains("100 larger") && !problem.is_error(), "{problem}");
        assert_eq!(import.tools.len(), OPERATIONS);
    }
    // A result that is discarded must not cost more than one that is kept.
    let root = json!({"Y": large()});
    let mut refs = Refs::within(&root, 4_000, usize::MAX);
    let bytes = refs.resolve(&json!({"allOf": [{"$ref": "#/Y"}, large()]})).to_string().len();
    assert!(refs.overflowed && bytes < 8_000, "{bytes}");
}

#[test]
fn what_is_cut_refuses_no_more_than_the_whole() {
    let part = json!({"$ref": "#/Y"});
    let schema = json!({"oneOf": [part, {"type": "null"}], "not": part, "properties": {"a": part}});
    let root = json!({"Y": large(), "S": schema});
    let mut refs = Refs::within(&root, 4_000, 1);
    let any = json!({"anyOf": [{}, {"type": "null"}], "properties": {"a": {}}});
    assert_eq!(refs.resolve(&json!({"$ref": "#/S"})), any);
    assert!(refs.cut);
}

#[test]
fn a_large_schema_of_one_operation_is_kept_whole() {
    let body = json!({"content": {"application/json": {"schema": large()}}});
    let import = api(json!({"/a": {"post": {"requestBody": body}}, "/b": {"get": {}}}));
    assert_eq!(import.problems, []);
    assert_eq!(schema(&import, 0)["properties"], large()["properties"]);
}

#[test]
fn parts_that_alternatives_name_are_sent_too() {
    let text = json!({"type": "string"});
    let only = |name: &str| json!({"properties": {name: text}, "required": [name]});
    let both = json!({"type": "object", "properties": {"a": text}, "required": ["a"],
        "allOf": [only("b")], "oneOf": [only("c"), only("d")]});
    let without = json!({"allOf": [only("a"), only("b")]});
    let post = |schema: &Value| json!({"post": {"requestBody": {"required": true, "content": {"multipart/form-data": {"schema": schema}}}}});
    let import = api(json!({"/both": post(&both), "/all": post(&without)}));
    assert_eq!(import.problems, []);
    let names = |at: usize| -> Vec<String> {
        sent(&import, at).arguments.iter().map(|argument| argument.name.clone()).collect()
    };
    assert_eq!(
        (names(0), names(1)),
        (["a", "b", "c", "d"].map(String::from).to_vec(), ["a", "b"].map(String::from).to_vec())
    );
    assert_eq!(schema(&import, 0)["required"], json!(["a", "b"]));
}
