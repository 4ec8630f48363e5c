//! The model store: installs whole, verifies, refuses.

use std::fs;

use crate::support::{CommandExt as _, Sandbox, model_dir};

const MINILM: &str = "all-MiniLM-L6-v2";

#[test]
fn a_model_is_installed_from_a_folder_and_verified() {
    let sandbox = Sandbox::new();
    let (store, source) = (sandbox.path("store"), model_dir());
    let (store, source) = (store.to_str().unwrap(), source.to_str().unwrap());
    let pulled = sandbox.json(&["model", "pull", "--models", store, "--from", source]);
    assert_eq!(pulled["state"], "installed");
    let again = sandbox.json(&["model", "pull", "--models", store, "--from", "/no/such/folder"]);
    assert_eq!(again["state"], "here already");
    assert_eq!(sandbox.json(&["model", "verify", MINILM, "--models", store])["state"], "whole");
    let list = sandbox.json(&["model", "list", "--models", store]);
    assert_eq!(
        (&list[0]["name"], &list[0]["installed"]),
        (&"all-MiniLM-L6-v2".into(), &true.into())
    );
    let left: Vec<_> =
        fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["all-MiniLM-L6-v2"], "nothing of the installation is left behind");
    // As on the hub; and a mirror that is exported for other days does not stand in the way.
    let full = "sentence-transformers/all-MiniLM-L6-v2";
    let mut command = sandbox.toolroute();
    command.args(["model", "pull", full, "--force", "--models", store, "--from", source]);
    command.env("HF_ENDPOINT", "http://127.0.0.1:9").assert().success();
    let left: Vec<_> =
        fs::read_dir(store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["all-MiniLM-L6-v2"]);
}

#[test]
fn a_model_that_is_not_what_its_manifest_says_is_refused_until_it_is_fetched_again() {
    let sandbox = Sandbox::new();
    let (store, source) = (sandbox.path("store"), model_dir());
    let (store_arg, source) = (store.to_str().unwrap(), source.to_str().unwrap());
    sandbox.json(&["model", "pull", "--models", store_arg, "--from", source]);
    let tokenizer = store.join("all-MiniLM-L6-v2/tokenizer.json");
    let whole = fs::read(&tokenizer).unwrap();
    let mut changed = whole.clone();
    let end = changed.len() - 10;
    changed[end] ^= 1;
    for (damage, what) in [(&changed[..], "SHA-256"), (&whole[..100], "size")] {
        fs::write(&tokenizer, damage).unwrap();
        let tools = crate::support::samples();
        let route = ["route", "--tools", &tools, "--models", store_arg, "--model", MINILM, "x"];
        for args in [&["model", "verify", MINILM, "--models", store_arg][..], &route] {
            let said = sandbox.fails(4, args);
            assert!(said.contains("tokenizer.json") && said.contains(what), "{said}");
        }
    }
    let pulled = sandbox.json(&["model", "pull", "--models", store_arg, "--from", source]);
    assert_eq!(pulled["state"], "installed");
    assert_eq!(fs::read(&tokenizer).unwrap(), whole);
}

#[test]
fn a_wrong_source_leaves_the_installed_model_alone() {
    let sandbox = Sandbox::new();
    let (store, source) = (sandbox.path("store"), model_dir());
    let (store, source) = (store.to_str().unwrap(), source.to_str().unwrap());
    sandbox.json(&["model", "pull", "--models", store, "--from", source]);
    let empty = sandbox.path("empty");
    fs::create_dir(&empty).unwrap();
    let args = ["model", "pull", "--force", "--models", store, "--from", empty.to_str().unwrap()];
    assert!(sandbox.fails(4, &args).contains("is missing"));
    sandbox.json(&["model", "verify", MINILM, "--models", store]);
}

#[test]
fn names_cannot_leave_the_store() {
    let sandbox = Sandbox::new();
    let store = &sandbox.arg("store");
    for name in ["..", ".hidden", "a b"] {
        let args = ["model", "verify", name, "--models", store];
        assert!(sandbox.fails(4, &args).contains("cannot name a model"), "{name}");
    }
}

#[test]
fn a_folder_that_is_no_sentence_transformer_is_told_what_it_lacks() {
    let sandbox = Sandbox::new();
    let folder = sandbox.path("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("config.json"), "{}").unwrap();
    let tools = crate::support::samples();
    let said =
        sandbox.fails(4, &["route", "--tools", &tools, "--model", folder.to_str().unwrap(), "x"]);
    assert!(said.contains("tokenizer.json") && said.contains("is missing"), "{said}");
}

#[test]
fn rounded_weights_are_kept_once_and_made_anew_when_they_are_damaged() {
    let sandbox = Sandbox::new();
    let (store, source) = (sandbox.path("store"), model_dir());
    let (store_arg, source) = (store.to_str().unwrap(), source.to_str().unwrap());
    sandbox.json(&["model", "pull", "--models", store_arg, "--from", source]);
    let rounded = store.join("all-MiniLM-L6-v2/model.int8.safetensors");
    assert!(!rounded.exists());
    let tools = crate::support::samples();
    let route = ["route", "--tools", &tools, "--models", store_arg, "--model", MINILM];
    let route = [&route[..], &["--no-save", "weather now"]].concat();
    let right = sandbox.json(&route);
    let whole = fs::read(&rounded).unwrap();
    assert_eq!(sandbox.json(&route), right, "read back, they give the same answer");
    for damage in [&whole[..100], &[b"x", &whole[1..]].concat()] {
        fs::write(&rounded, damage).unwrap();
        assert_eq!(sandbox.json(&route), right);
        assert_eq!(fs::read(&rounded).unwrap(), whole, "made anew");
    }
}
