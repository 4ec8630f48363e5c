//! Every format that the README names, through the real binary.

use serde_json::{Value, json};

use crate::support::{Sandbox, repo};

fn list(path: &str) -> Vec<Value> {
    let sandbox = Sandbox::new();
    let path = repo(path);
    let listed = sandbox.json(&["tools", "list", "--tools", path.to_str().unwrap()]);
    listed.as_array().unwrap().clone()
}

#[test]
fn real_mcp_servers_as_they_were_captured() {
    for (file, tools, one) in [
        ("filesystem", 14, "filesystem__read_text_file"),
        ("everything", 13, "everything__echo"),
        ("git", 12, "git__git_commit"),
        ("memory", 9, "memory__search_nodes"),
        ("sqlite", 6, "sqlite__read_query"),
        ("time", 2, "time__convert_time"),
        ("sequential-thinking", 1, "sequential-thinking__sequentialthinking"),
    ] {
        let path = format!("tests/data/captured/{file}.json");
        let listed = list(&path);
        assert_eq!(listed.len(), tools, "{file}");
        assert!(listed.iter().any(|tool| tool["id"] == one), "{file}");
        let raw = std::fs::read_to_string(repo(&path)).unwrap();
        let raw: Value = serde_json::from_str(raw.lines().next().unwrap()).unwrap();
        let first = &raw["result"]["tools"][0];
        let same = listed.iter().find(|tool| tool["name"] == first["name"]).unwrap();
        assert_eq!(same["input_schema"], first["inputSchema"], "{file}");
        assert_eq!(same["description"], first["description"], "{file}");
    }
}

#[test]
fn the_fixtures_of_every_other_format_give_tools() {
    let folder = repo("tests/data/formats");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let listed = list(&format!("tests/data/formats/{name}"));
        assert!(!listed.is_empty(), "{name}");
        assert!(listed.iter().all(|tool| tool["name"].is_string()), "{name}");
        seen += 1;
    }
    assert!(seen >= 6, "{seen} fixtures");
}

/// Lists the tools of a text, and gives the warnings and errors.
fn read(text: &str) -> (Vec<Value>, String) {
    let sandbox = Sandbox::new();
    let path = sandbox.put("any.json", text);
    let args = ["tools", "list", "--json", "--tools", &path];
    let output = sandbox.toolroute().args(args).output().unwrap();
    let listed: Option<Value> = serde_json::from_slice(&output.stdout).ok();
    let tools = listed.and_then(|listed| listed.as_array().cloned()).unwrap_or_default();
    (tools, String::from_utf8(output.stderr).unwrap())
}

