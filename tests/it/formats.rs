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

#[test]
fn a_folder_of_skills_is_read_with_their_names_and_descriptions() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("skills/pdf")).unwrap();
    let skill = "---\nname: pdf\ndescription: Fills in PDF forms.\nlicense: MIT\n---\n\n# PDF\n\n- step: one\n";
    let path = sandbox.write("skills/pdf/SKILL.md", skill);
    sandbox.write("skills/pdf/notes.md", "nothing");
    for tools in [sandbox.path("skills"), path] {
        let listed = sandbox.json(&["tools", "list", "--tools", tools.to_str().unwrap()]);
        let [tool] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
        assert_eq!(
            (&tool["id"], &tool["description"]),
            (&json!("pdf"), &json!("Fills in PDF forms."))
        );
    }
    let path = sandbox.write("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: a: b\n---\n");
    let said = sandbox.fails(3, &["tools", "list", "--tools", path.to_str().unwrap()]);
    assert!(said.contains("SKILL.md:3:"), "{said}");
}
