//! Proves that each rule can fail, and what it must let pass.

use super::layout::module_of;
use super::*;

/// The rules that one file breaks, with their lines.
fn broken(path: &str, text: &str) -> Vec<(Rule, usize)> {
    broken_in(&[(path, text)])
}

fn broken_in(files: &[(&str, &str)]) -> Vec<(Rule, usize)> {
    let sources: Vec<Source> = files
        .iter()
        .map(|(path, text)| Source { path: (*path).into(), text: (*text).into() })
        .collect();
    check(&sources).iter().map(|finding| (finding.rule, finding.line)).collect()
}

#[track_caller]
fn passes(path: &str, text: &str) {
    assert_eq!(broken(path, text), [], "{path}: {text}");
}

#[track_caller]
fn fails(path: &str, text: &str, rule: Rule) {
    assert_eq!(broken(path, text), [(rule, 1)], "{path}: {text}");
}

#[test]
fn the_table_names_only_rooms_and_has_no_ring() {
    for (at, (room, allowed)) in ROOMS.iter().enumerate() {
        for import in *allowed {
            let below =
                CRATE_ROOMS.contains(import) || ROOMS[..at].iter().any(|(name, _)| name == import);
            assert!(below, "`{room}` imports `{import}`, which does not stand above it in ROOMS");
        }
    }
    for (vendor, doors) in VENDORS {
        for door in *doors {
            let room = module_of(door).first().cloned().unwrap_or_default();
            let known = ROOMS.iter().any(|(name, _)| *name == room)
                || CRATE_ROOMS.contains(&room.as_str())
                || FRONT_DOORS.contains(door);
            assert!(known, "the door {door} of `{vendor}` is in no room");
        }
    }
}

#[test]
fn an_import_outside_the_table_is_found_wherever_it_stands() {
    for text in [
        "use crate::engine::Engine;",
        "use crate::{catalog::Tool, engine::Engine};",
        "use {crate::engine};",
        "use crate::engine as e;",
        "pub use crate::engine::*;",
        "use super::super::engine::Engine;",
        "use super::{super::engine::Engine, text};",
        "use self::super::super::engine::Engine;",
        "fn f() -> crate::engine::Engine { todo!() }",
        "fn f() { for x in crate::engine::all() {} }",
        "fn f() { let _ = vec![crate::engine::X]; }",
        "fn f() { log!(a, { crate::engine::g() }); }",
        "macro_rules! m { () => { $crate::engine::g() } }",
        "#[derive(crate::engine::Derive)] struct S;",
        "struct S(pub (crate::engine::E));",
        "mod inner { use super::super::super::engine::E; }",
        "fn f() { r#crate_like(); super::super::engine::g::<u8>(); }",
    ] {
        fails("query/tool.rs", text, Rule::Import);
    }
    fails("query/mod.rs", "use super::engine::Engine;", Rule::Import);
    fails("query.rs", "use super::engine::Engine;", Rule::Import);
    fails("index/flat.rs", "use crate::catalog::ToolId;", Rule::Import);
    fails("engine/mod.rs", "use crate::cli::Args;", Rule::Import);
}

#[test]
fn what_lib_rs_gives_out_is_no_way_round_the_table() {
    fails("query/mod.rs", "use crate::Tool;", Rule::Import);
    fails("query/mod.rs", "use crate::*;", Rule::Import);
    fails("query/mod.rs", "use crate as root;", Rule::Import);
    fails("query/task.rs", "use super::super as root;", Rule::Import);
    passes("cli/find.rs", "use crate::Tool;");
}

