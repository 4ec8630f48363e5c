//! The models that are part of the program: they load, embed and are told apart, without a file.

use std::fs;

use serde_json::Value;
use toolroute_vectors::embedding::{
    self, Backend, BertEmbedder, DEFAULT_MODEL, Device, Embedder, EncoderOptions, ModelFiles,
    Precision, Role, StaticEmbedder,
};

use crate::support::{CommandExt as _, Sandbox, ids, model_dir, repo, samples};

const TEXTS: [&str; 4] =
    ["What is the weather in Haifa?", "", "天気 and crème brûlée", "rename a file"];

fn embed(model: &dyn Embedder) -> Vec<Vec<f32>> {
    let vectors = model.embed(&TEXTS, Role::Query).unwrap().vectors;
    vectors.rows().into_iter().map(|row| row.to_vec()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn the_encoder_runs_in_both_precisions_and_the_two_are_told_apart() {
    let int8 = BertEmbedder::built_in().unwrap();
    let files = ModelFiles::built_in(DEFAULT_MODEL).unwrap();
    let f32 = BertEmbedder::load(&files).unwrap();
    assert_eq!((int8.identity().dimension, int8.identity().name.as_str()), (384, DEFAULT_MODEL));
    assert_ne!(int8.identity(), f32.identity());
    assert!(int8.identity().fingerprint.starts_with(files.fingerprint()));
    for (a, b) in embed(&int8).iter().zip(embed(&f32)) {
        assert!(cosine(a, &b) > 0.98, "{}", cosine(a, &b));
    }
    let backend = Backend::Candle(Device::Cpu);
    let options = EncoderOptions { backend, ..EncoderOptions::default() };
    let candle = BertEmbedder::load_with(&files, options).unwrap();
    assert!(![int8.identity(), f32.identity()].contains(&candle.identity()));
    for (a, b) in embed(&candle).iter().zip(embed(&f32)) {
        assert!(cosine(a, &b) > 0.999_99, "{}", cosine(a, &b));
    }
}

#[test]
fn the_static_model_gives_the_same_bits_alone_and_in_any_batch() {
    let model = StaticEmbedder::built_in().unwrap();
    assert_eq!((model.identity().dimension, model.identity().name.as_str()), (256, "static"));
    let together = embed(&model);
    assert_eq!(together, embed(&StaticEmbedder::built_in().unwrap()));
    for (text, vector) in TEXTS.iter().zip(together) {
        let alone = model.embed(&[text], Role::Document).unwrap();
        assert_eq!(alone.vectors.row(0).to_vec(), vector, "{text}");
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-5, "{text}");
    }
    let near = |a: &str, b: &str| {
        let vectors = model.embed(&[a, b], Role::Query).unwrap().vectors;
        cosine(&vectors.row(0).to_vec(), &vectors.row(1).to_vec())
    };
    let (right, wrong) = ("Sends an e-mail to a person", "Tells the weather of a city");
    assert!(near("mail Dana", right) > near("mail Dana", wrong));
}

/// `scripts/train/distill_static.py --goldens` writes them with the model.
#[test]
fn static_vectors_equal_those_of_the_training_script() {
    let text = fs::read_to_string(repo("tests/data/static_goldens.jsonl")).unwrap();
    let model = StaticEmbedder::built_in().unwrap();
    for line in text.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let theirs: Vec<f32> = serde_json::from_value(golden["embedding"].clone()).unwrap();
        let text = golden["text"].as_str().unwrap();
        let ours = model.embed(&[text], Role::Query).unwrap().vectors.row(0).to_vec();
        assert!(cosine(&ours, &theirs) > 0.999_99, "{text}: {}", cosine(&ours, &theirs));
    }
}

