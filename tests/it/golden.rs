//! Our vectors beside those of sentence-transformers, and the tokenizer under odd input.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde::Deserialize;
use toolroute::embedding::{BertEmbedder, Embedder, ModelFiles, Role};

use crate::support::{model_dir, shared};

static MODEL: LazyLock<BertEmbedder> = LazyLock::new(|| {
    let files = ModelFiles::from_dir(model_dir()).expect("the installed model");
    BertEmbedder::load(&files).expect("a model that loads")
});

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
    let mut others: Vec<usize> = (0..vectors.len()).filter(|at| *at != of).collect();
    let near = |at: &usize| cosine(&vectors[of], &vectors[*at]);
    others.sort_by(|a, b| near(b).total_cmp(&near(a)));
    others.truncate(10);
    others.sort_unstable();
    others
}

#[test]
fn vectors_equal_those_of_sentence_transformers() {
    let Some(path) = shared("reference/goldens.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let goldens: Vec<Golden> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(goldens.len(), 200);
    let texts: Vec<&str> = goldens.iter().map(|golden| golden.text.as_str()).collect();
    let ours = MODEL.embed(&texts, Role::Query).unwrap().vectors;
    let ours: Vec<Vec<f32>> = ours.rows().into_iter().map(|row| row.to_vec()).collect();
    let theirs: Vec<Vec<f32>> = goldens.iter().map(|golden| golden.embedding.clone()).collect();
    let least = ours.iter().zip(&theirs).map(|(a, b)| cosine(a, b)).fold(1.0, f64::min);
    eprintln!("least cosine over 200 texts: {least:.7}");
    assert!(least >= 0.9999, "{least}");
    for (at, golden) in goldens.iter().enumerate() {
        assert_eq!(neighbours(&ours, at), neighbours(&theirs, at), "{}", golden.text);
    }
}

#[test]
fn a_text_gets_the_same_vector_alone_and_in_a_batch() {
    let texts = ["short", "a rather longer text about the weather in Haifa", "", "天气 🌦"];
    let together = MODEL.embed(&texts, Role::Document).unwrap().vectors;
    for (text, row) in texts.iter().zip(together.rows()) {
        let alone = MODEL.embed(&[text], Role::Document).unwrap().vectors;
        let cosine = cosine(alone.as_slice().unwrap(), row.as_slice().unwrap());
        assert!(cosine > 0.999_999, "{text:?}: {cosine}");
    }
    assert_eq!(MODEL.embed(&[], Role::Query).unwrap().vectors.nrows(), 0);
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