#[test]
fn imports_of_the_table_and_paths_within_a_room_pass() {
    passes(
        "catalog/import/mcp.rs",
        "use super::super::tool::Tool; use super::jsonl; use crate::catalog::X;",
    );
    passes("catalog/tool.rs", "mod inner { use super::super::text; use super::Tool; }");
    passes("selection/policy.rs", "use crate::{catalog::Tool, feedback::Rates};");
    passes("selection/policy.rs", "pub(crate) struct S; pub(super) fn f() {}");
    passes("catalog/tool.rs", "pub(in crate::catalog) fn f() {}");
    passes(
        "catalog/tool.rs",
        "/// Used by [`crate::engine::Engine`].\nstruct S; // crate::engine::Engine",
    );
    passes("catalog/tool.rs", "const S: &str = \"crate::engine::Engine\";");
    passes("cli/find.rs", "use crate::{engine::Engine, server::Server};");
    passes("lib.rs", "pub mod engine; pub use crate::engine::Engine; pub use catalog::Tool;");
    passes("catalog/tool.rs", "fn f() -> impl Iterator + use<'static> { crate::catalog::g() }");
}

#[test]
fn a_file_outside_the_rooms_is_found() {
    fails("util/mod.rs", "fn f() {}", Rule::Room);
    fails("error.rs", "fn f() {}", Rule::Room);
}

#[test]
fn a_vendor_crate_outside_its_door_is_found() {
    for text in [
        "use candle_core::Tensor;",
        "use ::candle_core::Tensor;",
        "use candle_core;",
        "use {std::fmt, candle_core::{self, Tensor}};",
        "extern crate candle_core;",
        "fn f(x: &candle_core::Tensor) {}",
        "fn f() { bail!(\"{}\", candle_core::utils::get_num_threads()) }",
    ] {
        assert!(broken("index/flat.rs", text).contains(&(Rule::Vendor, 1)), "{text}");
        passes("embedding/bert.rs", text);
    }
    fails("embedding/bert.rs", "use hf_hub::api::sync::Api;", Rule::Vendor);
    passes("embedding/hub.rs", "use hf_hub::api::sync::Api;");
    passes("embedding/hub/cache.rs", "use hf_hub::Cache;");
    fails("index/flat.rs", "use hnsw_rs::prelude::*;", Rule::Vendor);
    fails("feedback/rates.rs", "use rusqlite::Connection;", Rule::Vendor);
    passes("conductor/ledger.rs", "use rusqlite::Connection;");
    fails("execution/http.rs", "use rmcp::model::Tool;", Rule::Vendor);
    fails("engine/mod.rs", "#[derive(clap::ValueEnum)] enum E { A }", Rule::Vendor);
    fails("engine/mod.rs", "fn f() -> anyhow::Result<()> { Ok(()) }", Rule::Vendor);
    passes("main.rs", "fn main() -> anyhow::Result<()> { Ok(()) }");
    passes("index/bm25.rs", "fn f(tokenizers: u8) -> u8 { tokenizers + 1 }");
}

#[test]
fn a_long_file_and_a_long_function_are_found() {
    let lines = |count: usize| "// x\n".repeat(count);
    passes("catalog/tool.rs", &lines(MAX_FILE_LINES));
    assert_eq!(
        broken("catalog/tool.rs", &lines(MAX_FILE_LINES + 1)),
        [(Rule::FileLength, MAX_FILE_LINES + 1)]
    );

    let body = |count: usize| format!("{{\n{}}}", "    g();\n".repeat(count));
    for head in ["fn f() ", "struct S; impl S { fn f() ", "trait T { fn f() "] {
        let end = if head.contains('{') { " }" } else { "" };
        passes("catalog/tool.rs", &format!("{head}{}{end}", body(MAX_FUNCTION_LINES - 2)));
        let text = format!("{head}{}{end}", body(MAX_FUNCTION_LINES - 1));
        fails("catalog/tool.rs", &text, Rule::FunctionLength);
    }
}

#[test]
fn unsafe_outside_the_kernels_is_found() {
    fails("index/flat.rs", "fn f() { unsafe { g() } }", Rule::Unsafe);
    fails("index/flat.rs", "fn f() { m!(unsafe { g() }) }", Rule::Unsafe);
    fails("embedding/bert.rs", "unsafe impl Send for S {}", Rule::Unsafe);
    passes("kernels/avx.rs", "fn f() { unsafe { g() } }");
    passes("catalog/tool.rs", "#![deny(unsafe_code)]");
}