#[test]
fn a_user_with_no_model_at_all_routes_by_meaning_with_either() {
    let sandbox = Sandbox::new();
    let (tools, store) = (samples(), sandbox.path("empty"));
    let store = store.to_str().unwrap();
    let mut sizes = Vec::new();
    for model in [&[][..], &["--model", "static"], &["--model", "static", "--precision", "f32"]] {
        let args =
            ["route", "--tools", &tools, "--models", store, "send Dana a message that I am late"];
        let answer = sandbox.json(&[&args[..], model].concat());
        assert_eq!(answer["strategy"], "hybrid", "{model:?}");
        assert!(!ids(&answer).is_empty());
        sizes.push(ids(&answer).len());
    }
    assert!(!sandbox.path("empty").exists(), "nothing is installed");
    let list = sandbox.json(&["model", "list", "--models", store]);
    let state = |name: &str| {
        let model = list.as_array().unwrap().iter().find(|model| model["name"] == name);
        (model.unwrap()["built_in"].clone(), model.unwrap()["installed"].clone())
    };
    assert_eq!(state(DEFAULT_MODEL), (true.into(), true.into()));
    assert_eq!(state("static"), (true.into(), true.into()));
    assert_eq!(state("all-MiniLM-L6-v2"), (false.into(), false.into()));
    assert_eq!(sandbox.json(&["model", "verify", "--models", store])["state"], "whole");
    let bench = sandbox.json(&["bench", "encoder", "--model", "static"]);
    assert!(bench[0]["p50_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_built_in_name_cannot_be_installed_over() {
    let sandbox = Sandbox::new();
    let (store, source) = (sandbox.path("store"), model_dir());
    let (store, source) = (store.to_str().unwrap(), source.to_str().unwrap());
    let args = ["model", "pull", "static", "--force", "--models", store, "--from", source];
    assert!(sandbox.fails(4, &args).contains("part of the program"));
    assert_eq!(sandbox.json(&args[..3])["state"], "here already");
}

#[test]
fn a_rounded_folder_gives_the_vectors_of_the_model_that_it_was_made_of() {
    let sandbox = Sandbox::new();
    let out = sandbox.path("rounded");
    let (source, to) = (model_dir(), out.to_str().unwrap().to_owned());
    let source = source.to_str().unwrap();
    let args = ["model", "round", source, &to, "--licence", "Apache-2.0", "--name", "mine"];
    assert_eq!(sandbox.json(&args)["name"], "mine");
    let load = |dir: &std::path::Path| {
        let options = EncoderOptions { precision: Precision::Int8, ..EncoderOptions::default() };
        embedding::load(&ModelFiles::from_dir(dir).unwrap(), options).unwrap()
    };
    assert_eq!(embed(load(&out).as_ref()), embed(load(&model_dir()).as_ref()));
    // A folder of the store, too: the manifest is in it.
    let store = sandbox.path("store");
    fs::create_dir(&store).unwrap();
    fs::rename(&out, store.join("mine")).unwrap();
    let verify = ["model", "verify", "mine", "--models", store.to_str().unwrap()];
    sandbox.json(&verify);
    let weights = store.join("mine/model.int8.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    fs::write(&weights, bytes).unwrap();
    assert!(sandbox.fails(4, &verify).contains("SHA-256"));
}

#[test]
fn a_checkpoint_without_settings_must_be_told_how_to_pool() {
    let sandbox = Sandbox::new();
    let (source, to) = (sandbox.path("checkpoint"), sandbox.path("out"));
    fs::create_dir(&source).unwrap();
    let (from, to) = (source.to_str().unwrap(), to.to_str().unwrap());
    assert!(sandbox.fails(4, &["model", "round", from, to]).contains("config.json is missing"));
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::os::unix::fs::symlink(model_dir().join(file), source.join(file)).unwrap();
    }
    assert!(sandbox.fails(4, &["model", "round", from, to]).contains("--pooling"));
    let args = ["model", "round", from, to, "--pooling", "mean", "--max-tokens", "256"];
    sandbox.toolroute().args(args).assert().success().stdout_contains("out: 23.");
    assert!(sandbox.fails(4, &["model", "round", from, from, "--pooling", "cls"]).contains("own"));
}
