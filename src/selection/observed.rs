//! What was seen of a tool's runs, and how far it moves what its author declared.

use serde::{Deserialize, Serialize};

use crate::catalog::{LatencyTier, Reliability};

/// What was seen of a tool's runs. Whoever keeps the log fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    pub runs: u32,
    /// The share of runs that went well, 0 to 1.
    pub rate: f32,
    /// The lower confidence bound of the rate, such as Wilson's.
    pub lower_bound: f32,
    /// A running mean of the latency, in milliseconds.
    pub latency_ms: Option<f32>,
}

/// Runs that stand for "nobody knows": so many imagined ones, half of which went well, are added.
const PRIOR: f32 = 5.0;

/// Fewer runs than these do not move a declared tier.
const ENOUGH: u32 = 10;

/// Lower bounds from which a tool counts as highly and fairly reliable.
const HIGH: f32 = 0.85;
const MEDIUM: f32 = 0.5;

impl Observed {
    /// Counts of runs, with Wilson's lower bound at 95 %.
    pub fn from_counts(successes: u32, runs: u32, latency_ms: Option<f32>) -> Self {
        if runs == 0 {
            return Self { latency_ms, ..Self::default() };
        }
        const Z: f32 = 1.96;
        let (n, rate) = (runs as f32, successes.min(runs) as f32 / runs as f32);
        let centre = rate + Z * Z / (2.0 * n);
        let spread = Z * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        let lower_bound = ((centre - spread) / (1.0 + Z * Z / n)).clamp(0.0, 1.0);
        Self { runs, rate, lower_bound, latency_ms }
    }

    /// The rate drawn towards a half, all the more the fewer the runs: one failure makes 0.42.
    pub fn shrunk_rate(&self) -> f32 {
        let n = self.runs as f32;
        ((self.rate * n + 0.5 * PRIOR) / (n + PRIOR)).clamp(0.0, 1.0)
    }

    /// The reliability that counts: what is declared, moved by at most one tier, and only after ten
    /// runs. So one failure never buries a tool, and no streak makes a declared low a high.
    pub fn reliability(seen: Option<&Self>, declared: Option<Reliability>) -> Reliability {
        let declared = declared.unwrap_or(Reliability::Medium);
        let Some(seen) = seen.filter(|seen| seen.runs >= ENOUGH) else { return declared };
        let found = match seen.lower_bound {
            bound if bound >= HIGH => Reliability::High,
            bound if bound >= MEDIUM => Reliability::Medium,
            _ => Reliability::Low,
        };
        match declared {
            Reliability::High => found.max(Reliability::Medium),
            Reliability::Medium => found,
            Reliability::Low => found.min(Reliability::Medium),
        }
    }

    /// The latency that counts, in milliseconds: what was seen after three runs, else `declared`;
    /// never more than four times above or below it, so that one hanging call does not decide.
    pub fn latency(seen: Option<&Self>, declared: Option<u64>) -> Option<f32> {
        const RUNS: u32 = 3;
        const FACTOR: f32 = 4.0;
        let declared = declared.map(|ms| ms as f32);
        let found = seen.filter(|seen| seen.runs >= RUNS).and_then(|seen| seen.latency_ms);
        match (found, declared) {
            (Some(found), Some(ms)) => {
                let ms = ms.max(1.0);
                Some(found.clamp(ms / FACTOR, ms * FACTOR))
            }
            (found, declared) => found.or(declared),
        }
    }

    /// The tier of the latency that was seen.
    pub fn latency_tier(&self) -> Option<LatencyTier> {
        let ms = Self::latency(Some(self), None)?;
        Some(LatencyTier::from_ms(ms.max(0.0) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_never_buries_a_tool() {
        let failed = Observed::from_counts(0, 1, Some(90_000.0));
        assert!(failed.shrunk_rate() > 0.4);
        for declared in [Reliability::Low, Reliability::Medium, Reliability::High] {
            assert_eq!(Observed::reliability(Some(&failed), Some(declared)), declared);
        }
        assert_eq!(Observed::latency(Some(&failed), Some(200)), Some(200.0));
        let hopeless = Observed::from_counts(0, 1_000, Some(90_000.0));
        let found = Observed::reliability(Some(&hopeless), Some(Reliability::High));
        assert_eq!(found, Reliability::Medium);
        assert_eq!(Observed::latency(Some(&hopeless), Some(200)), Some(800.0));
    }

    #[test]
    fn the_bound_is_wilsons() {
        // 45 of 50, from Wilson's formula at z = 1.96.
        let seen = Observed::from_counts(45, 50, None);
        assert!((seen.lower_bound - 0.7864).abs() < 1e-3, "{}", seen.lower_bound);
        assert_eq!(Observed::from_counts(0, 0, None).lower_bound, 0.0);
        assert_eq!(Observed::default().shrunk_rate(), 0.5);
    }
}
