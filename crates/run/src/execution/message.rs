//! The message to the caller when no tool answered.
//!
//! It contains no text from a server except tool names, addresses without spaces, and a short sentence
//! with which a tool itself says why it failed. Anything longer, and anything with the signs of code,
//! stands apart from it, in the attempt: an error may quote paths and code, or try to mislead the model
//! that reads it.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use regex::{Regex, RegexSet};
use serde_json::json;

use super::invoker::FaultKind;
use super::loop_guard::Exceeded;
use super::params::Clarification;
use super::report::{Attempt, Ending, Hint, Skip};
use super::timing::display_name;
use toolroute_catalog::Tool;

/// The patterns in the order of [`KINDS`].
static WORDS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r"(?i)not found|no such|does not exist|doesn't exist|unknown|enoent|\b404\b",
        r"(?i)permission|forbidden|denied|unauthori[sz]ed|credential|not allowed|\b40[13]\b|eacces",
        r"(?i)invalid|required|missing|must be|expected|malformed|validation|-32602|\b4(00|22)\b",
        r"(?i)rate limit|too many|quota|\b429\b|too large|exceed",
    ])
    .expect("the patterns are fixed and compile. This is a bug.")
});

const KINDS: [Hint; 4] = [Hint::NotFound, Hint::NotPermitted, Hint::BadInput, Hint::TooMuch];

/// Classifies a tool's own error text.
pub(super) fn hint(said: &str) -> Hint {
    // Only the beginning counts: a long traceback matches every pattern.
    let start: String = said.chars().take(400).collect();
    WORDS.matches(&start).iter().next().map_or(Hint::Other, |at| KINDS[at])
}

