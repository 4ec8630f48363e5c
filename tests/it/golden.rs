//! Our vectors beside those of sentence-transformers, and the tokenizer under odd input.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;
use toolroute_vectors::embedding::{
    Backend, BertEmbedder, Device, Embedder, EncoderOptions, ModelFiles, Precision, Role,
};

use crate::support::{model_dir, shared};

fn load(precision: Precision, backend: Backend) -> BertEmbedder {
    let files = ModelFiles::from_dir(model_dir()).expect("the installed model");
    let options = EncoderOptions { precision, backend, ..EncoderOptions::default() };
    BertEmbedder::load_with(&files, options).expect("a model that loads")
}

static MODEL: LazyLock<BertEmbedder> = LazyLock::new(|| load(Precision::F32, Backend::Native));
static INT8: LazyLock<BertEmbedder> = LazyLock::new(|| load(Precision::Int8, Backend::Native));
static REFERENCE: LazyLock<BertEmbedder> =
    LazyLock::new(|| load(Precision::F32, Backend::Candle(Device::Cpu)));

#[derive(Deserialize)]
struct Golden {
    text: String,
    embedding: Vec<f32>,
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn neighbours(vectors: &[Vec<f32>], of: usize) -> Vec<usize> {
    let near: Vec<f64> = vectors.iter().map(|other| cosine(&vectors[of], other)).collect();
    let mut others: Vec<usize> = (0..vectors.len()).filter(|at| *at != of).collect();
    others.sort_by(|a, b| near[*b].total_cmp(&near[*a]));
    others.truncate(10);
    others.sort_unstable();
    others
}

fn goldens() -> Option<Vec<Golden>> {
    let text = std::fs::read_to_string(shared("reference/goldens.jsonl")?).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn embed(model: &BertEmbedder, goldens: &[Golden]) -> Vec<Vec<f32>> {
    let texts: Vec<&str> = goldens.iter().map(|golden| golden.text.as_str()).collect();
    let vectors = model.embed(&texts, Role::Query).unwrap().vectors;
    vectors.rows().into_iter().map(|row| row.to_vec()).collect()
}

#[test]
fn vectors_equal_those_of_sentence_transformers() {
    let Some(goldens) = goldens() else { return };
    assert_eq!(goldens.len(), 200);
    let theirs: Vec<Vec<f32>> = goldens.iter().map(|golden| golden.embedding.clone()).collect();
    for (name, model) in [("encoder", &MODEL), ("reference", &REFERENCE)] {
        let ours = embed(model, &goldens);
        let least = ours.iter().zip(&theirs).map(|(a, b)| cosine(a, b)).fold(1.0, f64::min);
        eprintln!("{name}: least cosine over 200 texts: {least:.7}");
        assert!(least >= 0.9999, "{name}: {least}");
        for (at, golden) in goldens.iter().enumerate() {
            assert_eq!(neighbours(&ours, at), neighbours(&theirs, at), "{name}: {}", golden.text);
        }
    }
}

#[test]
fn int8_vectors_stay_near() {
    let Some(goldens) = goldens() else { return };
    let near: Vec<f64> = embed(&INT8, &goldens)
        .iter()
        .zip(&goldens)
        .map(|(ours, golden)| cosine(ours, &golden.embedding))
        .collect();
    let mean = near.iter().sum::<f64>() / near.len() as f64;
    let least = near.iter().copied().fold(1.0, f64::min);
    eprintln!("int8: mean cosine {mean:.5}, least {least:.5}");
    assert!(mean >= 0.995, "{mean}");
    assert!(least >= 0.97, "{least}");
}

#[test]
fn a_text_gets_the_same_bits_alone_and_in_any_batch() {
    let long = "a rather longer text about the weather in Haifa ".repeat(30);
    let mut texts = vec!["short", "a longer text about the weather in Haifa", "", "天气 🌦", &long];
    let many: Vec<String> =
        (0..200).map(|at| format!("text {at} {}", "word ".repeat(at % 40))).collect();
    texts.extend(many.iter().map(String::as_str));
    for model in [&MODEL, &INT8] {
        let together = model.embed(&texts, Role::Document).unwrap().vectors;
        for (text, row) in texts.iter().zip(together.rows()) {
            let alone = model.embed(&[text], Role::Document).unwrap().vectors;
            assert_eq!(alone.row(0), row, "{text:?}");
        }
        assert_eq!(model.embed(&[], Role::Query).unwrap().vectors.nrows(), 0);
    }
}

#[test]
fn every_length_agrees_with_the_reference() {
    let ids: Vec<Vec<u32>> = [1, 2, 3, 13, 14, 15, 31, 32, 33, 63, 64, 65, 127, 256]
        .map(|length| (0..length).map(|at| 1_000 + at * 37 % 20_000).collect())
        .to_vec();
    let ours = MODEL.embed_ids(&ids).unwrap();
    let rounded = INT8.embed_ids(&ids).unwrap();
    for (at, ids) in ids.iter().enumerate() {
        let right = REFERENCE.embed_ids(std::slice::from_ref(ids)).unwrap().row(0).to_vec();
        let near = cosine(&ours.row(at).to_vec(), &right);
        let rounded = cosine(&rounded.row(at).to_vec(), &right);
        assert!(near > 0.999_99 && rounded > 0.95, "{} tokens: {near} {rounded}", ids.len());
    }
    let beyond = MODEL.embed_ids(&[vec![99_999]]).unwrap_err().to_string();
    assert!(beyond.contains("99999") && beyond.contains("30522"), "{beyond}");
    assert!(MODEL.embed_ids(&[vec![1_000; 513]]).is_err());
    assert!(MODEL.embed_ids(&[vec![1_000], vec![]]).is_err());
}

#[test]
fn prompts_from_many_threads_at_once_get_their_own_answers() {
    let texts: Vec<String> = (0..8).map(|at| format!("prompt number {at} about weather")).collect();
    let alone: Vec<_> =
        texts.iter().map(|text| MODEL.embed(&[text], Role::Query).unwrap().vectors).collect();
    std::thread::scope(|scope| {
        for (text, alone) in texts.iter().zip(&alone) {
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(&MODEL.embed(&[text], Role::Query).unwrap().vectors, alone);
                }
            });
        }
    });
}

#[test]
fn a_text_beyond_the_models_limit_is_cut_not_refused() {
    let long = "weather ".repeat(5_000);
    assert_eq!(MODEL.tokenize(&long, Role::Query).unwrap().len(), 256);
    MODEL.embed(&[&long], Role::Query).unwrap();
}

proptest! {
    #[test]
    fn the_tokenizer_never_panics(text in any::<String>()) {
        let ids = MODEL.tokenize(&text, Role::Query).unwrap();
        prop_assert!((2..=256).contains(&ids.len()));
    }
}
