//! Measures how well prompts that no tool serves are distinguished from those that a tool serves.
//!
//! An answer has a confidence. Prompts with a low confidence are turned away. A good confidence
//! turns away many prompts that no tool serves, and few of the others.

use serde::Serialize;

use super::bootstrap::{Interval, RESAMPLES, Resampled, SplitMix64};
use toolroute_rank::engine::{Fit, Selection};

/// The share of the prompts that a tool serves which may be turned away by mistake.
const FALSE_ABSTENTION: f64 = 0.03;

/// The judgement of an answer on its prompt as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// The evidence of the answer. Unlike the confidence, it is not rounded to 1 for a prompt that
    /// contains the name of a tool.
    confidence: Option<f32>,
    /// `None` if the model cannot judge the fit.
    fit: Option<Fit>,
}

impl Judged {
    pub(super) fn of(selection: &Selection) -> Self {
        Self { confidence: selection.evidence, fit: selection.confidence.map(|_| selection.fit) }
    }
}

/// Off-topic prompts compared with on-topic ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OffTopic {
    pub prompts: usize,
    /// The probability that an off-topic prompt has a lower confidence than an on-topic one. Ties
    /// count half.
    pub auroc: Interval,
    /// Share of off-topic prompts below the highest threshold that turns away at most 3 % of the
    /// on-topic ones.
    #[serde(rename = "turned_away_at_3%")]
    pub turned_away: Interval,
    /// That threshold. It is chosen on these prompts, so it performs worse on others.
    pub threshold: f64,
    /// Present if the engine says whether a tool fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<Abstention>,
}

/// How often an engine says that no tool fits, or that it is unsure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Abstention {
    /// Share of the on-topic prompts that it turns away.
    pub false_abstention: Interval,
    /// Share of the off-topic prompts that it turns away.
    pub turned_away: Interval,
    /// Share of the on-topic prompts whose answer is unsure.
    pub unsure_on_topic: Interval,
    /// Share of the off-topic prompts whose answer is unsure.
    pub unsure_off_topic: Interval,
}

impl Abstention {
    fn of(on: &[Judged], off: &[Judged], seed: &str) -> Option<Self> {
        let rates = |judged: &[Judged], side: &str| {
            let fits: Option<Vec<Fit>> = judged.iter().map(|judged| judged.fit).collect();
            let row = |fit| [Fit::None, Fit::Unsure].map(|kind| f64::from(fit == kind));
            let rows: Vec<[f64; 2]> = fits?.into_iter().map(row).collect();
            let resampled = Resampled::of_rows(&rows, &format!("{seed} {side}"));
            Some([0, 1].map(|at| resampled.interval(|values| values[at])))
        };
        let ([false_abstention, unsure_on_topic], [turned_away, unsure_off_topic]) =
            (rates(on, "on")?, rates(off, "off")?);
        Some(Self { false_abstention, turned_away, unsure_on_topic, unsure_off_topic })
    }
}

/// Compares two kinds of prompts; `None` if one kind is missing. [`Resampled::of_rows`] describes
/// `seed`.
pub(super) fn separate(on: &[Judged], off: &[Judged], seed: &str) -> Option<OffTopic> {
    if on.is_empty() || off.is_empty() {
        return None;
    }
    let groups = Groups::of(on, off);
    let observed = groups.walk(&groups.once);
    let mut random = SplitMix64::new(&format!("{seed} off-topic"));
    let drawn = (0..RESAMPLES).map(|_| {
        let walk = groups.walk(&groups.draw(&mut random));
        [walk.auroc, walk.turned_away]
    });
    let resampled = Resampled::new([observed.auroc, observed.turned_away], drawn.collect());
    Some(OffTopic {
        prompts: off.len(),
        auroc: resampled.interval(|values| values[0]),
        turned_away: resampled.interval(|values| values[1]),
        threshold: groups.values[observed.at],
        engine: Abstention::of(on, off, seed),
    })
}

/// The numbers of prompts on and off topic, for each confidence.
type Counts = Vec<[usize; 2]>;

/// The distinct confidences in ascending order. They are sorted once: a resample only changes the
/// counts.
struct Groups {
    values: Vec<f64>,
    once: Counts,
    /// The group of each prompt, for on-topic and off-topic prompts.
    places: [Vec<usize>; 2],
}

struct Walk {
    auroc: f64,
    turned_away: f64,
    /// The group whose value is the threshold.
    at: usize,
}

impl Groups {
    fn of(on: &[Judged], off: &[Judged]) -> Self {
        let number = |judged: &Judged| judged.confidence.map_or(f64::NEG_INFINITY, f64::from);
        let mut values: Vec<f64> = on.iter().chain(off).map(number).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let group = |found| values.partition_point(|value| value.total_cmp(&number(found)).is_lt());
        let places = [on.iter().map(group).collect(), off.iter().map(group).collect()];
        let mut groups = Self { once: Vec::new(), places, values };
        groups.once = groups.count(|_, place| place);
        groups
    }

    fn draw(&self, random: &mut SplitMix64) -> Counts {
        self.count(|side, _| self.places[side][random.below(self.places[side].len())])
    }

