use serde_json::value::RawValue;

use crate::text::parameter_names;
use crate::{Schema, Tool, embedding_text, keyword_fields, split_identifier};

fn schema(json: &str) -> Option<Schema> {
    Some(Schema::new(RawValue::from_string(json.to_owned()).unwrap()))
}

#[test]
fn identifiers_become_words() {
    for (identifier, words) in [
        ("readFile", "read File"),
        ("read_file", "read file"),
        ("getHTTPResponse", "get HTTPResponse"),
        ("HTTPServer", "HTTPServer"),
        ("v2Alpha", "v2 Alpha"),
        ("sha256sum", "sha256sum"),
        ("a1B2C3", "a1 B2 C3"),
        ("a__b--c//d..e::f", "a b c d e f"),
        ("/v1/nutrition", " v1 nutrition"),
        ("trailing_", "trailing "),
        ("_-/.:", " "),
        ("a_B", "a B"),
        ("Chemical Engineering/Forensic", "Chemical Engineering Forensic"),
        // Only ASCII letters form a boundary, as in the regular expression [a-z0-9][A-Z].
        ("éÉcole", "éÉcole"),
        ("größeÄndern", "größeÄndern"),
        ("日本語Text", "日本語Text"),
        ("", ""),
    ] {
        assert_eq!(split_identifier(identifier), words, "{identifier}");
    }
}

#[test]
fn the_embedded_text_has_server_name_description_and_parameters() {
    let mut tool = Tool::new(Some("mySQL-server"), "runQuery", "Run a query.");
    tool.input_schema =
        schema(r#"{"properties": {"sqlText": {}, "max_rows": {"properties": {}}}}"#);
    let text = "my SQL server: run Query. Run a query. Parameters: sql Text, max rows";
    assert_eq!(embedding_text(&tool), text);
}

#[test]
fn absent_parts_leave_no_trace() {
    assert_eq!(embedding_text(&Tool::new(None, "ping", "")), "ping. ");
    assert_eq!(embedding_text(&Tool::new(Some(""), "ping", "Pong.")), "ping. Pong.");
    for empty in ["{}", r#"{"properties": null}"#, r#"{"properties": {}}"#, r#"{"properties": []}"#]
    {
        let mut tool = Tool::new(None, "ping", "Pong.");
        tool.input_schema = schema(empty);
        assert_eq!(embedding_text(&tool), "ping. Pong.", "{empty}");
    }
}

#[test]
fn the_first_twelve_parameters_are_embedded_in_the_schemas_order() {
    let names: Vec<String> = (0..15).map(|i| format!("\"p{}\": {{}}", 20 - i)).collect();
    let mut tool = Tool::new(None, "t", "d");
    tool.input_schema = schema(&format!("{{\"properties\": {{{}}}}}", names.join(",")));
    let text = embedding_text(&tool);
    assert!(text.starts_with("t. d Parameters: p20, p19, "), "{text}");
    assert!(text.ends_with("p10, p9"), "{text}");
    assert!(keyword_fields(&tool).parameters.ends_with("p7\np6"));
}

#[test]
fn what_parameters_mean_is_embedded_in_short() {
    let long = "Tells ".repeat(30);
    let about = format!(
        r#"{{"properties": {{
            "fileName": {{"description": "Where it lies. Relative to the root."}},
            "mode": {{"enum": ["r", "w", 3, "a", "x", "b", "t", "u"], "description": " "}},
            "plain": {{}}, "odd": 5, "list": {{"description": ["x"], "enum": "y"}},
            "lines": {{"description": "First line\nsecond"}},
            "long": {{"description": "{long}"}}}}}}"#
    );
    let mut tool = Tool::new(None, "t", "d.");
    tool.input_schema = schema(&about);
    let expected = "t. d. Parameters: file Name: Where it lies.; mode (r, w, a, x); plain; odd; list; \
                    lines: First line; long: Tells Tells";
    let text = embedding_text(&tool);
    assert!(text.starts_with(expected), "{text}");
    assert!(crate::text::joined(&tool).chars().count() < expected.chars().count() + 50);
}

#[test]
fn an_abbreviation_ends_no_sentence() {
    for (about, meaning) in [
        ("Unit, e.g. SKU-1001. As printed.", "Unit, e.g. SKU-1001."),
        ("Where it is (i.e. Where it lies). More", "Where it is (i.e. Where it lies)."),
        ("Colours, shapes etc. of a label. More", "Colours, shapes etc. of a label."),
        ("Colours, shapes etc. By default all.", "Colours, shapes etc."),
        ("Opens at 8 a.m. on Monday. More", "Opens at 8 a.m. on Monday."),
        ("Version 1.2. Older ones fail.", "Version 1.2."),
        ("The file a.txt. It stays.", "The file a.txt."),
        ("Which? all of them", "Which? all of them"),
        ("Line one\nand two", "Line one"),
    ] {
        let mut tool = Tool::new(None, "t", "d.");
        tool.input_schema =
            schema(&serde_json::json!({"properties": {"p": {"description": about}}}).to_string());
        assert_eq!(embedding_text(&tool), format!("t. d. Parameters: p: {meaning}"));
    }
}