/// A tool in the spellings of many formats, all with the same meaning.
#[test]
fn parameters_in_every_spelling_become_json_schema() {
    let schema = r#"{"type": "object", "properties": {"city": {"type": "string", "description": "Its name"}}, "required": ["city"]}"#;
    let upper = schema.replace("object", "OBJECT").replace("string", "STRING");
    let flat = r#"{"city": {"type": "str", "description": "Its name", "required": true}}"#;
    let listed = r#"[{"name": "city", "description": "Its name", "required": true, "schema": {"type": "string"}}]"#;
    let named = r#""name": "forecast", "description": "Tells the weather""#;
    let sandbox = Sandbox::new();
    let files = [
        (
            "gemini",
            format!(
                r#"{{"tools": [{{"functionDeclarations": [{{{named}, "parameters": {upper}}}]}}]}}"#
            ),
        ),
        (
            "gemini_snake",
            format!(
                r#"[{{"function_declarations": [{{{named}, "parametersJsonSchema": {schema}}}]}}]"#
            ),
        ),
        (
            "bedrock",
            format!(
                r#"{{"toolConfig": {{"tools": [{{"toolSpec": {{{named}, "inputSchema": {{"json": {schema}}}}}}}]}}}}"#
            ),
        ),
        ("bedrock_actions", format!(r#"{{"functions": [{{{named}, "parameters": {flat}}}]}}"#)),
        ("cohere", format!(r#"[{{{named}, "parameter_definitions": {flat}}}]"#)),
        (
            "vercel",
            format!(
                r#"{{"forecast": {{"description": "Tells the weather", "inputSchema": {{"jsonSchema": {schema}}}}}}}"#
            ),
        ),
        (
            "vercel_tools",
            format!(
                r#"{{"tools": {{"forecast": {{"description": "Tells the weather", "parameters": {schema}}}}}}}"#
            ),
        ),
        (
            "realtime",
            format!(
                r#"{{"type": "session.update", "session": {{"tools": [{{"type": "function", {named}, "parameters": {schema}}}]}}}}"#
            ),
        ),
        ("langchain", format!(r#"[{{{named}, "args_schema": {schema}}}]"#)),
        ("llamaindex", format!(r#"[{{"metadata": {{{named}, "fn_schema": {schema}}}}}]"#)),
        (
            "dspy",
            format!(r#"[{{"name": "forecast", "desc": "Tells the weather", "args": {flat}}}]"#),
        ),
        ("smolagents", format!(r#"[{{{named}, "inputs": {flat}}}]"#)),
        ("acebench", format!(r#"[{{{named}, "arguments": {schema}}}]"#)),
        (
            "bfcl",
            format!(
                r#"{{"id": "1", "question": [], "function": [{{{named}, "parameters": {}}}]}}"#,
                schema.replace("object", "dict")
            ),
        ),
        (
            "xlam",
            format!(
                r#"[{{"query": "x", "tools": {}}}]"#,
                Value::from(format!("[{{{named}, \"parameters\": {flat}}}]"))
            ),
        ),
        (
            "qwen",
            format!(
                r#"[{{"name": "forecast", "description_for_model": "Tells the weather", "parameters": {listed}}}]"#
            ),
        ),
        (
            "toolbench",
            format!(
                r#"{{"api_list": [{{{named}, "method": "GET", "optional_parameters": [], "required_parameters": [{{"name": "city", "type": "STRING", "description": "Its name"}}]}}]}}"#
            ),
        ),
    ];
    for (name, text) in files {
        let path = sandbox.write(&format!("{name}.json"), &text);
        let output = sandbox
            .toolroute()
            .args(["tools", "list", "--json", "--tools"])
            .arg(path)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let listed: Value = serde_json::from_slice(&output.stdout).expect(name);
        let [tool] = listed.as_array().unwrap().as_slice() else { panic!("{name}: {listed}") };
        assert_eq!(tool["id"], "forecast", "{name}");
        assert_eq!(tool["description"], "Tells the weather", "{name}");
        let expected: Value = serde_json::from_str(schema).unwrap();
        assert_eq!(tool["input_schema"], expected, "{name}");
        assert_eq!(stderr, "", "{name}");
    }
}

#[test]
fn names_come_from_what_is_around_a_tool() {
    let tool = r#"{"name": "t", "description": "Does it", "inputSchema": {"type": "object"}}"#;
    let titled = r#"{"title": "Titled", "type": "object", "properties": {"a": {}}}"#;
    for (text, id) in [
        (format!(r#"{{"weather": [{tool}]}}"#), "weather__t"),
        (
            format!(r#"{{"weather": [{}]}}"#, tool.replace("inputSchema", "parameters")),
            "weather__t",
        ),
        (format!("[{titled}]"), "Titled"),
    ] {
        let (tools, stderr) = read(&text);
        assert_eq!((tools.len(), stderr.as_str()), (1, ""), "{text}");
        assert_eq!(tools[0]["id"], id);
        assert!(tools[0]["input_schema"].is_object(), "{text}");
    }
}

#[test]
fn parameters_that_cannot_be_understood_are_reported() {
    let (tools, stderr) =
        read(r#"[{"name": "t", "parameters": {"city": "string", "days": "int"}}]"#);
    assert_eq!(tools.len(), 1);
    assert!(stderr.contains(r#"tool "t", field "parameters""#), "{stderr}");
    assert!(stderr.contains("schemas by the names of parameters"), "{stderr}");
    // The check of the schema reports an unknown word for a type.
    let sandbox = Sandbox::new();
    let path =
        sandbox.put("any.json", r#"[{"name": "t", "parameters": {"city": {"type": "np.array"}}}]"#);
    let output = sandbox.run(&["tools", "validate", "--tools", &path]);
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(said.contains("np.array"), "{said}");
}

#[test]
fn rows_of_prompts_have_each_tool_once() {
    let row =
        |tool: &str| format!(r#"{{"question": "x", "function": [{tool}, {{"name": "same"}}]}}"#);
    let text = [
        row(r#"{"name": "a", "description": "One"}"#),
        row(r#"{"name": "a", "description": "Two"}"#),
    ]
    .join("\n");
    let (tools, stderr) = read(&text);
    let ids: Vec<&str> = tools.iter().map(|tool| tool["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["a", "same"]);
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("found 1 different ones in later rows"), "{stderr}");
}

#[test]
fn what_is_no_tool_is_refused() {
    for (text, says) in [
        (
            r#"{"kind": "discovery#restDescription", "discoveryVersion": "v1", "id": "mail:v1", "name": "mail", "title": "Mail", "description": "Mails", "parameters": {}}"#,
            "a Google discovery document",
        ),
        (
            r#"{"name": "left-pad", "version": "1.0.0", "type": "module", "main": "a.js", "files": []}"#,
            "docs/catalog.md has all formats",
        ),
        (r#"[{"type": "object", "properties": {}}]"#, "an object with properties, type"),
        (r#"{"639-5": [{"alpha_3": "aav", "name": "Austro-Asiatic"}]}"#, "an object with 639-5"),
        (
            r#"{"items": [{"name": "Send", "description": "Sends", "slug": "X_SEND"}]}"#,
            "an object with items",
        ),
        (
            r#"{"prompts": [{"name": "p", "description": "d", "arguments": [{"name": "a", "required": true}]}]}"#,
            "an object with prompts",
        ),
        (
            r#"{"labels": [{"name": "bug", "description": "Does not work"}]}"#,
            "an object with labels",
        ),
        (
            r#"{"name": "Setup", "description": "Sets up", "inputs": {"v": {"description": "v"}}, "runs": {"using": "node20"}}"#,
            "an object with description, inputs, name, runs",
        ),
        (r#"[{"kind": "Pod", "metadata": {"name": "pod"}}]"#, "an object with kind, metadata"),
    ] {
        let (tools, stderr) = read(text);
        assert!(tools.is_empty() && stderr.contains(says), "{text}: {stderr}");
    }
}

#[test]
fn a_swagger_description_is_read_as_openapi_is() {
    let text = r##"{
      "swagger": "2.0", "info": {"title": "Pets", "version": "1"},
      "host": "pets.example", "basePath": "/v1/", "schemes": ["http", "https"],
      "definitions": {"Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}},
      "parameters": {"Limit": {"name": "limit", "in": "query", "type": "integer", "maximum": 9}},
      "paths": {"/pets/{id}": {
        "parameters": [{"name": "id", "in": "path", "required": true, "type": "string", "description": "Its number"}],
        "get": {"operationId": "get", "parameters": [{"$ref": "#/parameters/Limit"},
          {"name": "tags", "in": "query", "type": "array", "items": {"type": "string"}}]},
        "put": {"operationId": "put", "parameters": [{"name": "pet", "in": "body", "required": true, "schema": {"$ref": "#/definitions/Pet"}}]},
        "post": {"operationId": "post", "parameters": [{"name": "photo", "in": "formData", "type": "file", "required": true}]},
        "patch": {"operationId": "patch", "consumes": ["application/xml"], "parameters": [{"name": "pet", "in": "body", "schema": {}}]}
      }}
    }"##;
    let (tools, stderr) = read(text);
    assert!(
        stderr.contains("application/xml (pets__patch)") && stderr.lines().count() == 1,
        "{stderr}"
    );
    let id = json!({"type": "string", "description": "Its number"});
    let get = json!({"type": "object", "required": ["id"], "properties": {
        "limit": {"type": "integer", "maximum": 9}, "tags": {"type": "array", "items": {"type": "string"}}, "id": id}});
    assert_eq!(tools[0]["input_schema"], get);
    let operation = &tools[0]["operation"];
    assert_eq!(operation["server"], "https://pets.example/v1");
    assert_eq!(operation["arguments"][1], json!({"name": "tags", "in": "query", "joined": true}));
    let put = json!({"type": "object", "required": ["id", "name"], "properties": {"id": id, "name": {"type": "string"}}});
    assert_eq!(tools[1]["input_schema"], put);
    assert_eq!(
        tools[2]["operation"]["body"],
        json!({"media_type": "multipart/form-data", "required": true})
    );
    assert_eq!(tools[2]["input_schema"]["properties"]["photo"]["contentEncoding"], "base64");
    assert_eq!(tools[3]["input_schema"]["required"], json!(["id"]));
}

#[test]
fn a_folder_of_skills_is_read_with_their_names_and_descriptions() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("skills/pdf")).unwrap();
    let skill = "---\nname: pdf\ndescription: Fills in PDF forms.\nlicense: MIT\n---\n\n# PDF\n\n- step: one\n";
    let path = sandbox.write("skills/pdf/SKILL.md", skill);
    sandbox.write("skills/pdf/notes.md", "nothing");
    // A skill may contain any files.
    std::fs::create_dir_all(sandbox.path("skills/pdf/assets")).unwrap();
    sandbox.write("skills/pdf/assets/theme.json", "{}");
    sandbox.write("skills/pdf/package.json", r#"{"name": "pdf", "description": "x"}"#);
    for tools in [sandbox.path("skills"), path] {
        let listed = sandbox.json(&["tools", "list", "--tools", tools.to_str().unwrap()]);
        let [tool] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
        assert_eq!(
            (&tool["id"], &tool["description"]),
            (&json!("pdf"), &json!("Fills in PDF forms."))
        );
    }
    let path = sandbox.put("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: a: b\n---\n");
    let said = sandbox.fails(3, &["tools", "list", "--tools", &path]);
    assert!(said.contains("SKILL.md:3:"), "{said}");
    let path = sandbox.put("skills/pdf/SKILL.md", "---\ndescription: a\n---\n");
    let said = sandbox.fails(3, &["tools", "list", "--tools", &path]);
    assert!(said.contains("expected the name of a skill, found none"), "{said}");
}
