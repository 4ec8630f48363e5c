//! Orders tools that fit equally or nearly equally well.

use std::cmp::{Ordering, Reverse};

use toolroute_catalog::{Cost, LatencyTier, Reliability, Tool};

use super::candidate::{Candidate, Criterion, Preference, Score};

/// The distance, on the scale of a cosine, within which two scores count as nearly equal. The
/// policy decides among such tools.
pub const POLICY_BAND: f32 = 0.02;

/// The best score, on the same scale, from which a band has its full width. Below it no tool is
/// close in meaning, and the band narrows in proportion, because all scores of a prompt that the
/// encoder cannot read are within 0.02 of each other.
const CLOSE: f32 = 0.5;

/// The share of a band by which the signals of a tool must exceed those of another so that the
/// policy does not reverse their order. On the project's own evaluation set for signals, nDCG@5
/// falls by 0.05 if the policy overrules them.
const HARDLY: f32 = 0.25;

/// The maximum number of tools in one band. More tools are unlikely to fit equally well, and
/// ordering them would take long.
const MOST_EQUAL: usize = 64;

/// Compares two tools that fit equally well: by reliability, cost, latency, then name ascending.
///
/// This is the order of the source documents. Their text orders names ascending while their sample
/// code takes the highest name; this function follows the text. Undeclared tiers count as medium.
pub fn order(a: &Tool, b: &Tool) -> Ordering {
    let key = |tool: &Tool| {
        let Declared { reliability, cost, latency_ms } = Declared::of(tool);
        let latency_ms = latency_ms.unwrap_or(LatencyTier::Medium.floor_ms());
        let reliability = reliability.unwrap_or(Reliability::Medium);
        (Reverse(reliability), cost.unwrap_or(Cost::Medium), latency_ms)
    };
    key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name)).then_with(|| a.id.cmp(&b.id))
}

/// Returns the width of the band on the scale of the scores. `band` is its width on the scale of a
/// cosine, `unit` the score that corresponds to a cosine of 1, and `best` the best score.
pub fn band_of(band: f32, unit: f32, best: f32) -> f32 {
    band * unit * (best / (CLOSE * unit)).clamp(0.0, 1.0)
}

/// The tiers that a tool declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Declared {
    reliability: Option<Reliability>,
    cost: Option<Cost>,
    /// The lower end of the tier if only a tier is declared.
    latency_ms: Option<u64>,
}

impl Declared {
    fn of(tool: &Tool) -> Self {
        let tier = || tool.declared_latency_tier.map(LatencyTier::floor_ms);
        Self {
            reliability: tool.reliability,
            cost: tool.cost,
            latency_ms: tool.latency_ms.or_else(tier),
        }
    }

    fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns the criterion that decides between `self` and `other`, and their order: the first
    /// criterion that both declare with different values.
    fn compare(self, other: Self) -> Option<(Criterion, Ordering)> {
        let by = |criterion, order: Option<Ordering>| order.map(|order| (criterion, order));
        let all = [
            by(Criterion::Reliability, compared(other.reliability, self.reliability)),
            by(Criterion::Cost, compared(self.cost, other.cost)),
            by(Criterion::Latency, compared(self.latency_ms, other.latency_ms)),
        ];
        all.into_iter().flatten().find(|(_, order)| order.is_ne())
    }
}

/// Compares two values; `None` if one is undeclared.
fn compared<T: Ord>(a: Option<T>, b: Option<T>) -> Option<Ordering> {
    Some(a?.cmp(&b?))
}

/// The policy's order of a catalog, by row.
pub struct PolicyOrder {
    /// The position of each row in [`order`], so that breaking a tie takes one comparison.
    places: Vec<u32>,
    /// By row; empty if no tool declares a tier.
    declared: Vec<Declared>,
}

