//! Tests that operations become tools with the right names, arguments and problems.

use std::path::Path;

use serde_json::{Value, json};

use crate::import::{Import, read};
use crate::source::Source;
use crate::{Operation, Place};

/// Imports an API with these paths.
fn api(paths: Value) -> Import {
    read_text(&json!({"openapi": "3.0.3", "paths": paths}).to_string())
}

fn read_text(text: &str) -> Import {
    let source = Source::new(Path::new("api.json"), text);
    read(&source).unwrap_or_else(|problem| panic!("{problem}"))
}

fn sent(import: &Import, at: usize) -> &Operation {
    import.tools[at].tool.operation.as_ref().unwrap()
}

fn schema(import: &Import, at: usize) -> Value {
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
