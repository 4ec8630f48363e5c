//! Deterministic logistic regression of outcomes on signals.
//!
//! It uses projected gradient descent with the step size that the bound on the curvature allows: it
//! cannot diverge, needs no matrix, and keeps weights non-negative. A few signals and a thousand
//! rows take a few milliseconds.

/// One outcome and the signals of the tool that ran.
pub(super) struct Outcome {
    /// Centred: each signal minus its mean.
    pub signals: Vec<f64>,
    pub success: bool,
    /// The credibility of the execution.
    pub weight: f64,
}

/// The slope of success over a score.
pub(super) struct Slope {
    pub value: f64,
    /// Log loss per run.
    pub loss: f64,
}

const STEPS: usize = 1_000;

/// The strength of the pull towards the current weights: a normal prior with a standard deviation
/// of 1. A run counts about a fiftieth of it, so a few outcomes hardly change the weights.
const PULL: f64 = 1.0;

/// The strength of the pull of a slope towards 0. Without it, perfectly separable outcomes have no
/// finite slope.
const SLOPE_PULL: f64 = 0.01;

/// The minimum slope, so that signals without information stay near their current weights.
const LEAST_SLOPE: f64 = 1.0;

/// Returns the non-negative weights near `prior` that make the outcomes most likely.
pub(super) fn fit(samples: &[Outcome], prior: &[f64]) -> Vec<f64> {
    let (_, weights) = descend(samples, prior, PULL);
    weights
}

/// Returns the best slope of a score with these weights, and how well it separates the outcomes.
pub(super) fn slope(samples: &[Outcome], weights: &[f64]) -> Slope {
    let score = |sample: &Outcome| {
        let sum = sample.signals.iter().zip(weights).map(|(signal, weight)| signal * weight);
        let signals = vec![sum.sum()];
        Outcome { signals, success: sample.success, weight: sample.weight }
    };
    let scored: Vec<Outcome> = samples.iter().map(score).collect();
    let (bias, slope) = descend(&scored, &[0.0], SLOPE_PULL);
    Slope { value: slope[0].max(LEAST_SLOPE), loss: loss(&scored, bias, &slope) }
}

fn descend(samples: &[Outcome], prior: &[f64], pull: f64) -> (f64, Vec<f64>) {
    let runs: f64 = samples.iter().map(|sample| sample.weight).sum();
    // The curvature of a logistic loss is at most a quarter of the sum of squares.
    let square =
        |sample: &Outcome| sample.signals.iter().map(|signal| signal * signal).sum::<f64>();
    let squares: f64 = samples.iter().map(|s| s.weight * (1.0 + square(s))).sum();
    let rate = 1.0 / (0.25 * squares + pull).max(f64::MIN_POSITIVE);
    let good: f64 = samples.iter().filter(|s| s.success).map(|s| s.weight).sum();
    let share = ((good + 0.5) / (runs + 1.0)).clamp(1e-6, 1.0 - 1e-6);
    let (mut bias, mut weights) = (libm::log(share / (1.0 - share)), prior.to_vec());
    // Nesterov's momentum, because plain descent would need many more steps.
    let (mut ahead_bias, mut ahead) = (bias, weights.clone());
    for step in 0..STEPS {
        let (of_bias, of_weights) = gradient(samples, ahead_bias, &ahead);
        let momentum = step as f64 / (step as f64 + 3.0);
        let next = ahead_bias - rate * of_bias;
        (ahead_bias, bias) = (next + momentum * (next - bias), next);
        for (at, weight) in weights.iter_mut().enumerate() {
            let pulled = of_weights[at] + pull * (ahead[at] - prior[at]);
            let next = (ahead[at] - rate * pulled).max(0.0);
            (ahead[at], *weight) = (next + momentum * (next - *weight), next);
        }
    }
    (bias, weights)
}

fn gradient(samples: &[Outcome], bias: f64, weights: &[f64]) -> (f64, Vec<f64>) {
    let (mut of_bias, mut of_weights) = (0.0, vec![0.0; weights.len()]);
    for sample in samples {
        let off =
            sample.weight * (chance(sample, bias, weights) - f64::from(u8::from(sample.success)));
        of_bias += off;
        for (sum, signal) in of_weights.iter_mut().zip(&sample.signals) {
            *sum += off * signal;
        }
    }
    (of_bias, of_weights)
}

fn chance(sample: &Outcome, bias: f64, weights: &[f64]) -> f64 {
    let sum = sample.signals.iter().zip(weights).map(|(signal, weight)| signal * weight);
    1.0 / (1.0 + libm::exp(-(bias + sum.sum::<f64>())))
}

fn loss(samples: &[Outcome], bias: f64, weights: &[f64]) -> f64 {
    let (mut sum, mut runs) = (0.0, 0.0);
    for sample in samples {
        let chance = chance(sample, bias, weights).clamp(1e-12, 1.0 - 1e-12);
        sum -= sample.weight * libm::log(if sample.success { chance } else { 1.0 - chance });
        runs += sample.weight;
    }
    if runs > 0.0 { sum / runs } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_relation_is_found() {
        // Success follows the first signal with a slope of 3 and does not depend on the second.
        let mut samples = Vec::new();
        for n in 0..400u32 {
            let first = f64::from(n % 20) / 20.0 - 0.475;
            let second = f64::from(n / 20 % 2) - 0.5;
            let chance = 1.0 / (1.0 + (-3.0 * first).exp());
            for (success, weight) in [(true, chance), (false, 1.0 - chance)] {
                samples.push(Outcome { signals: vec![first, second], success, weight });
            }
        }
        let found = fit(&samples, &[0.0, 0.0]);
        assert!((2.3..3.0).contains(&found[0]), "pulled a little towards 0: {found:?}");
        assert!(found[1] < 1e-6, "{found:?}");
        let right = slope(&samples, &[1.0, 0.0]);
        assert!((right.value - 3.0).abs() < 0.05 && right.loss < slope(&samples, &[0.0, 1.0]).loss);
    }

    #[test]
    fn outcomes_without_error_stay_finite() {
        let sample = |n: usize| Outcome {
            signals: vec![if n.is_multiple_of(2) { 0.5 } else { -0.5 }],
            success: n.is_multiple_of(2),
            weight: 1.0,
        };
        let samples: Vec<Outcome> = (0..100).map(sample).collect();
        let found = slope(&samples, &[1.0]);
        assert!(found.value.is_finite() && found.loss < 0.1, "{}", found.value);
        assert!(fit(&samples, &[1.0]).iter().all(|weight| weight.is_finite() && *weight > 1.0));
    }
}
