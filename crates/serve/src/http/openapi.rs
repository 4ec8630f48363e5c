//! `GET /openapi.json`: the OpenAPI document, generated from the handlers.

use std::sync::LazyLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use toolroute_conduct::OBLIGATIONS_SCHEMA;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{
    ErrorBody, analyze, arguments, call, conduct, embeddings, feedback, filter, health, map,
    outputs, reload, rerank, run, select, tools, watch,
};
use crate::filter::FilterReport;

/// The schemas that the macros cannot derive, by their place below `/components/schemas`: those of other
/// crates' types, which know nothing of OpenAPI, and members that a schema says more precisely.
const SCHEMAS: &str = include_str!("openapi.schemas.json");

#[derive(OpenApi)]
#[openapi(
    info(
        title = "toolroute",
        description = "Gives an LLM agent the right tools for a prompt, on the user's own machine. Every error is \
            `{\"error\": {\"type\", \"message\"}}`. Any request may also get 401 (a token is asked for and was not \
            given), 403 (a host or a page that is not the server's own) and 405.",
    ),
    paths(
        select::select, analyze::analyze, tools::list, tools::register, tools::show, tools::update, tools::remove,
        feedback::add, arguments::arguments, call::call, run::run, outputs::output, conduct::conduct, filter::filter, embeddings::embed, embeddings::models,
        rerank::rerank, watch::servers, watch::recent, watch::events, map::map, reload::reload,
        health::alive, health::ready, health::metrics,
    ),
    components(schemas(ErrorBody, filter::ReportIn, FilterReport)),
    modifiers(&Token),
    security((), ("token" = [])),
    tags(
        (name = "tools", description = "finding, changing and calling tools"),
        (name = "drop-in", description = "endpoints in the forms of other APIs"),
        (name = "watching", description = "what happens and what happened"),
        (name = "operations", description = "for those who run the server"),
    )
)]
struct Document;

struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        document.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut document = serde_json::to_value(Document::openapi())
        .expect("the document holds strings and numbers only. This is a bug.");
    write_schemas(&mut document["components"]["schemas"]);
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, operation) in paths.flat_map(|(_, path)| path.as_object_mut().into_iter().flatten()) {
        if let Some(body) = operation.get_mut("requestBody") {
            // The macros leave it open where the schema is one of `SCHEMAS`.
            body["required"] = true.into();
        }
    }
    for (body, name, other) in PROMPT_NAMES {
        if let Some(schema) = document.pointer_mut(&format!("/components/schemas/{body}")) {
            describe_names(schema, name, other);
        }
    }
    document.to_string()
});

/// The bodies that accept their prompt under two names.
const PROMPT_NAMES: [(&str, &str, &str); 5] = [
    ("SelectBody", "prompt", "query"),
    ("AnalyzeBody", "prompt", "query"),
    ("ArgumentsBody", "prompt", "query"),
    ("RunBody", "prompt", "query"),
    ("RerankBody", "query", "prompt"),
];

/// Documents that a body accepts its prompt under either name.
fn describe_names(schema: &mut Value, name: &str, other: &str) {
    let mut second = schema["properties"][name].clone();
    second["description"] = format!("The same as `{name}`; beside it, the same text.").into();
    schema["properties"][other] = second;
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|member| member != name);
    }
    let mut names = vec![name, other];
    names.extend(schema["properties"].get("prompts").map(|_| "prompts"));
    let names = names.iter().map(|name| json!({"required": [name]}));
    schema["anyOf"] = names.collect();
}

/// Adds the schemas of [`SCHEMAS`], and the conductor's own.
fn write_schemas(schemas: &mut Value) {
    let written: Map<String, Value> = serde_json::from_str(SCHEMAS)
        .expect("the schemas are JSON that the tests read. This is a bug.");
    for (place, schema) in written {
        let (around, member) = place.rsplit_once('/').unwrap_or_default();
        if let Some(around) = schemas.pointer_mut(around) {
            around[member] = schema;
        }
    }
    // The references of this schema are relative to the root of the document.
    let obligations =
        OBLIGATIONS_SCHEMA.replace("#/$defs/", "#/components/schemas/Obligations/$defs/");
    schemas["Obligations"] = serde_json::from_str(&obligations).unwrap_or_default();
}

/// Answers with the document.
pub async fn document() -> Response {
    ([(CONTENT_TYPE, "application/json")], TEXT.as_str()).into_response()
}
