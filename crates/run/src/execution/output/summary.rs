//! Summaries of answers that are too long.

use super::text;

/// Scores each text by its similarity to a question; one number for each text.
type Score = dyn Fn(&str, &[&str]) -> Option<Vec<f32>> + Send + Sync;

/// A summarizer that keeps the sentences nearest to the question, in their order. It adds no words
/// of its own.
pub struct Extractive {
    score: Box<Score>,
}

/// The most sentences that are scored, because a summary must not take longer than the call.
const MOST_SENTENCES: usize = 400;

const GAP: &str = " … ";

impl Extractive {
    /// Creates a summarizer from a function that scores sentences, for example by the cosine of
    /// their embeddings.
    pub fn new(score: impl Fn(&str, &[&str]) -> Option<Vec<f32>> + Send + Sync + 'static) -> Self {
        Self { score: Box::new(score) }
    }

    /// Summarises what the text says about the question in at most `most_chars` characters; `None`
    /// if that fails.
    pub fn summarize(&self, text: &str, question: &str, most_chars: usize) -> Option<String> {
        let mut sentences = text::sentences(text);
        sentences.truncate(MOST_SENTENCES);
        let scores = (self.score)(question, &sentences)?;
        if scores.len() != sentences.len() {
            return None;
        }
        let mut order: Vec<usize> = (0..sentences.len()).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
        let (mut kept, mut used) = (Vec::new(), 0);
        for at in order {
            let gap = if kept.is_empty() { 0 } else { GAP.chars().count() };
            let length = sentences[at].chars().count() + gap;
            if used + length <= most_chars {
                used += length;
                kept.push(at);
            }
        }
        kept.sort_unstable();
        let mut summary = String::new();
        for (nth, at) in kept.iter().enumerate() {
            summary.push_str(match nth.checked_sub(1).map(|before| kept[before] + 1 == *at) {
                None => "",
                Some(true) => " ",
                Some(false) => GAP,
            });
            summary.push_str(sentences[*at]);
        }
        (!summary.is_empty()).then_some(summary)
    }
}
