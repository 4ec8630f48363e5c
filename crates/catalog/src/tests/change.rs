use std::sync::Arc;

use crate::{Catalog, Change, Error, Tool};

fn catalog(names: &[&str]) -> Catalog {
    Catalog::from_tools(names.iter().map(|name| tool(name)).collect()).catalog
}

fn tool(name: &str) -> Tool {
    Tool::new(Some("s"), name, "does it")
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn tools_come_change_and_go_and_the_rest_keeps_its_rows_origin() {
    let before = catalog(&["a", "b", "c"]);
    let mut renewed = tool("c");
    renewed.description = "does it better".into();
    let changes =
        vec![Change::Register(tool("d")), Change::Remove("s:a".into()), Change::Update(renewed)];
    let after = before.with(changes).unwrap();
    assert_eq!(names(&after.catalog), ["b", "c", "d"]);
    assert_eq!(after.origins, [Some(1), Some(2), None]);
    assert_eq!(after.catalog.row("d"), Some(2));
    assert_eq!(after.catalog.get("c").unwrap().description, "does it better");
    assert!(after.catalog.get("a").is_none());
    assert!(Arc::ptr_eq(&before.tools()[1], &after.catalog.tools()[0]), "shared, not copied");
    assert_eq!(names(&before), ["a", "b", "c"], "the catalog before stays as it is");
}

#[test]
fn a_change_that_cannot_be_made_says_why() {
    let before = catalog(&["read_file", "b"]);
    let refused = |change| before.with(vec![change]).unwrap_err().to_string();
    let taken = refused(Change::Register(tool("b")));
    assert!(taken.contains("not taken") && taken.contains("s__b"), "{taken}");
    let unknown = refused(Change::Remove("raed_file".into()));
    assert!(unknown.ends_with("did you mean s__read_file?"), "{unknown}");
    let unknown = refused(Change::Update(tool("zzz")));
    assert!(unknown.contains("register it first"), "{unknown}");
    let nameless = before.with(vec![Change::Register(tool(""))]);
    assert!(matches!(nameless, Err(Error::Unusable { .. })), "{nameless:?}");
}

#[test]
fn steps_of_one_change_see_those_before_them() {
    let before = catalog(&["a", "b"]);
    let again = vec![Change::Remove("a".into()), Change::Register(tool("a"))];
    let after = before.with(again).unwrap();
    assert_eq!(names(&after.catalog), ["b", "a"]);
    assert_eq!(after.origins, [Some(1), None]);
    let twice = vec![Change::Remove("a".into()), Change::Remove("a".into())];
    assert!(matches!(before.with(twice), Err(Error::UnknownTool { .. })));
    let twice = vec![Change::Register(tool("d")), Change::Register(tool("d"))];
    assert!(matches!(before.with(twice), Err(Error::Taken { .. })));
    let gone = vec![Change::Register(tool("d")), Change::Remove("s__d".into())];
    assert_eq!(names(&before.with(gone).unwrap().catalog), ["a", "b"]);
}
