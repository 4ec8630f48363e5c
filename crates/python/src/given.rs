//! Tools that Python gave, one text for each object.

use std::fmt::Display;

use rayon::prelude::*;
use toolroute::catalog::Error;
use toolroute::{Catalog, Tool};
use toolroute_catalog::Problem;

/// Reads the tools of JSON texts, each separately. Returns those of each text, and the problems of
/// the others.
pub fn read_tools(texts: &[String]) -> (Vec<Vec<Tool>>, Vec<String>) {
    let read = |(place, text): (usize, &String)| {
        if text.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let at = |problem: &dyn Display| format!("tools[{place}]: {problem}");
        match Catalog::read(&format!("[{text}]")) {
            Err(Error::Unrecognised { problem }) => (Vec::new(), vec![at(&problem)]),
            Err(error) => (Vec::new(), vec![at(&error)]),
            Ok(loaded) => {
                let problems = loaded.problems.iter().filter(|problem| problem.is_error());
                let problems = problems.map(|problem| at(problem)).collect();
                (loaded.catalog.iter().cloned().collect(), problems)
            }
        }
    };
    let read: Vec<(Vec<Tool>, Vec<String>)> = texts.par_iter().enumerate().map(read).collect();
    let (tools, problems): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    (tools, problems.into_iter().flatten().collect())
}

/// A problem of a loaded catalog, with the places of the given tools if several have its id.
pub fn placed(problem: &Problem, given: &[Vec<Tool>]) -> String {
    let id = problem.tool.as_deref().filter(|_| problem.field.as_deref() == Some("id"));
    let has_id = |tools: &[Tool]| tools.iter().any(|tool| Some(tool.id.as_str()) == id);
    let places = (0..).zip(given).filter(|(_, tools)| has_id(tools));
    let places: Vec<String> =
        places.map(|(place, _): (usize, _)| format!("tools[{place}]")).collect();
    match &places[..] {
        [_, _, ..] => format!("{}: {problem}", places.join(", ")),
        _ => problem.to_string(),
    }
}