#[test]
fn titles_and_examples_are_embedded_where_they_add_something() {
    let mut tool = Tool::new(None, "read_file", "Reads.");
    tool.title = Some("Read File".to_owned());
    assert_eq!(embedding_text(&tool), "read file. Reads.", "the title only repeats the name");
    tool.title = Some("Open document".to_owned());
    tool.examples = vec!["show a.txt".to_owned(), "what is in b.md?".to_owned()];
    let text = "read file (Open document). Reads. Examples: show a.txt; what is in b.md?";
    assert_eq!(embedding_text(&tool), text);
}

#[test]
fn the_text_is_cut_after_1000_characters_not_bytes() {
    let text = embedding_text(&Tool::new(None, "t", &"ü".repeat(2_000)));
    assert_eq!(text.chars().count(), 1_000);
    let exact = embedding_text(&Tool::new(None, "t", &"ü".repeat(997)));
    assert_eq!(exact.chars().count(), 1_000);
}

#[test]
fn keyword_fields_keep_the_places_apart() {
    let mut tool = Tool::new(Some("gitHub"), "open_issue", "Opens an issue.");
    tool.title = Some("New ticket".to_owned());
    tool.input_schema = schema(
        r#"{"properties": {
            "unit": {"enum": ["celsius", "kelvin", 3], "description": "Which scale"},
            "places": {"items": {"properties": {"zipCode": {"type": "string"}}}},
            "when": {"anyOf": [{"enum": ["now"]}, {"type": "null"}]},
            "repoName": {"properties": {"deep": {}}}}}"#,
    );
    tool.tags = vec!["bug_tracker".to_owned()];
    tool.categories = vec!["dev".to_owned()];
    tool.capabilities = vec!["write".to_owned()];
    tool.satisfies = vec!["report".to_owned()];
    tool.examples = vec!["file v1.2 bug".to_owned()];
    let fields = keyword_fields(&tool);
    assert_eq!(fields.name, "open_issue\nNew ticket");
    assert_eq!(fields.server, "gitHub");
    assert_eq!(fields.description, "Opens an issue.");
    assert_eq!(fields.parameters, "unit\nplaces\nzipCode\nwhen\nrepoName\ndeep");
    assert_eq!(fields.parameter_descriptions, "Which scale");
    assert_eq!(fields.parameter_values, "celsius\nkelvin\nnow");
    assert_eq!(fields.extra, "bug_tracker\ndev\nwrite\nreport\nfile v1.2 bug");
    let nested = (0..40).fold("{}".to_owned(), |s, _| format!(r#"{{"properties": {{"p": {s}}}}}"#));
    tool.input_schema = schema(&nested);
    assert_eq!(keyword_fields(&tool).parameters.lines().count(), 7, "at most six levels below");
}

#[test]
fn a_schema_of_very_many_properties_is_read_in_linear_time() {
    let names: Vec<String> = (0..160_000).map(|at| format!("\"p{at}\": 1, \"p7\": 1")).collect();
    let mut tool = Tool::new(None, "t", "d");
    tool.input_schema = schema(&format!("{{\"properties\": {{{}}}}}", names.join(",")));
    let start = std::time::Instant::now();
    assert_eq!(parameter_names(&tool).len(), 160_000);
    // A comparison of each name with each other takes minutes here.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn a_description_in_another_language_is_embedded_in_english() {
    let tool = Tool::new(Some("tienda"), "buscar_pedido", "Busca un pedido por su número");
    assert_eq!(embedding_text(&tool), "tienda: buscar pedido. search order by his number");
    let words = keyword_fields(&tool).description;
    assert!(words.contains("Busca") && words.contains("search"), "{words}");
}

#[test]
fn what_is_beyond_the_limit_of_a_description_is_not_read() {
    let mut tool = Tool::new(None, "big", "Sends a mail. ");
    tool.description.push_str(&"rubarbo ".repeat(2_500));
    tool.description.push_str("zeppelin");
    let words = keyword_fields(&tool).description;
    assert!(words.starts_with("Sends a mail.") && !words.contains("zeppelin"));
    assert!(embedding_text(&tool).contains("Sends a mail."));
}
