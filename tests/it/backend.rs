//! One model in our own encoder and in candle, from the command line.

use serde_json::{Value, json};

use crate::support::{CommandExt as _, Sandbox, ids, model_dir, repo};

const PROMPT: &str = "do I need an umbrella in Haifa tomorrow";

/// The tools of one file: candle takes long to embed them.
fn few_tools() -> String {
    repo("examples/catalog/weather.jsonl").to_string_lossy().into_owned()
}

/// Whether two answers have the same tools with nearly the same scores.
fn is_alike(a: &Value, b: &Value) -> bool {
    let scores = |answer: &Value| -> Vec<f64> {
        let tools = answer["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["score"].as_f64().unwrap()).collect()
    };
    ids(a) == ids(b) && scores(a).iter().zip(scores(b)).all(|(a, b)| (a - b).abs() < 1e-3)
}

#[test]
fn candle_runs_any_encoder_and_finds_what_ours_finds() {
    let sandbox = Sandbox::new();
    let tools = few_tools();
    let installed = model_dir();
    for model in ["toolroute-l6-v1", installed.to_str().unwrap()] {
        let route = ["route", "--tools", &tools, "--model", model, PROMPT];
        let native = sandbox.json(&[&route[..], &["--precision", "f32"]].concat());
        let candle = sandbox.json(&[&route[..], &["--backend", "candle"]].concat());
        assert!(is_alike(&native, &candle), "{model}:\n{native}\n{candle}");
        let mut by_variable = sandbox.toolroute();
        by_variable.env("TOOLROUTE_BACKEND", "candle").args(route).arg("--json");
        let output = by_variable.assert().success().get_output().stdout.clone();
        assert_eq!(serde_json::from_slice::<Value>(&output).unwrap(), candle, "{model}");
    }
}

#[test]
fn vectors_of_two_backends_are_not_mixed() {
    let sandbox = Sandbox::new();
    let (tools, index) = (few_tools(), sandbox.path("vectors.snapshot"));
    let index = ["index", "--tools", &tools, "--index", index.to_str().unwrap()];
    let state = |more: &[&str]| {
        let report = sandbox.json(&[&index[..], more].concat());
        (report["snapshot"].clone(), report["embedded"].as_u64().unwrap())
    };
    assert_eq!(state(&[]).0["state"], "created");
    assert_eq!(state(&[]), (json!({"state": "fresh"}), 0));
    let (rebuilt, embedded) = state(&["--backend", "candle"]);
    assert_eq!(rebuilt["state"], "rebuilt", "{rebuilt}");
    assert_eq!(embedded, 4, "all of them go through candle");
    assert_eq!(state(&["--backend", "candle"]), (json!({"state": "fresh"}), 0));
}

#[test]
fn what_measures_runs_in_candle_too() {
    let sandbox = Sandbox::new();
    let tools = few_tools();
    let queries = json!({"id": 1, "query": PROMPT, "gold": ["meteo__weather_forecast"]});
    let queries = &sandbox.put("q.jsonl", queries.to_string());
    let eval = ["eval", "--tools", &tools, "--queries", queries, "--backend", "candle"];
    assert_eq!(sandbox.json(&eval)["results"][0]["ndcg@5"], 1.0);
    let bench = ["bench", "--tools", &tools, "--queries", queries, "--samples", "2"];
    let timed = sandbox.json(&[&bench[..], &["--backend", "candle"]].concat());
    assert_eq!(timed["samples"], 2);
    let encoder = ["bench", "encoder", "--with-threads", "1", "--backend", "candle"];
    let rows = sandbox.json(&encoder);
    assert!(rows.as_array().unwrap().iter().all(|row| row["instructions"] == "candle"), "{rows}");
}

#[test]
fn what_cannot_be_run_is_said_with_the_cure() {
    let sandbox = Sandbox::new();
    let tools = few_tools();
    let fails = |code, more: &[&str]| {
        sandbox.fails(code, &[&["route", "--tools", &tools, PROMPT], more].concat())
    };
    let said = fails(2, &["--backend", "native", "--device", "cuda"]);
    assert!(said.contains("--backend candle"), "{said}");
    assert!(fails(2, &["--device", "gpu"]).contains("cpu, cuda"));
    if !cfg!(feature = "metal") {
        let said = fails(4, &["--device", "metal"]);
        assert!(said.contains("--features metal"), "{said}");
    }
    if !cfg!(feature = "cuda") {
        let said = fails(4, &["--device", "cuda:1"]);
        assert!(said.contains("cuda:1") && said.contains("--features cuda"), "{said}");
    }
    let said = fails(4, &["--model", "static", "--backend", "candle"]);
    assert!(said.contains("leave out the backend"), "{said}");
}
