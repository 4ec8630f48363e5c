//! Checks whether a tool's `satisfies` covers an obligation.

/// The duties, which may be written without a kind. Any other bare word is the kind of a report.
const DUTIES: [&str; 5] = ["REPORT", "VERIFY", "CLARIFY", "DISCOVER_OP", "JUSTIFY"];

/// Returns `true` if an entry of `satisfies` covers the type of an obligation.
///
/// The entry must be the same or more general: `REPORT` covers every `REPORT(…)`, and
/// `REPORT(query.math)` covers only itself. A tool for one kind therefore never serves a request
/// without a kind. A bare kind, `query.math`, means `REPORT(query.math)`.
pub fn covers(declared: &str, asked: &str) -> bool {
    let (declared, asked) = (parts(declared), parts(asked));
    let same_duty = declared.0.eq_ignore_ascii_case(asked.0);
    same_duty && declared.1.is_none_or(|kind| asked.1 == Some(kind))
}

/// Returns the duty of an obligation's type, and its kind if it has one.
fn parts(obligation: &str) -> (&str, Option<&str>) {
    let obligation = obligation.trim();
    match obligation.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((duty, kind)) if kind.trim().is_empty() => (duty.trim(), None),
        Some((duty, kind)) => (duty.trim(), Some(kind.trim())),
        None if DUTIES.iter().any(|duty| duty.eq_ignore_ascii_case(obligation)) => {
            (obligation, None)
        }
        None => (DUTIES[0], Some(obligation)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_covers_what_is_the_same_or_narrower() {
        for (declared, asked, yes) in [
            ("REPORT", "REPORT(query.math)", true),
            ("REPORT()", "REPORT(query.math)", true),
            ("REPORT", "REPORT", true),
            ("REPORT(query.math)", "REPORT", false),
            ("REPORT(query.math)", "report( query.math )", true),
            ("REPORT(query.math)", "REPORT(query.people)", false),
            ("REPORT(query)", "REPORT(query.math)", false),
            ("query.math", "REPORT(query.math)", true),
            ("REPORT(query.math)", "query.math", true),
            ("query.math", "query.math", true),
            ("query.math", "VERIFY(query.math)", false),
            ("query.math", "REPORT", false),
            ("REPORT", "VERIFY", false),
            ("VERIFY", "VERIFY(fact)", true),
        ] {
            assert_eq!(covers(declared, asked), yes, "{declared} for {asked}");
        }
    }
}
