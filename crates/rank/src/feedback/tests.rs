//! Tests the properties of learning with made-up vectors.

use std::sync::Arc;

use proptest::prelude::*;
use toolroute_catalog::{Tool, ToolId};
use toolroute_vectors::durable::ModelIdentity;

use super::usage_file::{decode, encode};
use super::*;
use crate::index::{Vectors, dot};

mod false_reports;

const DIMENSION: usize = 8;

fn model() -> ModelIdentity {
    ModelIdentity { name: "m".into(), fingerprint: "m-1".into(), dimension: DIMENSION }
}

fn tools(count: usize) -> Vec<Arc<Tool>> {
    (0..count).map(|at| Arc::new(Tool::new(None, &format!("t{at}"), ""))).collect()
}

/// Returns a unit vector that depends only on the seed.
fn vector(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    unit((0..DIMENSION).map(|_| next()).collect())
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.into_iter().map(|x| x / length).collect()
}

fn own(count: usize) -> Vec<Vec<f32>> {
    (0..count as u64).map(|at| vector(1_000 + at)).collect()
}

fn calibrate(usage: &mut UsageVectors, own: &[Vec<f32>]) {
    usage.calibrate(&tools(own.len()), &Vectors::from_rows(own).unwrap());
}

fn moves(usage: &UsageVectors, own: &[Vec<f32>]) -> Vec<LearnedVector> {
    usage.learned_vectors(&tools(own.len()), &Vectors::from_rows(own).unwrap())
}

/// Learns prompts, given as (number of the prompt, tools that served it).
fn learned(prompts: &[(u64, Vec<usize>)]) -> UsageVectors {
    let mut usage = UsageVectors::new(model());
    for (prompt, served) in prompts {
        let ids: Vec<ToolId> = served.iter().map(|at| format!("t{at}").as_str().into()).collect();
        usage.learn(PromptHash::of(&format!("prompt {prompt}")), &vector(*prompt), &ids).unwrap();
    }
    calibrate(&mut usage, &own(9));
    usage
}