/// The signs of code and of raw errors: brackets, codes, names of exceptions, keys, paths, addresses.
static RAW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[\[\]{}<>=\\`|/@]|\b[A-Z_]{5,}\b|-32\d{3}\b|\w(?:Error|Exception)\b|(?i)traceback|\bline \d|[[:cntrl:]]|::")
        .expect("the pattern is fixed and compiles. This is a bug.")
});

/// The most characters of a tool's own words in a message.
const MOST_OWN_CHARS: usize = 120;

/// Returns what a tool says of its failure, if it is one short line in plain words.
fn own_words(attempt: &Attempt) -> Option<&str> {
    let Ending::ToolError { .. } = attempt.ending else { return None };
    let said = attempt.error_text.as_deref()?.trim();
    let is_plain = said.chars().any(char::is_alphabetic) && !RAW.is_match(said);
    (is_plain && said.chars().count() <= MOST_OWN_CHARS).then(|| said.trim_end_matches('.'))
}

pub(super) fn clarification(tool: &Tool, clarification: &Clarification) -> String {
    format!("{} cannot be called yet: {clarification}", display_name(tool))
}

pub(super) fn confirmation(tool: &Tool) -> String {
    format!("{} may change or delete something; it runs once you agree", display_name(tool))
}

/// A message about the attempts and about what to do next.
pub(super) fn failure(tools: &[&Tool], attempts: &[Attempt], log: Option<&Path>) -> String {
    let tool_of = |attempt: &Attempt| tools.iter().find(|tool| tool.id == attempt.tool);
    let name = |attempt: &Attempt| {
        let tool = tool_of(attempt);
        tool.map_or_else(|| attempt.tool.to_string(), |tool| display_name(tool))
    };
    let tried: Vec<String> = attempts
        .iter()
        .map(|attempt| {
            let own = own_words(attempt).map_or(String::new(), |said| format!(": \"{said}\""));
            format!("{} {}{own}", name(attempt), what(&attempt.ending))
        })
        .collect();
    let mut advice: Vec<String> = Vec::new();
    for attempt in attempts {
        let entry = match &attempt.ending {
            Ending::Skipped { because: Skip::NoServer } => tool_of(attempt).and_then(|t| entry(t)),
            _ => None,
        };
        let only_reads = tool_of(attempt).is_some_and(|tool| tool.effects().declares_reads_only());
        let is_told = attempt.ending == Ending::ToolError { hint: Hint::Other }
            && own_words(attempt).is_some();
        let advised = if is_told { "" } else { advise(&attempt.ending, only_reads) };
        let said = advised.to_owned() + &entry.unwrap_or_default();
        if !said.is_empty() && !advice.contains(&said) {
            advice.push(said);
        }
    }
    let ids: Vec<&str> = attempts.iter().flat_map(|a| &a.error_ids).map(String::as_str).collect();
    // A log that has no name here helps nobody.
    let log = match log {
        Some(log) if !ids.is_empty() => {
            format!(" Details are in {} under {}.", log.display(), ids.join(", "))
        }
        _ => String::new(),
    };
    let advice = advice.join(". ");
    let advice = if advice.is_empty() { advice } else { format!(" {advice}.") };
    format!("No answer: {}.{advice}{log}", tried.join("; "))
}

/// The longest address of a description that is repeated, in bytes.
const LONGEST_ADDRESS: usize = 200;

/// The entry of the servers file with which an API's operation can be called. Its address is that of
/// the description if it has a whole one.
fn entry(tool: &Tool) -> Option<String> {
    let (operation, server) = (tool.operation.as_ref()?, tool.server.as_ref()?);
    // An address without spaces says nothing to the model that reads it.
    let is_whole = |url: &&str| {
        (url.starts_with("https://") || url.starts_with("http://"))
            && url.len() <= LONGEST_ADDRESS
            && url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
    };
    let url = operation.server.as_deref().filter(is_whole).unwrap_or("https://ADDRESS");
    Some(format!(": {}: {}", json!(server), json!({"type": "openapi", "url": url})))
}

fn what(ending: &Ending) -> String {
    match ending {
        Ending::Answered => "answered".to_owned(),
        Ending::Empty => "found nothing".to_owned(),
        Ending::ToolError { hint } => match hint {
            Hint::NotFound => "did not find what was named",
            Hint::NotPermitted => "was not permitted to do it",
            Hint::BadInput => "could not use the input",
            Hint::TooMuch => "has done as much as it may for now",
            Hint::Other => "could not do it",
        }
        .to_owned(),
        Ending::Failed { fault } => fault.to_string(),
        Ending::Skipped { because } => skipped(because),
    }
}

fn skipped(because: &Skip) -> String {
    match because {
        Skip::Permission { verdict } => verdict.reason().to_owned(),
        Skip::BreakerOpen { for_ms } => {
            let seconds = Duration::from_millis(*for_ms).as_secs().max(1);
            format!("failed lately and is left alone for {seconds} s")
        }
        Skip::Parameters => "takes other input".to_owned(),
        Skip::Unchecked { because } => format!("was not called: {because}"),
        Skip::Refused { because } => format!("was not called, toolroute refused it: {because}"),
        Skip::NoServer => "has no server here".to_owned(),
        Skip::Limit { exceeded } => format!("was not called: {exceeded}"),
        Skip::WriteElsewhere => {
            "was left out, because the change may have been made already".to_owned()
        }
        Skip::Worse => "may change more than the requested tool".to_owned(),
    }
}

/// What to do after this ending of a tool that declares to only read, or of another.
fn advise(ending: &Ending, only_reads: bool) -> &'static str {
    match ending {
        Ending::Answered => "",
        Ending::Empty => "Ask more broadly, or with other words",
        Ending::ToolError { hint } => match hint {
            Hint::NotFound => "Check the name or path that was given",
            Hint::NotPermitted => "Check the credentials and rights of the tool's server",
            Hint::BadInput => "Say more exactly what is wanted, with full names, dates and units",
            Hint::TooMuch => "Try again in a few minutes",
            Hint::Other => "Put the question in another way",
        },
        Ending::Failed { fault } => match fault {
            FaultKind::Refused => "",
            FaultKind::Busy => "Try again in a few minutes",
            FaultKind::Timeout => "Ask for less at once, or try again later",
            FaultKind::Broken | FaultKind::ServerError if only_reads => "Try again later",
            FaultKind::Broken | FaultKind::ServerError => {
                "See whether anything was changed before you try again"
            }
            FaultKind::Unreachable => "Check that the tool's server is installed and running",
            FaultKind::Flooding => {
                "Report it to the server's author, or take the server out of the servers file"
            }
            FaultKind::Unreadable | FaultKind::NoResult if only_reads => {
                "Report it to the server's author"
            }
            FaultKind::Unreadable | FaultKind::NoResult => {
                "See whether anything was changed, and report it to the server's author"
            }
            FaultKind::TooLong => "Ask for less at once",
            FaultKind::Denied => "Check `headers` of its entry in the servers file",
            FaultKind::Missing => "Load the list of tools anew",
        },
        Ending::Skipped { because } => match because {
            Skip::Parameters | Skip::Unchecked { .. } | Skip::Refused { .. } => "",
            Skip::Permission { .. } | Skip::Worse => "Allow the tool, or ask for something else",
            Skip::BreakerOpen { .. } => "Try again later",
            Skip::NoServer => "Add its server",
            Skip::Limit { exceeded: Exceeded::SameCall { .. } | Exceeded::Cycle { .. } } => {
                "Use the answers that you have, change the arguments, or try something else"
            }
            Skip::Limit { .. } => "Start a new session",
            Skip::WriteElsewhere => "See whether the change was made before you try again",
        },
    }
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Operation;

    use super::*;
    use crate::execution::{Estimate, Origin};

    #[test]
    fn an_operation_without_a_server_is_given_the_entry_to_write() {
        let mut tool = Tool::new(Some("fleet-api"), "listTrips", "Lists trips");
        assert_eq!(entry(&tool), None);
        let mut operation =
            json!({"method": "GET", "path": "/trips", "server": "https://api.example.org/v1"});
        for (server, url) in [
            ("https://api.example.org/v1", "https://api.example.org/v1"),
            ("/v1", "https://ADDRESS"),
        ] {
            operation["server"] = json!(server);
            tool.operation =
                Some(Box::new(serde_json::from_value::<Operation>(operation.clone()).unwrap()));
            let expected = format!(": \"fleet-api\": {{\"type\":\"openapi\",\"url\":\"{url}\"}}");
            assert_eq!(entry(&tool).unwrap(), expected);
        }
    }

    #[test]
    fn a_change_is_looked_for_only_after_a_tool_that_may_make_one() {
        for fault in [FaultKind::Broken, FaultKind::ServerError, FaultKind::NoResult] {
            let failed = Ending::Failed { fault };
            assert!(advise(&failed, false).contains("whether anything was changed"), "{fault}");
            assert!(!advise(&failed, true).contains("changed"), "{fault}");
        }
    }

    #[test]
    fn a_short_sentence_of_a_tool_is_repeated_and_a_raw_error_is_not() {
        let long = "x ".repeat(MOST_OWN_CHARS);
        for (said, is_repeated) in [
            ("no item SKU-9", true),
            ("No book with ISBN 3-16 is on the shelf.", true),
            ("invoice INV-2026-00417 is paid already", true),
            ("ENOENT: no such file or directory, open '/etc/shadow'", false),
            ("KeyError: 'name'", false),
            ("MCP error -32602: Input validation error", false),
            ("failed at line 7, token=abc", false),
            ("two\nlines", false),
            ("", false),
            (&long, false),
        ] {
            let attempt = Attempt {
                tool: Tool::new(Some("shop"), "get_item", "").id,
                origin: Origin::Asked,
                ending: Ending::ToolError { hint: hint(said) },
                tries: 1,
                reached: true,
                took_ms: 1.0,
                estimate: Estimate { latency_ms: None, chars: 0, learned: false },
                chars: 0,
                error_text: Some(said.to_owned()),
                error_answer: None,
                error_ids: Vec::new(),
            };
            let message = failure(&[], &[attempt], None);
            let is_quoted = message.contains('"');
            assert_eq!(is_quoted, is_repeated, "{said}: {message}");
        }
    }

    #[test]
    fn a_tools_words_are_understood_and_not_repeated() {
        for (said, expected) in [
            ("ENOENT: no such file or directory, open '/etc/shadow'", Hint::NotFound),
            ("Access denied - path outside allowed directories", Hint::NotPermitted),
            ("MCP error -32602: Input validation error", Hint::BadInput),
            ("429 Too Many Requests", Hint::TooMuch),
            ("Traceback (most recent call last)", Hint::Other),
        ] {
            assert_eq!(hint(said), expected, "{said}");
        }
    }
}
