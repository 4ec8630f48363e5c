//! Tests policy, order and fusion with made-up tools.

use proptest::prelude::*;
use toolroute_catalog::{Cost, Reliability, Tool};

use super::order::order;
use super::*;

mod policy_model;

proptest! {
    #[test]
    fn min_max_stays_between_0_and_1(raw in prop::collection::vec(-1f32..1.0, 1..50)) {
        let keyword = vec![0.0; raw.len()];
        for (semantic, keyword) in Fusion::Plain.apply(&raw, &keyword, 1.0) {
            prop_assert!((-1e-6..=1.0 + 1e-6).contains(&semantic.normalized));
            prop_assert_eq!(keyword.contribution(), 0.0);
        }
    }
}

#[test]
fn the_order_is_reliability_then_cost_then_latency_then_name() {
    let tool = |name: &str, reliability, cost, ms| {
        let mut tool = Tool::new(None, name, "");
        (tool.reliability, tool.cost, tool.latency_ms) = (Some(reliability), Some(cost), Some(ms));
        tool
    };
    let mut tools = [
        tool("f", Reliability::Low, Cost::Tiny, 1),
        tool("e", Reliability::High, Cost::High, 1),
        tool("d", Reliability::High, Cost::Low, 900),
        tool("c", Reliability::High, Cost::Low, 100),
        tool("b", Reliability::High, Cost::Low, 100),
        tool("a", Reliability::Medium, Cost::Tiny, 1),
    ];
    tools.sort_by(order);
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["b", "c", "d", "e", "a", "f"]);
}

#[test]
fn a_tier_that_is_asked_for_and_not_declared_is_named() {
    let policy = Policy { min_reliability: Some(Reliability::High), ..Policy::default() };
    let because = policy.admit(&Tool::new(None, "bare", ""), None).unwrap_err().to_string();
    assert_eq!(because, "reliability is not declared, and high is asked for");
}

#[test]
fn a_part_with_little_evidence_decides_little() {
    let weak = Fusion::default().apply(&[0.6, 0.5], &[0.0, 0.5], 1.0);
    let strong = Fusion::default().apply(&[0.6, 0.5], &[0.0, 20.0], 1.0);
    let first = |fused: &[(Score, Score)]| {
        let total = |at: usize| fused[at].0.contribution() + fused[at].1.contribution();
        total(0) > total(1)
    };
    assert!(first(&weak), "half a point of BM25 does not outweigh a tenth of cosine");
    assert!(!first(&strong));
}

#[test]
fn words_decide_where_the_encoder_cannot_read_the_prompt() {
    let fused = Fusion::default().apply(&[0.9, 0.2], &[0.0, 5.0], 0.0);
    assert!((fused[0].0.weight - 0.05).abs() < 1e-6, "{fused:?}");
    assert!(fused[1].1.contribution() > fused[0].0.contribution(), "{fused:?}");
}

#[test]
fn the_nearest_by_far_is_lifted_most_unless_the_blend_is_plain() {
    let lift = |fusion: Fusion, cosines: &[f32]| {
        let before = fusion.apply(cosines, &[0.0; 3], 1.0);
        let mut after = before.clone();
        fusion.lift_nearest(&mut after);
        let gained = before.iter().zip(&after).map(|(b, a)| a.0.normalized - b.0.normalized);
        gained.collect::<Vec<_>>()
    };
    let lifted = lift(Fusion::default(), &[0.7, 0.69, 0.3]);
    assert!(lifted[0] > lifted[1] && lifted[1] > 0.5 * lifted[0], "{lifted:?}");
    assert!(lifted[2] < 0.1 * lifted[0], "{lifted:?}");
    assert_eq!(lift(Fusion::Plain, &[0.7, 0.69, 0.3]), [0.0; 3]);
}
