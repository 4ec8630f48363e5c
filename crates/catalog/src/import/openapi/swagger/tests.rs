//! Tests that descriptions of Swagger 2.0 become tools as those of OpenAPI 3 do.

use serde_json::{Value, json};

use crate::import::Import;
use crate::import::openapi::tests::{api, schema, sent};
use crate::import::tests::read_text;

fn swagger(rest: Value) -> Import {
    let mut text = json!({"swagger": "2.0", "host": "pets.example"});
    text.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    read_text(&text.to_string())
}

#[test]
fn swagger_is_read_through_references_too() {
    let body = |name: &str| {
        json!({"name": "b", "in": "body", "required": true,
        "schema": {"type": "object", "required": [name], "properties": {name: {"type": "string"}}}})
    };
    let item = json!({"post": {"parameters": [body("n")], "consumes": ["application/x-ndjson", "application/json"]}});
    let import = swagger(json!({
        "x-items": {"x": item}, "parameters": {"B": body("m")},
        "paths": {"/a": {"$ref": "#/x-items/x"}, "/b": {"post": {"parameters": [{"$ref": "#/parameters/B"}]}}},
    }));
    assert_eq!(import.problems, []);
    assert_eq!(schema(&import, 0)["required"], json!(["n"]));
    assert_eq!(schema(&import, 1)["required"], json!(["m"]));
    assert_eq!(sent(&import, 0).body, None, "JSON, which it accepts too");
}

#[test]
fn lists_with_separators_that_are_not_sent_are_told() {
    let list = |format: &str| {
        json!({"get": {"parameters": [{"name": "q", "in": "query", "type": "array",
        "items": {"type": "string"}, "collectionFormat": format}]}})
    };
    let import =
        swagger(json!({"paths": {"/a": list("pipes"), "/b": list("csv"), "/c": list("multi")}}));
    let [problem] = import.problems.as_slice() else { panic!("{:?}", import.problems) };
    assert!(!problem.is_error() && problem.found == "pipes (get_a)", "{problem}");
    let joined = [0, 1, 2].map(|at| sent(&import, at).arguments[0].joined);
    assert_eq!(joined, [true, true, false]);
    let piped = json!({"name": "q", "in": "query", "style": "pipeDelimited", "schema": {}});
    let import = api(json!({"/a": {"get": {"parameters": [piped]}}}));
    assert!(import.problems[0].found.contains("pipeDelimited"), "{:?}", import.problems);
}