#[test]
fn stdout_and_exit_outside_the_cli_are_found() {
    for text in [
        "fn f() { println!(\"x\") }",
        "fn f() { std::print!(\"x\") }",
        "fn f() { std::process::exit(1) }",
        "use std::process::exit;",
        "use std::{fmt, process::{exit, Command}};",
        "fn f() { process::exit(1) }",
    ] {
        fails("engine/mod.rs", text, Rule::Stdout);
        passes("cli/exit.rs", text);
        passes("main.rs", text);
    }
    passes("engine/mod.rs", "fn f() { eprintln!(\"x\"); let print = 1; print != 2 }");
}

#[test]
fn unwrap_is_allowed_in_test_code_only() {
    fails("engine/mod.rs", "fn f() { g().unwrap(); }", Rule::Unwrap);
    fails("engine/mod.rs", "fn f() { assert!(g().unwrap()); }", Rule::Unwrap);
    fails("engine/mod.rs", "#[cfg(not(test))] fn f() { g().unwrap(); }", Rule::Unwrap);
    fails("engine/mod.rs", "#[cfg(feature = \"test\")] fn f() { g().unwrap(); }", Rule::Unwrap);
    passes("engine/mod.rs", "fn f() { g().unwrap_or(1); unwrap(); }");
    passes("engine/mod.rs", "/// let x = g().unwrap();\nfn f() {}");
    passes("engine/mod.rs", "#[cfg(test)] mod tests { fn f() { g().unwrap(); } }");
    passes("engine/mod.rs", "#[cfg(all(test, unix))] mod tests { fn f() { g().unwrap(); } }");
    passes("engine/mod.rs", "#[test] fn f() { g().unwrap(); }");
    passes("engine/mod.rs", "#[cfg(test)] impl S { fn f() { g().unwrap(); } }");
    passes("engine/tests.rs", "fn f() { g().unwrap(); }");
    passes("engine/mock.rs", "#![cfg(test)] fn f() { g().unwrap(); }");
    let after = "#[cfg(test)]\nmod tests {\n}\nfn f() { g().unwrap(); }";
    assert_eq!(broken("engine/mod.rs", after), [(Rule::Unwrap, 4)]);
}

#[test]
fn a_module_declared_for_tests_is_test_code_in_its_own_file() {
    let user = ("engine/mock.rs", "fn f() { g().unwrap(); }");
    assert_eq!(broken_in(&[("engine/mod.rs", "#[cfg(test)] mod mock;"), user]), []);
    assert_eq!(broken_in(&[("engine/mod.rs", "mod mock;"), user]), [(Rule::Unwrap, 1)]);
}

#[test]
fn an_expect_has_to_name_the_invariant() {
    fails("engine/mod.rs", "fn f() { g().expect(\"should work\"); }", Rule::Expect);
    fails("engine/mod.rs", "fn f() { g().expect(r#\"should work\"#,); }", Rule::Expect);
    passes("engine/mod.rs", "fn f() { g().expect(\"ids are unique. This is a bug.\"); }");
    passes("engine/mod.rs", "fn f(p: Parser) { p.expect(Token::Comma); }");
    passes("engine/mod.rs", "#[expect(dead_code)] fn f() {}");
    passes("engine/mod.rs", "#[cfg(test)] mod tests { fn f() { g().expect(\"x\"); } }");
}

#[test]
fn a_file_that_does_not_parse_is_reported() {
    fails("engine/mod.rs", "fn {", Rule::Parse);
}

#[test]
fn a_finding_names_file_line_rule_and_cure() {
    let text = "\nuse crate::engine::Engine;".to_owned();
    let findings = check(&[Source { path: "query/mod.rs".into(), text }]);
    assert_eq!(
        findings[0].to_string(),
        "query/mod.rs:2: Import: room `query` imports `engine`; it may import: catalog, index\n    \
         cure: pass the value in from above, or move the line to a higher room"
    );
}
