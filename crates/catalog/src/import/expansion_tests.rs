//! Tests of API descriptions whose references are resolved.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{Import, read};
use crate::source::Source;

fn read_text(text: &str) -> Import {
    let source = Source::new(Path::new("api.json"), text);
    read(&source).unwrap_or_else(|problem| panic!("{problem}"))
}

fn schema_of(import: &Import, at: usize) -> Value {
    import.tools[at].tool.input_schema.as_ref().unwrap().to_value().unwrap()
}

fn bytes(import: &Import) -> usize {
    import.tools.iter().map(|t| t.tool.input_schema.as_ref().unwrap().as_str().len()).sum()
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
    let schema = &schema_of(&read_text(&api.to_string()), 0)["properties"]["b"];
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
    let source = Source::new(Path::new("api.yaml"), "openapi: 4.1\npaths: {}\n");
    assert!(read(&source).is_err());
}

#[test]
fn a_second_yaml_document_is_named_as_such() {
    for text in ["a: 1\n---\nb: 2\n", "---\ntools:\n - name: x\n---\ntools:\n - name: y\n"] {
        let source = Source::new(Path::new("api.yaml"), text);
        let problem = read(&source).unwrap_err().to_string();
        assert!(problem.contains("one YAML document a file"), "{problem}");
    }
    assert_eq!(read_text("---\ntools:\n - name: x\n").tools.len(), 1);
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
    let mut values = Vec::new();
    for at in 0..30_000 {
        let mut value = String::new();
        write!(value, "v{at:06}").unwrap();
        values.push(value);
    }
    let shared = json!({
        "E": {"enum": values},
        "P": {"name": "p", "in": "query", "schema": {"enum": values}},
        "T": {"name": "p", "in": "query", "description": "x".repeat(300_000), "schema": {}},
    });
    let by_schema = json!({"in": "query", "schema": {"$ref": "#/s/E"}});
    let one_operation = read_text(&amplifier(shared.clone(), 1, 3_000, by_schema));
    assert_eq!(schema_of(&one_operation, 0)["properties"].as_object().unwrap().len(), 3_000);
    assert!(bytes(&one_operation) < 1_000_000);
    let [problem] = one_operation.problems.as_slice() else { panic!() };
    assert!(!problem.is_error() && problem.found.contains("1 larger"), "{problem}");

    for parameter in [json!({"$ref": "#/s/P"}), json!({"$ref": "#/s/T"})] {
        let many = read_text(&amplifier(shared.clone(), 600, 1, parameter));
        assert!(bytes(&many) < 70_000_000, "{}", bytes(&many));
        let problem = many.problems.iter().find(|problem| problem.is_error()).unwrap();
        assert!(problem.found.contains("left out"), "{problem}");
    }
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