    fn count(&self, mut place: impl FnMut(usize, usize) -> usize) -> Counts {
        let mut counts = vec![[0; 2]; self.values.len()];
        for side in [0, 1] {
            for &own in &self.places[side] {
                counts[place(side, own)][side] += 1;
            }
        }
        counts
    }

    /// Walks through the confidences in ascending order.
    fn walk(&self, counts: &[[usize; 2]]) -> Walk {
        let [on, off] = [0, 1].map(|side| self.places[side].len());
        let allowed = (on as f64 * FALSE_ABSTENTION) as usize;
        let (mut below, mut wins) = ([0; 2], 0.0);
        let mut found = None;
        for (at, group) in counts.iter().enumerate() {
            if found.is_none() && below[0] + group[0] > allowed {
                found = Some((at, below[1]));
            }
            wins += group[0] as f64 * (below[1] as f64 + group[1] as f64 / 2.0);
            below = [below[0] + group[0], below[1] + group[1]];
        }
        // Fewer prompts may be turned away than there are, so the walk always passes the threshold.
        let (at, turned_away) = found.unwrap_or((counts.len() - 1, off));
        let (on, off) = (on as f64, off as f64);
        Walk { auroc: wins / (on * off), turned_away: turned_away as f64 / off, at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(on: &[f32], off: &[f32]) -> OffTopic {
        let all =
            |values: &[f32]| values.iter().map(|value| judged(Some(*value))).collect::<Vec<_>>();
        separate(&all(on), &all(off), "a").unwrap()
    }

    fn judged(confidence: Option<f32>) -> Judged {
        Judged { confidence, fit: None }
    }

    #[test]
    fn values_worked_out_by_hand() {
        let apart = of(&[0.8, 0.9], &[0.1, 0.2]);
        assert_eq!((apart.auroc.mean, apart.turned_away.mean), (1.0, 1.0));
        assert_eq!((apart.auroc.low, apart.prompts), (1.0, 2));
        assert!((apart.threshold - 0.8).abs() < 1e-6);
        let turned = of(&[0.1, 0.2], &[0.8, 0.9]);
        assert_eq!((turned.auroc.mean, turned.turned_away.mean), (0.0, 0.0));
        // Pairs (on, off): 0.5 beats 0.4 and ties with 0.5; 0.7 beats both.
        assert_eq!(of(&[0.5, 0.7], &[0.4, 0.5]).auroc.mean, 3.5 / 4.0);
        assert_eq!(of(&[0.5; 9], &[0.5; 4]).auroc.mean, 0.5);
    }

    #[test]
    fn at_most_3_of_100_are_turned_away_by_mistake_and_ties_count_as_one() {
        let on: Vec<f32> = (0..100u8).map(f32::from).collect();
        let off = [0.5, 2.5, 3.0, 3.5];
        let found = of(&on, &off);
        assert_eq!((found.threshold, found.turned_away.mean), (3.0, 0.5));
        // The three lowest may be turned away. Of four equal ones, all or none are turned away.
        let tied: Vec<f32> = on.iter().map(|value| value.max(3.0)).collect();
        assert_eq!(of(&tied, &off).turned_away.mean, 0.5);
        let tied: Vec<f32> = on.iter().map(|value| value.max(2.0)).collect();
        assert_eq!(of(&tied, &[1.0, 2.0, 2.5]).threshold, 3.0);
    }

    #[test]
    fn an_answer_without_a_tool_is_the_least_sure() {
        let (some, none) = (judged(Some(-1.0)), judged(None));
        let found = separate(&[some, none], &[none, none], "a").unwrap();
        assert_eq!(found.auroc.mean, 0.75);
        assert!(separate(&[], &[none], "a").is_none() && separate(&[none], &[], "a").is_none());
    }

    #[test]
    fn an_engine_that_abstains_by_itself_is_told_by_its_rates() {
        let says = |fit| Judged { confidence: Some(0.5), fit: Some(fit) };
        let (fits, unsure, none) = (says(Fit::Fits), says(Fit::Unsure), says(Fit::None));
        let (on, off) = ([fits, fits, fits, unsure], [none, none, none, unsure]);
        let engine = separate(&on, &off, "a").unwrap().engine.unwrap();
        assert_eq!((engine.false_abstention.mean, engine.turned_away.mean), (0.0, 0.75));
        assert_eq!((engine.unsure_on_topic.mean, engine.unsure_off_topic.mean), (0.25, 0.25));
        assert!(separate(&on, &[judged(None)], "a").unwrap().engine.is_none());
    }

    #[test]
    fn intervals_hold_the_mean() {
        let mut random = SplitMix64::new("x");
        let mut draw = |from: usize| (0..300).map(|_| (from + random.below(100)) as f32).collect();
        let (on, off): (Vec<f32>, Vec<f32>) = (draw(30), draw(0));
        let found = of(&on, &off);
        for interval in [found.auroc, found.turned_away] {
            assert!(interval.low < interval.mean && interval.mean < interval.high, "{found:?}");
        }
        assert_eq!(found, of(&on, &off));
    }
}
