//! Finds mistakes in what a tool declares for the conductor.

use super::condition::check_syntax;
use super::obligation::check_type;
use toolroute_catalog::{Problem, Severity, Tool};

/// Returns a warning for each obligation in `satisfies` that is none, and for each precondition and
/// postcondition that cannot be parsed. The conductor never takes a tool for the former, and a
/// condition that cannot be parsed never holds.
#[doc(hidden)] // For our own crates.
pub fn declaration_warnings(tool: &Tool) -> Vec<Problem> {
    let of = |field: &str, expected: &str, found: String, cure: &str| {
        let mut problem = Problem::new(Severity::Warning, expected, found, cure);
        (problem.tool, problem.field) = (Some(tool.id.to_string()), Some(field.to_owned()));
        problem
    };
    let kind = "an obligation such as REPORT(query.math), or its kind alone";
    let cure = "correct it; until then the tool satisfies nothing by it";
    let satisfies = tool.satisfies.iter().filter(|text| check_type(text).is_err());
    let mut problems: Vec<Problem> =
        satisfies.map(|text| of("satisfies", kind, format!("`{text}`"), cure)).collect();
    let conditions =
        [("preconditions", &tool.preconditions), ("postconditions", &tool.postconditions)];
    for (field, conditions) in conditions {
        for condition in conditions {
            if let Err(why) = check_syntax(condition) {
                let why = why.lines().next().unwrap_or_default();
                let found = format!("`{condition}`: {why}");
                let cure = "correct it; until then it does not hold";
                problems.push(of(field, "a name or a condition in CEL", found, cure));
            }
        }
    }
    problems
}
