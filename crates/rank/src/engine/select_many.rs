//! Answers many prompts at once: they are embedded together and compared with the catalog in
//! groups.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::Error;
use super::candidate_scorer::read_as;
use super::request::{SelectRequest, Selection};
use super::select::{PromptVectors, ReadRequest};
use super::state::State;
use crate::embedding::Role;
use crate::query::Reading;

/// Number of prompts that are compared with the catalog together. Reading the vectors of a large
/// catalog from memory takes longer than the products of one prompt. The scores take 170 KB per
/// prompt over 42,820 tools.
const GROUP: usize = 16;

impl State {
    pub fn select_many(&self, requests: &[SelectRequest]) -> Vec<Result<Selection, Error>> {
        let readings: Vec<Result<Reading, Error>> =
            requests.par_iter().map(|request| self.read(request)).collect();
        let read = requests.iter().zip(&readings);
        let read = read.filter_map(|(request, reading)| Some((request, reading.as_ref().ok()?)));
        let mut answers = self.select_many_read(&read.collect::<Vec<_>>()).into_iter();
        let answer = |(request, reading): (&SelectRequest, Result<Reading, Error>)| {
            let reading = reading?;
            let answer =
                answers.next().expect("each prompt that was read is answered. This is a bug.");
            let read_as = read_as(request, &reading);
            Ok(Selection { read_as, left_out: reading.left_out, ..answer? })
        };
        requests.iter().zip(readings).map(answer).collect()
    }

    /// The same as [`State::select_many`] for prompts that are already read.
    fn select_many_read(&self, requests: &[ReadRequest<'_>]) -> Vec<Result<Selection, Error>> {
        let texts = requests.par_iter().map(|(request, reading)| match self.effective(request) {
            Ok((strategy, ..)) if strategy.needs_vector() => {
                self.texts(reading, strategy).collect()
            }
            _ => Vec::new(),
        });
        let texts: Vec<Vec<&str>> = texts.collect();
        let (all, places) = distinct(texts.iter().flatten().copied());
        let start = Instant::now();
        let embedded = match &self.embedder {
            Some(embedder) if !all.is_empty() => embedder.embed(&all, Role::Query),
            _ => return requests.par_iter().map(|one| self.select_read(*one)).collect(),
        };
        let Ok(embedded) = embedded else {
            // One text may have failed the batch: each request gets its own answer or its own error.
            return requests.par_iter().map(|one| self.select_read(*one)).collect();
        };
        let share = |time: Duration| time / u32::try_from(all.len()).unwrap_or(u32::MAX);
        let (tokenize, whole) = (share(embedded.tokenize), share(start.elapsed()));
        let width = embedded.vectors.ncols();
        let row = |place: &usize| embedded.vectors.row(*place).to_vec();
        let vectors: Vec<f32> = places.iter().flat_map(row).collect();
        let mut rest = vectors.as_slice();
        let mut prompts = Vec::with_capacity(requests.len());
        for texts in texts.iter().map(Vec::len) {
            let (vectors, after) = rest.split_at(texts * width);
            rest = after;
            let (tokenize, whole) = (tokenize * texts as u32, whole * texts as u32);
            let embed = whole.saturating_sub(tokenize);
            prompts.push(PromptVectors { vectors, cosines: &[], tokenize, embed });
        }
        let group = (requests.len() / (4 * rayon::current_num_threads())).clamp(1, GROUP);
        let groups = requests.par_chunks(group).zip(prompts.par_chunks(group));
        groups.flat_map_iter(|(requests, prompts)| self.answer_group(requests, prompts)).collect()
    }

    fn answer_group(
        &self,
        requests: &[ReadRequest<'_>],
        prompts: &[PromptVectors<'_>],
    ) -> Vec<Result<Selection, Error>> {
        let prompts = requests.iter().zip(prompts);
        let takes_all = |(request, _): &ReadRequest<'_>| request.candidates.is_none();
        let compared = prompts.clone().filter(|(request, _)| takes_all(request));
        let compared =
            compared.flat_map(|(_, prompt)| prompt.vectors.chunks_exact(self.dims().max(1)));
        let cosines = self.cosines(&compared.collect::<Vec<_>>());
        let mut rest = cosines.as_slice();
        let mut answers = Vec::with_capacity(requests.len());
        for (request, prompt) in prompts {
            let mut prompt = *prompt;
            if takes_all(request) && !rest.is_empty() {
                let vectors = prompt.vectors.len() / self.dims().max(1);
                (prompt.cosines, rest) = rest.split_at(vectors);
            }
            answers.push(self.answer(*request, prompt));
        }
        answers
    }

    /// Returns the cosines of vectors with all rows. Returns none if an approximate search finds
    /// the rows to compare, or if a vector is invalid; the answer to its prompt then has the error.
    fn cosines(&self, vectors: &[&[f32]]) -> Vec<Vec<f32>> {
        let search = self.search.as_ref().filter(|search| search.is_exact() && vectors.len() > 1);
        search.and_then(|search| search.score_many(vectors).ok()).unwrap_or_default()
    }
}

/// Returns the distinct texts, and the index of each text among them: an evaluation ranks one
/// prompt with several strategies.
fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, Vec<usize>) {
    let (mut all, mut known) = (Vec::new(), HashMap::new());
    let place = |text| {
        *known.entry(text).or_insert_with(|| {
            all.push(text);
            all.len() - 1
        })
    };
    let places = texts.map(place).collect();
    (all, places)
}
