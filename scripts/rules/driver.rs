//! Answers all prompts once with all rules, and those that reach a rule again without it.
//!
//! rules ROWS.json RULES FIRST STEP: one JSON value a line, first all answers, then for each rule
//! FIRST, FIRST + STEP, ... below RULES how many prompts reach it and the answers that change.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};
use toolroute_lab::answers::Prompts;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let prompts = Prompts::read(&std::fs::read_to_string(&arguments[1])?)?;
    let number = |at: usize| arguments[at].parse::<usize>();
    let (rules, first, step) = (number(2)?, number(3)?, number(4)?);
    // The first round fills the tables that are made when they are first needed.
    (0..prompts.len()).for_each(|row| drop(prompts.answer(row)));
    let mut reaching: Vec<Vec<usize>> = vec![Vec::new(); rules];
    let mut answers = Vec::new();
    for row in 0..prompts.len() {
        switches::REACHED.iter().for_each(|reached| reached.store(false, Relaxed));
        answers.push(prompts.answer(row));
        for (rows, reached) in reaching.iter_mut().zip(&switches::REACHED) {
            rows.extend(reached.load(Relaxed).then_some(row));
        }
    }
    println!("{}", json!(answers));
    set_hook(Box::new(|_| {}));
    for rule in (first..rules).step_by(step) {
        switches::OFF.store(rule as u32, Relaxed);
        let answer = |row: &usize| {
            let now = catch_unwind(AssertUnwindSafe(|| prompts.answer(*row)));
            (*row, now.unwrap_or_else(|_| json!({"asked": "panic"})))
        };
        let changed: Vec<(usize, Value)> =
            reaching[rule].iter().map(answer).filter(|(row, now)| *now != answers[*row]).collect();
        println!("{}", json!({"rule": rule, "reached": reaching[rule].len(), "changed": changed}));
    }
    Ok(())
}
