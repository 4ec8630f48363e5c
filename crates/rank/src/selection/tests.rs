//! Tests policy, order and fusion with made-up tools.

use proptest::prelude::*;
use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool};

use super::order::order;
use super::*;

mod policy_model;

fn reliability() -> impl Strategy2<Reliability> {
    prop::option::of(prop::sample::select(vec![
        Reliability::Low,
        Reliability::Medium,
        Reliability::High,
    ]))
}

fn cost() -> impl Strategy2<Cost> {
    prop::option::of(prop::sample::select(vec![Cost::Tiny, Cost::Low, Cost::Medium, Cost::High]))
}

fn tier() -> impl Strategy2<LatencyTier> {
    use LatencyTier::{Fast, Medium, Slow, VerySlow};
    prop::option::of(prop::sample::select(vec![Fast, Medium, Slow, VerySlow]))
}

/// Proptest's `Strategy` under another name, because this module has its own type `Strategy`.
trait Strategy2<T>: proptest::strategy::Strategy<Value = Option<T>> {}
impl<T, S: proptest::strategy::Strategy<Value = Option<T>>> Strategy2<T> for S {}

prop_compose! {
    fn tools()(name in "[a-c]{1,2}", reliability in reliability(), cost in cost(),
               latency_ms in prop::option::of(0u64..200_000), declared in tier()) -> Tool {
        let mut tool = Tool::new(Some("s"), &name, "");
        (tool.reliability, tool.cost, tool.latency_ms) = (reliability, cost, latency_ms);
        tool.declared_latency_tier = declared;
        tool
    }
}

prop_compose! {
    fn policies()(min_reliability in reliability(), max_cost in cost(), max_latency in tier(),
                  undeclared in prop::sample::select(
                      vec![Undeclared::Medium, Undeclared::Admit, Undeclared::Exclude])) -> Policy {
        Policy { min_reliability, max_cost, max_latency, undeclared, ..Policy::default() }
    }
}

proptest! {
    #[test]
    fn what_a_policy_admits_never_violates_it(tool in tools(), policy in policies()) {
        if policy.admit(&tool, None).is_ok() {
            if let (Some(least), Some(found)) = (policy.min_reliability, tool.reliability) {
                prop_assert!(found >= least);
            }
            if let (Some(most), Some(found)) = (policy.max_cost, tool.cost) {
                prop_assert!(found <= most);
            }
            if let (Some(most), Some(found)) = (policy.max_latency, tool.latency_tier()) {
                prop_assert!(found <= most);
            }
        } else {
            prop_assert!(!policy.is_open());
        }
    }

    #[test]
    fn the_order_is_total_and_agrees_with_the_places(list in prop::collection::vec(tools(), 1..20)) {
        let places = PolicyOrder::new(list.iter());
        for (a, b) in (0u32..).zip(&list).flat_map(|a| (0u32..).zip(&list).map(move |b| (a, b))) {
            let by_tool = order(a.1, b.1);
            prop_assert_eq!(by_tool, order(b.1, a.1).reverse());
            if by_tool != std::cmp::Ordering::Equal {
                prop_assert_eq!(by_tool, places.place(a.0).cmp(&places.place(b.0)));
            }
        }
    }

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
fn a_tool_without_tiers_counts_as_medium_unless_told_otherwise() {
    let bare = Tool::new(None, "bare", "");
    let asks =
        |min_reliability, undeclared| Policy { min_reliability, undeclared, ..Policy::default() };
    assert!(asks(Some(Reliability::Medium), Undeclared::Medium).admit(&bare, None).is_ok());
    let high = asks(Some(Reliability::High), Undeclared::Medium).admit(&bare, None).unwrap_err();
    assert_eq!(high.to_string(), "reliability is not declared, and high is asked for");
    assert!(asks(Some(Reliability::High), Undeclared::Admit).admit(&bare, None).is_ok());
    assert!(asks(Some(Reliability::Low), Undeclared::Exclude).admit(&bare, None).is_err());
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
