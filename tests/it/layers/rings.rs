//! Files that import each other in a circle can only be understood together, so a circle has two at most.
//!
//! An import is a `use` line outside tests, and counts for the file that its path names, even if that only
//! hands a name on. A module and the one around it are no circle: the outer declares the inner.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{CRATES, Source, module_of, read_sources, regex, test_lines, test_modules};

const LARGEST_RING: usize = 2;

type Module = Vec<String>;

#[test]
fn no_more_than_two_files_import_each_other_in_a_circle() {
    for (folder, _) in CRATES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut sources = Vec::new();
        read_sources(&root, &root, None, &mut sources);
        let found = rings(&sources);
        let cure = "cure: move what they share into the file that owns it";
        assert!(found.is_empty(), "circles of imports in {folder}: {found:#?}\n{cure}");
    }
}

/// The circles of more files than allowed, each with the paths of its modules.
fn rings(sources: &[Source]) -> BTreeSet<Vec<String>> {
    let test_modules = test_modules(sources);
    let modules: BTreeSet<Module> = sources.iter().map(|source| module_of(&source.path)).collect();
    let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for source in sources {
        let found = imports_of(source, &modules, &test_modules);
        imports.entry(module_of(&source.path)).or_default().extend(found);
    }
    let reached = |from: &Module| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(imports[module].iter().filter(|import| reached.insert((*import).clone())));
        }
        reached
    };
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        modules.iter().map(|module| (module, reached(module))).collect();
    let ring = |of: &Module| -> Vec<String> {
        let ring = reached[of].iter().filter(|other| reached[other].contains(of));
        ring.map(|module| module.join("::")).collect()
    };
    modules.iter().map(ring).filter(|ring| ring.len() > LARGEST_RING).collect()
}

/// The modules that the `use` lines of a file name, without those around it.
fn imports_of(
    source: &Source,
    modules: &BTreeSet<Module>,
    test_modules: &[Module],
) -> BTreeSet<Module> {
    let module = module_of(&source.path);
    let tests = test_lines(source, test_modules);
    let code = regex(r"(?m)(^|\s)//.*$").replace_all(&source.text, "$1").into_owned();
    let lines = regex(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);");
    let used = lines.captures_iter(&code).filter(|found| {
        let line = 1 + code[..found.get(1).unwrap().start()].matches('\n').count();
        !tests.iter().any(|lines| lines.contains(&line))
    });
    let renamed = regex(r"\s+as\s+\w+");
    let paths = used.flat_map(|found| {
        paths(&renamed.replace_all(&found[1], "").replace(char::is_whitespace, ""))
    });
    let named = paths.filter_map(|path| named(&path, &module, modules));
    named.filter(|named| !module.starts_with(named)).collect()
}

/// `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn paths(tree: &str) -> Vec<String> {
    let Some((before, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut depth = 0;
    let is_border = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    let parts: Vec<&str> = inner.split(is_border).collect();
    parts.into_iter().flat_map(paths).map(|path| format!("{before}{path}")).collect()
}

/// The module that a path leads to from another one; `None` outside the crate.
fn named(path: &str, from: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let mut parts = path.split("::").peekable();
    let mut at = from.clone();
    match *parts.peek()? {
        "crate" => at.clear(),
        "self" | "super" => {}
        first => drop(modules.get(&[&from[..], &[first.to_owned()]].concat())?),
    }
    for part in parts {
        match part {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            part => {
                let inner = [&at[..], &[part.to_owned()]].concat();
                if !modules.contains(&inner) {
                    break;
                }
                at = inner;
            }
        }
    }
    Some(at)
}

#[test]
fn a_circle_is_found_by_its_use_lines() {
    let found = |files: &[(&str, &str)]| {
        let source = |(path, text): &(&str, &str)| Source {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        rings(&files.iter().map(source).collect::<Vec<_>>()).into_iter().collect::<Vec<_>>()
    };
    let a = ("a.rs", "use super::b::{self, B};\nuse std::fmt;");
    let b = ("b.rs", "pub use crate::{\n    x,\n    c::{d::D as E, F},\n};");
    let (c, d) = (("c.rs", "mod d;\nuse d::D;"), ("c/d.rs", "use crate::a::A;"));
    assert_eq!(found(&[a, b, c, d]), [["a", "b", "c", "c::d"]]);
    // Two may import each other, a module the one around it, and tests what they like.
    assert!(found(&[a, ("b.rs", "use super::a::A;")]).is_empty());
    let around = ("a.rs", "use crate::b::B;\nmod c;\nmod d;\nuse c::C;\nuse d::D;");
    let inner = [("a/c.rs", "use super::A;"), ("a/d.rs", "use super::{A, c::C};")];
    assert!(found(&[around, ("b.rs", "// use crate::a::A;"), inner[0], inner[1]]).is_empty());
    let test = ("c/d.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}");
    assert!(found(&[a, b, c, test]).is_empty());
}
