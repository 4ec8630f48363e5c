//! Labels a vector by its similarity to the vectors of labelled examples.

use super::Error;
use crate::index::dot;

/// The label that a classifier gives a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guess<L> {
    /// `None` if the vector resembles the examples without a label, or no class clearly.
    pub label: Option<L>,
    /// The probability of the label, or of its absence: 0 to 1.
    pub confidence: f32,
}

/// A nearest-centroid classifier. Examples without a label are a class of their own: a vector like
/// them gets no label.
///
/// A class is the mean direction of its examples, relative to the mean of all examples. The caller
/// makes the vectors; the classifier knows no model.
///
/// ```
/// use toolroute_rank::query::Classifier;
///
/// let labels = vec![Some("red"), Some("blue"), None];
/// let vectors = vec![1.0, 0.0, 0.0, 1.0, -0.7, -0.7];
/// let colours = Classifier::new(labels, vectors, 2)?;
/// assert_eq!(colours.classify(&[0.9, 0.1]).label, Some("red"));
/// assert_eq!(colours.classify(&[-0.6, -0.8]).label, None);
/// # Ok::<(), toolroute_rank::query::Error>(())
/// ```
pub struct Classifier<L> {
    /// In the order of their first example.
    classes: Vec<Option<L>>,
    /// The mean of all examples.
    middle: Vec<f32>,
    /// Unit vectors, one row per class.
    directions: Vec<f32>,
}

/// Factor on the cosines before the softmax. Among 4, 6, 8, 10, 12, 16, 20, 25 and 30 it has the
/// smallest log loss in cross-validation over both lists of examples.
const SHARPNESS: f32 = 16.0;

/// Below this confidence a vector gets no label.
const LEAST_CONFIDENCE: f32 = 0.3;

impl<L: Copy + PartialEq> Classifier<L> {
    /// Learns from examples: one label each, and their vectors in one flat list of
    /// `labels.len() * dimension` numbers.
    ///
    /// # Errors
    /// [`Error::BadExamples`] if labels and vectors differ in number, if there are none, or if a number
    /// is not finite.
    pub fn new(labels: Vec<Option<L>>, vectors: Vec<f32>, dimension: usize) -> Result<Self, Error> {
        let (expected, found) = (labels.len(), vectors.len());
        let whole = expected > 0 && dimension > 0 && found == expected * dimension;
        if !whole || vectors.iter().any(|number| !number.is_finite()) {
            return Err(Error::BadExamples { expected, dimension, found });
        }
        let mut classes: Vec<Option<L>> = Vec::new();
        for label in &labels {
            if !classes.contains(label) {
                classes.push(*label);
            }
        }
        let rows = || labels.iter().zip(vectors.chunks_exact(dimension));
        let middle = mean(rows().map(|(_, row)| row), dimension);
        let direction = |class: &Option<L>| {
            let own = rows().filter(|(label, _)| *label == class).map(|(_, row)| row);
            from_middle(&mean(own, dimension), &middle)
        };
        let directions = classes.iter().flat_map(direction).collect();
        Ok(Self { classes, middle, directions })
    }

    /// Classifies a vector. A vector of a different dimension gets no label.
    pub fn classify(&self, vector: &[f32]) -> Guess<L> {
        if vector.len() != self.middle.len() {
            return Guess { label: None, confidence: 0.0 };
        }
        let vector = from_middle(vector, &self.middle);
        let rows = self.directions.chunks_exact(vector.len());
        let odds: Vec<f32> = rows.map(|row| libm::expf(dot(row, &vector) * SHARPNESS)).collect();
        let all: f32 = odds.iter().sum();
        let best = odds.iter().zip(&self.classes).max_by(|a, b| a.0.total_cmp(b.0));
        let Some((odds, label)) = best else { return Guess { label: None, confidence: 0.0 } };
        let confidence = odds / all;
        Guess { label: label.filter(|_| confidence >= LEAST_CONFIDENCE), confidence }
    }
}

fn mean<'a>(rows: impl Iterator<Item = &'a [f32]>, dimension: usize) -> Vec<f32> {
    let (mut sum, mut count) = (vec![0.0; dimension], 0.0);
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        count += 1.0;
    }
    sum.iter_mut().for_each(|sum| *sum /= f32::max(count, 1.0));
    sum
}

/// Returns the unit vector from `middle` to `vector`; zeros if both are equal.
fn from_middle(vector: &[f32], middle: &[f32]) -> Vec<f32> {
    let mut away: Vec<f32> = vector.iter().zip(middle).map(|(x, middle)| x - middle).collect();
    let length = dot(&away, &away).sqrt();
    if length > 0.0 {
        away.iter_mut().for_each(|x| *x /= length);
    }
    away
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn examples_that_do_not_fit_are_refused() {
        let refused = |labels: Vec<Option<u8>>, vectors: Vec<f32>, dimension| {
            let made = Classifier::new(labels, vectors, dimension);
            assert!(matches!(made, Err(Error::BadExamples { .. })));
        };
        refused(vec![], vec![], 2);
        refused(vec![Some(1)], vec![1.0], 2);
        refused(vec![Some(1)], vec![], 0);
        refused(vec![Some(1)], vec![f32::NAN], 1);
    }

    #[test]
    fn a_vector_of_another_model_gets_no_label() {
        let one = Classifier::new(vec![Some(1)], vec![1.0, 0.0], 2).unwrap();
        assert_eq!(one.classify(&[1.0]), Guess { label: None, confidence: 0.0 });
        assert_eq!(one.classify(&[1.0, 0.0]), Guess { label: Some(1), confidence: 1.0 });
    }

    proptest! {
        #[test]
        fn a_guess_is_a_likelihood_and_the_same_again(
            labels in prop::collection::vec(prop::option::of(0u8..4), 1..20),
            numbers in prop::collection::vec(-1.0f32..1.0, 60 + 3),
        ) {
            let vectors = numbers[..labels.len() * 3].to_vec();
            let learned = Classifier::new(labels.clone(), vectors.clone(), 3).unwrap();
            let guess = learned.classify(&numbers[60..]);
            prop_assert!((0.0..=1.0001).contains(&guess.confidence), "{guess:?}");
            prop_assert!(guess.label.is_none() || labels.contains(&guess.label));
            let again = Classifier::new(labels, vectors, 3).unwrap();
            prop_assert_eq!(again.classify(&numbers[60..]), guess);
        }
    }
}