impl PolicyOrder {
    pub fn new<'a>(tools: impl Iterator<Item = &'a Tool>) -> Self {
        let tools: Vec<&Tool> = tools.collect();
        let mut rows: Vec<usize> = (0..tools.len()).collect();
        rows.sort_by(|&a, &b| order(tools[a], tools[b]));
        let mut places = vec![0; tools.len()];
        for (place, row) in (0u32..).zip(rows) {
            places[row] = place;
        }
        let mut declared: Vec<Declared> = tools.iter().map(|tool| Declared::of(tool)).collect();
        if declared.iter().all(|tiers| tiers.is_nothing()) {
            declared.clear();
        }
        Self { places, declared }
    }

    /// Returns the position of a row in [`order`]; a smaller one comes first.
    pub fn place(&self, row: u32) -> u32 {
        self.places[row as usize]
    }

    /// Whether any tool declares a tier. If not, [`PolicyOrder::arrange`] changes nothing.
    pub fn has_tiers(&self) -> bool {
        !self.declared.is_empty()
    }

    fn declared(&self, row: u32) -> Declared {
        self.declared.get(row as usize).copied().unwrap_or_default()
    }

    /// Orders tools whose scores are within `band` of each other by their declared tiers. `sorted`
    /// is in descending order of score.
    ///
    /// A band starts at the best tool that has no position yet. Its first tool is the one with the
    /// best score, unless the policy ranks another one before it; the rest follows in the same way.
    /// If the policy does not decide, the score does.
    ///
    /// The source documents order equal tools by name. That counts for equal scores alone: among nearly
    /// equal ones it put `draft_email` before `send_email` for "send an email".
    ///
    /// Tools that the signals distinguish keep their order. A tool keeps its position if it
    /// declares nothing, if `may_move` excludes it, or if the prompt's wording moved it. Only named
    /// tools are ranked before a tool that the prompt names.
    pub fn arrange(&self, sorted: &mut [Candidate], band: f32, may_move: impl Fn(u32) -> bool) {
        let moves = |c: &Candidate| {
            !self.declared(c.row).is_nothing() && c.wording <= 0.0 && may_move(c.row)
        };
        let places: Vec<usize> = (0..sorted.len()).filter(|&at| moves(&sorted[at])).collect();
        let mut rest = places.as_slice();
        while let Some(&first) = rest.first() {
            let Candidate { score, exact_name, .. } = sorted[first];
            let is_equal = |at: &&usize| {
                let other = &sorted[**at];
                other.score >= score - band && (other.exact_name > 0.0) == (exact_name > 0.0)
            };
            let count = rest.iter().take(MOST_EQUAL).take_while(is_equal).count().max(1);
            let (equal, others) = rest.split_at(count);
            self.arrange_band(sorted, equal, band);
            rest = others;
        }
    }

    /// Reorders the candidates at `places`, which form one band.
    fn arrange_band(&self, sorted: &mut [Candidate], places: &[usize], band: f32) {
        if places.len() < 2 {
            return;
        }
        let mut waiting: Vec<Candidate> = places.iter().map(|&at| sorted[at]).collect();
        for &place in places {
            let next = self.next(&waiting, band);
            let mut candidate = waiting.remove(next);
            // The reason refers to the best of the candidates with a higher score.
            let over = waiting[..next].iter().find_map(|other| {
                let by = self.goes_before(&candidate, other, band)?;
                Some(Preference { over: other.row, by })
            });
            candidate.preferred = over.or(candidate.preferred);
            sorted[place] = candidate;
        }
    }

    /// Returns the index of the candidate that comes first: the one with the best score, or one
    /// that the policy ranks before it, and so on. Tiers are compared only if both tools declare
    /// them, so preferences can form a cycle; each candidate is considered at most once.
    fn next(&self, waiting: &[Candidate], band: f32) -> usize {
        let mut seen = vec![false; waiting.len()];
        let mut first = 0;
        loop {
            seen[first] = true;
            let goes_before = |at: &usize| {
                let goes = self.goes_before(&waiting[*at], &waiting[first], band);
                !seen[*at] && goes.is_some()
            };
            match (0..waiting.len()).find(goes_before) {
                Some(better) => first = better,
                None => return first,
            }
        }
    }

    /// Returns the criterion by which `tool` ranks before `other`, if it does. The signals of `other` may
    /// exceed those of `tool` by at most [`HARDLY`] of the band, and the contribution of the prompt's words by
    /// at most the band: for "send an email", `direct_message` is not equal to `send_email`, however near in
    /// meaning.
    fn goes_before(&self, tool: &Candidate, other: &Candidate, band: f32) -> Option<Criterion> {
        let (one, two) = (self.declared(tool.row), self.declared(other.row));
        let words = |candidate: &Candidate| candidate.keyword.map_or(0.0, Score::contribution);
        if tool.signals() < other.signals() - HARDLY * band || words(tool) < words(other) - band {
            return None;
        }
        one.compare(two).filter(|(_, order)| order.is_lt()).map(|(criterion, _)| criterion)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates a tool from `reliability/cost/latency`, such as `h/t/5`: a letter for each tier,
    /// milliseconds, and `-` for an undeclared value.
    fn tool(name: &str, tiers: &str) -> Tool {
        let mut tool = Tool::new(None, name, "");
        let tiers: Vec<&str> = tiers.split('/').collect();
        let all = [Reliability::High, Reliability::Medium, Reliability::Low];
        tool.reliability = all.into_iter().find(|tier| tier.to_string().starts_with(tiers[0]));
        let all = [Cost::Tiny, Cost::Low, Cost::High];
        tool.cost = all.into_iter().find(|tier| tier.to_string().starts_with(tiers[1]));
        tool.latency_ms = tiers[2].parse().ok();
        tool
    }

    /// Returns candidates with semantic scores only.
    fn candidates(scores: &[f32]) -> Vec<Candidate> {
        let candidate = |(row, &score)| {
            let semantic = Some(Score { raw: score, normalized: score, weight: 1.0 });
            Candidate { row, score, semantic, ..Candidate::default() }
        };
        (0u32..).zip(scores).map(candidate).collect()
    }

    /// Returns the rows in their order after arranging tools with these tiers and scores.
    fn arranged(tiers: &[&str], scores: &[f32]) -> Vec<u32> {
        let tools = (0..).zip(tiers).map(|(at, tiers)| tool(&format!("{at:03}"), tiers));
        let tools: Vec<Tool> = tools.collect();
        let mut all = candidates(scores);
        PolicyOrder::new(tools.iter()).arrange(&mut all, 0.02, |_| true);
        rows(&all)
    }

    fn rows(all: &[Candidate]) -> Vec<u32> {
        all.iter().map(|candidate| candidate.row).collect()
    }

    #[test]
    fn a_tool_that_the_words_favour_is_not_overruled() {
        let tools = [tool("mail", "h/t/700"), tool("chat", "h/t/300")];
        let by_words = |keyword: f32| {
            let mut all = candidates(&[0.48 - keyword, 0.47]);
            all[0].keyword = Some(Score { raw: 1.0, normalized: keyword, weight: 1.0 });
            all[0].score += keyword;
            PolicyOrder::new(tools.iter()).arrange(&mut all, 0.02, |_| true);
            rows(&all)
        };
        assert_eq!(by_words(0.015), [1, 0]);
        assert_eq!(by_words(0.05), [0, 1]);
    }

    #[test]
    fn among_equals_the_weakest_that_will_do_comes_first() {
        assert_eq!(arranged(&["m/t/5", "h/h/90", "h/l/50"], &[0.6, 0.595, 0.59]), [2, 1, 0]);
        assert_eq!(arranged(&["h/l/50", "h/l/5"], &[0.6, 0.59]), [1, 0]);
        assert_eq!(arranged(&["h/h/9", "h/l/9"], &[0.6, 0.57]), [0, 1], "beyond the band");
        assert_eq!(arranged(&["h/l/-", "h/l/-"], &[0.6, 0.59]), [0, 1], "the score decides");
        let tools = [tool("b", "h/l/9"), tool("c", "h/l/9"), tool("a", "h/l/9")];
        let mut all = candidates(&[0.6, 0.595, 0.59]);
        PolicyOrder::new(tools.iter()).arrange(&mut all, 0.02, |_| true);
        assert_eq!(rows(&all), [0, 1, 2], "the score decides where all tiers are equal");
    }

    #[test]
    fn a_band_begins_at_the_best_that_has_no_place() {
        // Row 2 is near row 1 but not near row 0, at which the band starts.
        let tiers = ["h/h/9", "h/l/9", "h/t/9"];
        assert_eq!(arranged(&tiers, &[0.60, 0.585, 0.57]), [1, 0, 2]);
    }

    #[test]
    fn who_declares_nothing_keeps_its_place_and_a_tier_is_compared_where_both_have_it() {
        assert_eq!(arranged(&["h/h/9", "-/-/-", "h/t/9"], &[0.6, 0.595, 0.59]), [2, 1, 0]);
        assert_eq!(arranged(&["-/h/-", "h/-/-"], &[0.6, 0.59]), [0, 1]);
        assert_eq!(
            arranged(&["-/h/9", "h/-/5"], &[0.6, 0.59]),
            [1, 0],
            "latency is what both have"
        );
        assert_eq!(arranged(&["-/h/-", "h/-/-", "-/t/-"], &[0.6, 0.595, 0.59]), [2, 0, 1]);
        // A cycle: the first ranks before the second, which ranks before the third, which ranks
        // before the first.
        let circle = ["m/-/5", "-/l/9", "h/h/-"];
        assert_eq!(arranged(&circle, &[0.6, 0.595, 0.59]), [1, 2, 0]);
    }

    #[test]
    fn the_reason_names_the_best_of_those_that_score_more() {
        let tools = [tool("dear", "h/h/9"), tool("same", "h/h/9"), tool("thrifty", "h/t/9")];
        let mut all = candidates(&[0.6, 0.595, 0.59]);
        PolicyOrder::new(tools.iter()).arrange(&mut all, 0.02, |_| true);
        assert_eq!(all[0].preferred, Some(Preference { over: 0, by: Criterion::Cost }));
        assert_eq!((all[1].preferred, all[2].preferred), (None, None));
    }

    #[test]
    fn what_signals_set_apart_stays_apart() {
        let tools = [tool("dear", "h/h/9"), tool("cheap", "h/t/9")];
        let order = PolicyOrder::new(tools.iter());
        let arranged = |said: f32| {
            let mut all = candidates(&[0.6, 0.6 - said]);
            all[0].semantic = all[1].semantic;
            order.arrange(&mut all, 0.02, |_| true);
            rows(&all)
        };
        assert_eq!((arranged(0.004), arranged(0.006)), (vec![1, 0], vec![0, 1]));
        let mut all = candidates(&[0.6, 0.59]);
        all[1].semantic = Some(Score { raw: 0.5, normalized: 0.5, weight: 1.0 });
        order.arrange(&mut all, 0.02, |_| true);
        assert_eq!(all[0].row, 1, "they speak for the one that comes first");
    }

    #[test]
    fn a_band_narrows_where_nothing_is_close() {
        assert!((band_of(0.02, 1.0, 0.7) - 0.02).abs() < 1e-6);
        assert!((band_of(0.02, 1.0, 0.05) - 0.002).abs() < 1e-6);
        assert!((band_of(0.02, 21.0, 5.25) - 0.21).abs() < 1e-6);
        assert_eq!(band_of(0.02, 1.0, -0.3), 0.0);
        assert_eq!(band_of(0.0, 1.0, 0.9), 0.0);
    }

    #[test]
    fn named_tools_stay_before_others_and_wording_keeps_its_place() {
        let tools = [tool("named", "l/h/9"), tool("best", "h/h/9"), tool("cheap", "h/t/9")];
        let order = PolicyOrder::new(tools.iter());
        let mut all = candidates(&[0.605, 0.6, 0.59]);
        all[0].exact_name = 0.6;
        all[0].semantic = None;
        order.arrange(&mut all, 0.02, |_| true);
        assert_eq!(rows(&all), [0, 2, 1]);
        let mut all = candidates(&[0.605, 0.6, 0.59]);
        all[0].wording = 0.01;
        all[0].semantic = all[1].semantic;
        order.arrange(&mut all, 0.02, |row| row != 1);
        assert_eq!(rows(&all), [0, 1, 2]);
    }

    fn tiers() -> impl Strategy<Value = String> {
        let one = |words: &'static [&'static str]| proptest::sample::select(words);
        (one(&["h", "m", "l", "-"]), one(&["t", "l", "h", "-"]), one(&["5", "90", "-"]))
            .prop_map(|(reliability, cost, latency)| format!("{reliability}/{cost}/{latency}"))
    }

    proptest! {
        #[test]
        fn nobody_is_lost_nor_moves_beyond_its_band(
            tools in prop::collection::vec((tiers(), 0u8..200), 0..150)
        ) {
            let mut tools = tools;
            tools.sort_by_key(|(_, score)| Reverse(*score));
            let scores: Vec<f32> = tools.iter().map(|(_, s)| f32::from(*s) / 1000.0).collect();
            let texts: Vec<&str> = tools.iter().map(|(tiers, _)| tiers.as_str()).collect();
            let rows = arranged(&texts, &scores);
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..tools.len() as u32).collect::<Vec<_>>());
            prop_assert_eq!(&rows, &arranged(&texts, &scores));
            for (place, &row) in rows.iter().enumerate() {
                let row = row as usize;
                prop_assert!((scores[row] - scores[place]).abs() <= 0.021);
                if texts[row] == "-/-/-" {
                    prop_assert_eq!(place, row);
                }
            }
        }

        #[test]
        fn what_everybody_declares_gives_the_order_of_the_policy(
            costs in prop::collection::vec(0usize..3, 1..30)
        ) {
            let tiers: Vec<&str> = costs.iter().map(|at| ["h/t/5", "h/l/5", "h/h/5"][*at]).collect();
            let rows = arranged(&tiers, &vec![0.5; tiers.len()]);
            prop_assert!(rows.is_sorted_by_key(|row| (costs[*row as usize], *row)));
        }
    }
}