fn pasts() -> impl Strategy<Value = Vec<(u64, Vec<usize>)>> {
    let served = prop::collection::vec(0usize..9, 1..3);
    prop::collection::vec((0u64..400, served), 0..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_move_keeps_its_bounds(past in pasts()) {
        let usage = learned(&past);
        prop_assert!((0.0..=1.0).contains(&usage.handicap()));
        let strength = usage.strength();
        prop_assert!((0.0..=1.0).contains(&strength));
        for moved in moves(&usage, &own(9)) {
            let RowUsage { prompts, share, moved: far, reach } = moved.usage;
            prop_assert!(prompts >= 1 && (0.45 * strength..=0.9).contains(&share), "{share}");
            prop_assert!((1.0..=1.75).contains(&reach), "{reach}");
            prop_assert!((0.0..=2.0).contains(&far), "{far}");
            prop_assert!((dot(&moved.vector, &moved.vector) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn the_order_of_prompts_and_files_changes_no_byte(past in pasts(), cut in 0usize..600) {
        let at_once = learned(&past);
        let (first, second) = past.split_at(cut.min(past.len()));
        prop_assert_eq!(encode(&learned(&[second, first].concat())), encode(&at_once));
        let mut reversed = past.clone();
        reversed.reverse();
        prop_assert_eq!(learned(&reversed).fingerprint(), at_once.fingerprint());
    }

    #[test]
    fn what_is_forgotten_was_never_learned(past in pasts(), gone in 0usize..9) {
        let mut usage = learned(&past);
        let id = ToolId::from(format!("t{gone}").as_str());
        let known = usage.tools().any(|(known, _)| *known == id);
        prop_assert_eq!(usage.forget(&id), known);
        prop_assert!(!usage.forget(&id));
        let without: Vec<_> = past.iter()
            .map(|(prompt, served)| (*prompt, served.iter().copied().filter(|at| *at != gone).collect()))
            .collect();
        // The samples of many prompts differ, and so does the fitted strength.
        let moves = |mut usage: UsageVectors| {
            usage.strength = 1.0;
            moves(&usage, &own(9))
        };
        prop_assert_eq!(moves(usage), moves(learned(&without)));
    }
}

#[test]
fn a_tool_comes_nearer_to_what_it_served_and_others_stay() {
    let usage = learned(&[(1, vec![0]), (2, vec![0])]);
    let own = own(9);
    let moved = moves(&usage, &own);
    assert_eq!(moved.len(), 1);
    for prompt in [1, 2] {
        assert!(dot(&vector(prompt), &moved[0].vector) > dot(&vector(prompt), &own[0]) + 0.1);
    }
    let rows = UsageRows::new(9, &moved, usage.handicap());
    assert_eq!((rows.score(3, 0.4), rows.share(3), rows.get(3)), (0.4, 0.0, None));
    assert_eq!(rows.get(99), None);
    // With too few prompts to measure it, the handicap is the usual one.
    assert!((usage.handicap() - 0.15).abs() < 0.01, "{}", usage.handicap());
}

#[test]
fn learned_tools_rise_for_others_prompts_no_more_than_they_are_set_back() {
    // All prompts are shifted in one direction, away from the descriptions, as real ones are.
    let side = vector(77);
    let prompt = |seed: u64| -> Vec<f32> {
        unit(vector(seed).iter().zip(&side).map(|(x, side)| x + 1.5 * side).collect())
    };
    let (own, tools) = (own(9), tools(9));
    let mut usage = UsageVectors::new(model());
    for seed in 0..300 {
        let id = tools[seed as usize % 5].id.clone();
        usage.learn(PromptHash::of(&seed.to_string()), &prompt(seed), &[id]).unwrap();
    }
    calibrate(&mut usage, &own);
    let moved = moves(&usage, &own);
    let rows = UsageRows::new(9, &moved, usage.handicap());
    let (mut before, mut after) = (0.0, 0.0);
    for seed in 1_000..1_400 {
        let best =
            |score: &dyn Fn(&LearnedVector) -> f32| moved.iter().map(score).fold(-1.0, f32::max);
        before += best(&|moved| dot(&prompt(seed), &own[moved.row as usize])) / 400.0;
        after += best(&|moved| rows.score(moved.row, dot(&prompt(seed), &moved.vector))) / 400.0;
    }
    assert!(usage.handicap() > 0.2, "{}", usage.handicap());
    assert!((after - before).abs() < 0.15, "{before} {after}");
}

/// The strength falls if history ranks held-out prompts worse than the tools' own vectors. It stays
/// 1 if history ranks them better, or if there are only a few prompts.
#[test]
fn history_is_followed_as_far_as_it_helps() {
    let axis =
        |at: usize| (0..DIMENSION).map(|x| f32::from(u8::from(x == at))).collect::<Vec<f32>>();
    let tools = tools(4);
    // Prompts for some of four tools. Each is a little about its tool and more about a topic.
    let learned_times =
        |times: usize, served: usize, prompts: usize, topic: &dyn Fn(usize, usize) -> usize| {
            let own: Vec<Vec<f32>> = (0..4).map(axis).collect();
            let mut usage = UsageVectors::new(model());
            for (tool, nth) in (0..served).flat_map(|tool| (0..prompts).map(move |nth| (tool, nth)))
            {
                let both = axis(tool).into_iter().zip(axis(4 + topic(tool, nth)));
                let prompt = unit(both.map(|(tool, topic)| 0.3 * tool + topic).collect());
                let hash = PromptHash::of(&format!("{tool} {nth}"));
                for _ in 0..times {
                    usage.learn(hash, &prompt, &[tools[tool].id.clone()]).unwrap();
                }
            }
            calibrate(&mut usage, &own);
            (usage.strength(), moves(&usage, &own).len())
        };
    for times in [1, 9] {
        let (strength, _) = learned_times(times, 4, 4, &|_, nth| nth);
        assert!(
            strength < 1.0,
            "topics that all tools have say nothing: {strength}, {times} times"
        );
    }
    let fitted = |prompts, topic| learned_times(1, 4, prompts, topic);
    assert_eq!(fitted(4, &|tool, _| tool), (1.0, 4), "a topic of its own says much");
    assert_eq!(fitted(1, &|_, _| 0), (1.0, 4), "what is left of one prompt says nothing");

    let mut usage = learned(&[(1, vec![0])]);
    let own = own(9);
    let mut shares = |strength| {
        usage.strength = strength;
        let moved = moves(&usage, &own);
        moved.iter().map(|moved| moved.usage.share).collect::<Vec<_>>()
    };
    assert_eq!((shares(1.0), shares(0.5), shares(0.0)), (vec![0.45], vec![0.225], vec![]));
}

#[test]
fn a_file_comes_back_as_it_was_and_every_damage_is_noticed() {
    let mut usage = learned(&[(1, vec![0, 1]), (2, vec![1]), (3, vec![4]), (3, vec![4])]);
    usage.strength = 0.25;
    usage.served = Some(ServedScores { reached: 0.5, prompts: 4 });
    let bytes = encode(&usage);
    let path = std::path::Path::new("usage");
    assert_eq!(decode(&bytes, path).unwrap(), usage);
    let empty = UsageVectors::new(model());
    assert_eq!(decode(&encode(&empty), path).unwrap(), empty);
    for length in 0..bytes.len() {
        let error = decode(&bytes[..length], path).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{length}: {error}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let error = decode(&changed, path).unwrap_err();
        let expected = match at {
            0..8 => matches!(error, Error::Foreign { .. }),
            8..12 => matches!(error, Error::Version { expected: 3, .. }),
            _ => matches!(error, Error::Checksum { .. } | Error::Truncated { .. }),
        };
        assert!(expected, "byte {at}: {error}");
    }
}

#[test]
fn forged_contents_are_refused() {
    let path = std::path::Path::new("usage");
    let forged = |change: &dyn Fn(&mut UsageVectors)| {
        let mut usage = learned(&[(1, vec![0])]);
        change(&mut usage);
        decode(&encode(&usage), path).unwrap_err()
    };
    let history = |usage: &mut UsageVectors| usage.tools.values_mut().next().unwrap().clone();
    for error in [
        forged(&|usage| usage.handicap = 7.0),
        forged(&|usage| usage.strength = 1.5),
        forged(&|usage| usage.served = Some(ServedScores { reached: f32::MAX, prompts: 1 })),
        forged(&|usage| usage.tools.values_mut().for_each(|tool| tool.sum[0] = i64::MAX)),
        forged(&|usage| usage.tools.values_mut().for_each(|tool| tool.prompts = 0)),
        forged(&|usage| {
            let mut tool = history(usage);
            tool.prompts = u64::MAX;
            usage.tools.insert("t9".into(), tool);
        }),
        forged(&|usage| {
            usage.sample.values_mut().for_each(|prompt| prompt.vector[0] = f32::NAN);
        }),
    ] {
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }
}

#[test]
fn vectors_that_are_not_of_the_model_are_not_learned() {
    let mut usage = UsageVectors::new(model());
    for bad in [vec![1.0; 3], vec![0.0; DIMENSION], vec![f32::NAN; DIMENSION]] {
        let error = usage.learn(PromptHash::of("x"), &bad, &["t".into()]).unwrap_err();
        assert!(matches!(error, Error::NotUnit { expected: DIMENSION, .. }), "{error}");
    }
    assert!(usage.is_empty());
}
