//! Property tests: no input causes a panic, and tools that are written are read back unchanged.

use std::path::Path;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::to_raw_value;

use crate::import;
use crate::source::Source;
use crate::{
    CallHints, Catalog, ComplexityRange, Cost, Facets, Hints, IntentSignal, LatencyTier, Operation,
    OperationArgument, OperationBody, ParameterHints, Place, Reliability, Retry, RetryOn, Routing,
    Schema, Tool, ToolId, embedding_text, keyword_fields,
};

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from("function")),
        Just(Value::from("3.0.0")),
        Just(Value::from("#/paths")),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((key(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Generates mostly keys that the readers look for, so that random objects reach their code.
fn key() -> impl Strategy<Value = String> {
    let known = "tools functions servers result name type function tool id inputSchema \
                 input_schema parameters description server serverInfo annotations hints facets \
                 routing signals pattern complexity tags cost latency_ms openapi paths get post \
                 $ref requestBody content application/json schema properties required info title \
                 x-toolroute in nextCursor overlay swagger basePath host schemes consumes body formData \
                 allOf anyOf items explode toolSpec toolConfig json args required_parameters api_list \
                 functionDeclarations question";
    prop_oneof![
        4 => prop::sample::select(known.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
        1 => ".{0,6}",
    ]
}

fn words() -> impl Strategy<Value = Vec<String>> {
    vec(".{0,8}", 0..3)
}

fn facets() -> impl Strategy<Value = Facets> {
    let range = (0.0f32..=1.0, 0.0f32..=1.0)
        .prop_map(|(a, b)| ComplexityRange { min: a.min(b), max: a.max(b) });
    (words(), words(), words(), option::of(range)).prop_map(
        |(phases, languages, task_types, complexity)| Facets {
            phases,
            languages,
            task_types,
            complexity,
        },
    )
}

fn signals() -> impl Strategy<Value = Vec<IntentSignal>> {
    // The prefix `zq` keeps the patterns from matching everyday prompts, because such patterns are
    // rejected.
    let signal = ("zq[a-zא-ת]{1,8}[*+?]?", -1.0f32..=1.0, option::of(".{0,6}")).prop_map(
        |(pattern, weight, exclusive_intent)| IntentSignal { pattern, weight, exclusive_intent },
    );
    vec(signal, 0..3)
}

fn call_hints() -> impl Strategy<Value = CallHints> {
    let timeout = option::of(1..=CallHints::MAX_TIMEOUT_MS);
    let tokens = any::<[Option<u32>; 2]>();
    (timeout, option::of(0u64..10_000), any::<Option<bool>>(), tokens).prop_map(
        |(timeout_ms, feedback_delay_ms, research, [typical_tokens, max_tokens])| CallHints {
            timeout_ms,
            feedback_delay_ms,
            research,
            typical_tokens,
            max_tokens,
            retry: research.map(|_| Retry { on: vec![RetryOn::Busy], most: 3 }),
            summarize: research,
        },
    )
}

fn routing() -> impl Strategy<Value = Routing> {
    let examples = vec((".{1,6}", any::<i64>().prop_map(Value::from)), 0..3);
    let hints = (words(), examples).prop_map(|(required, examples)| ParameterHints {
        required,
        examples: examples.into_iter().collect(),
    });
    let parts = (option::of(0u8..=100), words(), words(), signals(), any::<bool>(), hints);
    (parts, call_hints()).prop_map(|(parts, call_hints)| {
        let (priority, fallbacks, conflicts_with, signals, critical, parameter_hints) = parts;
        Routing {
            priority,
            fallbacks: fallbacks.iter().map(|id| id.as_str().into()).collect(),
            conflicts_with,
            signals,
            critical,
            newcomer: false,
            parameter_hints,
            call_hints,
        }
    })
}

fn hints() -> impl Strategy<Value = Hints> {
    any::<[Option<bool>; 3]>().prop_map(|[read_only, destructive, idempotent]| Hints {
        read_only,
        destructive,
        idempotent,
        from_overlay: false,
    })
}

fn tiers() -> impl Strategy<Value = (Option<Reliability>, Option<Cost>, Option<LatencyTier>)> {
    use prop::sample::select;
    (
        option::of(select(vec![Reliability::Low, Reliability::Medium, Reliability::High])),
        option::of(select(vec![Cost::Tiny, Cost::Low, Cost::Medium, Cost::High])),
        option::of(select(vec![LatencyTier::Fast, LatencyTier::Slow, LatencyTier::VerySlow])),
    )
}

fn schema() -> impl Strategy<Value = Schema> {
    vec((".{0,6}", json()), 0..4).prop_map(|members| {
        Schema::new(to_raw_value(&Value::Object(members.into_iter().collect())).unwrap())
    })
}

prop_compose! {
    fn tool()(
        (id, name, server) in (".{1,12}", "[^\\s].{0,12}", option::of(".{1,8}")),
        (title, description) in (option::of(".{0,8}"), ".{0,40}"),
        input_schema in option::of(schema()),
        lists in vec(words(), 8),
        (reliability, cost, declared_latency_tier) in tiers(),
        latency_ms in option::of(any::<u64>()),
        hints in hints(),
        mcp in option::of(schema()),
        facets in facets(),
        routing in routing(),
        operation in option::of(operation()),
    ) -> Tool {
        let [categories, tags, examples, capabilities, satisfies, consumes, before, after] =
            <[Vec<String>; 8]>::try_from(lists).unwrap();
        Tool {
            id: ToolId::new(id), name, title, description, server, input_schema, categories, tags,
            examples, capabilities, satisfies, consumes, preconditions: before,
            postconditions: after, reliability, cost, latency_ms, declared_latency_tier, hints,
            mcp, facets: facets.into(), routing: routing.into(), operation: operation.map(Box::new),
        }
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    use prop::sample::select;
    let place = select(vec![Place::Path, Place::Query, Place::Header, Place::Member, Place::Body]);
    let style = (any::<bool>(), any::<bool>(), option::of(".{1,8}"));
    let argument = (".{1,8}", place, style, option::of(".{1,8}")).prop_map(
        |(name, place, (joined, deep, file), sent_as)| OperationArgument {
            name,
            place,
            joined,
            deep,
            file,
            sent_as,
        },
    );
    let body = (".{1,12}", any::<bool>())
        .prop_map(|(media_type, required)| OperationBody { media_type, required });
    (".{1,6}", ".{1,12}", option::of(".{1,12}"), vec(argument, 0..4), option::of(body)).prop_map(
        |(method, path, server, arguments, body)| Operation {
            method,
            path,
            server,
            arguments,
            body,
        },
    )
}

fn read(text: &str) -> Option<Vec<Tool>> {
    let source = Source::new(Path::new("any.json"), text);
    let tools = import::read(&source).ok()?.tools.into_iter();
    Some(tools.map(|found| Arc::unwrap_or_clone(found.tool)).collect())
}

proptest! {
    #[test]
    fn a_tool_written_as_a_row_is_read_back_the_same(tool in tool()) {
        prop_assert_eq!(read(&import::to_row(&tool)), Some(vec![tool]));
    }

    #[test]
    fn a_catalog_written_as_rows_is_read_back_the_same(tools in vec(tool(), 1..4)) {
        let catalog = Catalog::from_tools(tools).catalog;
        let again: Vec<Tool> = catalog.iter().cloned().collect();
        prop_assert_eq!(read(&catalog.to_jsonl()).unwrap(), again);
    }

    #[test]
    fn texts_are_made_of_any_tool(tool in tool()) {
        prop_assert!(embedding_text(&tool).chars().count() <= 1_000);
        // NFKC expands one character to at most eighteen (U+FDFA).
        let counted = keyword_fields(&tool).description.chars().count();
        prop_assert!(counted <= 18 * tool.description.chars().count());
    }

    #[test]
    fn no_bytes_make_the_importers_panic(bytes in vec(any::<u8>(), 0..200)) {
        read(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_text_makes_the_importers_panic(text in "[\\[\\]{}\":,=\\-\\n a-z0-9&*!|>#]{0,80}") {
        read(&text);
    }

    #[test]
    fn no_json_makes_the_importers_panic(value in json()) {
        read(&value.to_string());
    }

    #[test]
    fn no_api_description_makes_the_importer_panic(paths in json(), components in json()) {
        let api = serde_json::json!({"openapi": "3.1.0", "paths": {"/a": paths}, "b": components});
        read(&api.to_string());
    }

    #[test]
    fn no_schema_makes_the_importers_panic(schema in json(), parameters in vec(json(), 0..3)) {
        let body = serde_json::json!({"content": {"application/json": {"schema": schema}}});
        let post = serde_json::json!({"post": {"requestBody": body, "parameters": parameters}});
        let api = serde_json::json!({"openapi": "3.1.0", "paths": {"/a": post}});
        read(&api.to_string());
        let parameter = serde_json::json!({"name": "a", "in": "body", "schema": schema});
        let item = serde_json::json!({"put": {"parameters": [parameter]}, "post": schema, "parameters": parameters});
        let api = serde_json::json!({"swagger": "2.0", "paths": {"/a": item}, "consumes": schema, "host": schema});
        read(&api.to_string());
        for name in ["parameters", "inputSchema", "required_parameters"] {
            read(&serde_json::json!([{"name": "a", name: schema}]).to_string());
        }
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    const DEEP: usize = 100_000;
    for (open, close) in [("[", "]"), ("{\"tools\":[", "]}"), ("{\"result\":", "}")] {
        read(&format!("{}1{}", open.repeat(DEEP), close.repeat(DEEP)));
        read(&open.repeat(DEEP));
    }
    read(&format!("a = {}", "[".repeat(DEEP)));
    read(&format!("a = {}{}", "[".repeat(DEEP), "]".repeat(DEEP)));
    read(&"- ".repeat(DEEP));
    read(&format!("a: {}", "[".repeat(DEEP)));
    let deep = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let tools = read(&format!("{{\"id\":\"x\",\"name\":\"x\",\"input_schema\":{{\"a\":{deep}}}}}"));
    assert_eq!(tools, Some(Vec::new()), "a schema that is too deep is refused");
}

#[test]
fn a_schema_over_several_lines_is_written_on_one() {
    let text = "{\"id\": \"x\", \"name\": \"x\", \"input_schema\": {\r\n  \"a\": \"b\\n\"\n}}";
    let row = import::to_row(&read(text).unwrap()[0]);
    assert!(!row.contains('\n'));
    let schema = read(&row).unwrap()[0].input_schema.clone().unwrap();
    assert_eq!(schema.as_str(), "{    \"a\": \"b\\n\" }");
}
