//! Checks the values of a tool, independently of the format it was read from.

use crate::expansion::{self, DEEPEST, Expansion, MOST_PARTS};
use crate::facet::{PHASES, TASK_TYPES};
use crate::row::near_word;
use crate::{LatencyTier, Problem, Severity, Tool, routing};

/// The maximum number of characters of a name. OpenAI and Anthropic allow 64 and 128 characters;
/// the longest name among 42,820 collected tools has 187. A longer one is a description in the
/// wrong place.
pub(super) const NAME_CHARS: usize = 256;

/// The maximum number of characters of a description that are searched. The longest one among the same tools has
/// 10,467.
pub(super) const DESCRIPTION_CHARS: usize = 16_384;

/// The maximum latency in milliseconds: a day, which is longer than an agent waits for any call. A
/// larger number is most often seconds that were multiplied by 1,000 twice.
const LATENCY_MS: u64 = 86_400_000;

/// Returns every problem of one tool. A tool with an error cannot be used.
pub(super) fn check(tool: &Tool) -> Vec<Problem> {
    let description = too_long("description", &tool.description, DESCRIPTION_CHARS);
    let mut problems: Vec<Problem> =
        [check_name(tool), check_id(tool), description, check_schema(tool)]
            .into_iter()
            .chain([check_latency(tool), check_tier(tool), check_complexity(tool)])
            .flatten()
            .chain(check_words("phases", &tool.facets.phases, PHASES))
            .chain(check_words("task_types", &tool.facets.task_types, TASK_TYPES))
            .chain(routing::check(tool))
            .chain(check_depth(tool))
            .chain(check_expansion(tool))
            .collect();
    for problem in &mut problems {
        problem.tool = Some(tool.id.to_string()).filter(|id| !id.is_empty());
    }
    problems
}

/// Warns of each unknown word, because no search finds the tool by it.
fn check_words<'a>(
    field: &'a str,
    words: &'a [String],
    known: &'a [&'a str],
) -> impl Iterator<Item = Problem> + 'a {
    let unknown = words.iter().filter(|word| !known.contains(&word.to_lowercase().as_str()));
    unknown.map(move |word| {
        let cure = match near_word(word, known) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => "the tool is never found by it".to_owned(),
        };
        let expected = format!("one of {}", known.join(", "));
        Problem::new(Severity::Warning, expected, format!("{word:?}"), cure).field(field)
    })
}

fn check_name(tool: &Tool) -> Option<Problem> {
    if tool.name.trim().is_empty() {
        let cure = "give the tool the name by which it is called";
        let found = format!("{:?}", tool.name);
        return Some(Problem::new(Severity::Error, "a name", found, cure).field("name"));
    }
    too_long("name", &tool.name, NAME_CHARS)
}

fn check_id(tool: &Tool) -> Option<Problem> {
    tool.id.as_str().is_empty().then(|| {
        let cure = "write an id, or leave it out to have it made from server and name";
        Problem::new(Severity::Error, "an id", "an empty string", cure).field("id")
    })
}

fn too_long(field: &str, text: &str, limit: usize) -> Option<Problem> {
    // A text never has fewer bytes than characters, so most texts need no count.
    let chars = if text.len() > limit { text.chars().count() } else { 0 };
    (chars > limit).then(|| {
        let expected = format!("at most {limit} characters");
        let cure = "shorten it; the rest is not searched";
        Problem::new(Severity::Warning, expected, format!("{chars} characters"), cure).field(field)
    })
}

fn check_schema(tool: &Tool) -> Option<Problem> {
    let schema = tool.input_schema.as_ref()?;
    (!schema.as_str().trim_start().starts_with('{')).then(|| {
        let found: String = schema.as_str().chars().take(40).collect();
        let cure = "write a JSON Schema such as {\"type\": \"object\", \"properties\": {}}";
        Problem::new(Severity::Error, "a schema that is an object", found, cure)
            .field("input_schema")
    })
}

/// Rejects members that are nested deeper than parsers allow. They could be listed, but no client
/// could read them.
fn check_depth(tool: &Tool) -> Option<Problem> {
    let members = [("input_schema", &tool.input_schema), ("mcp", &tool.mcp)];
    members.into_iter().find_map(|(field, json)| {
        let found = expansion::depth(json.as_ref()?.as_str());
        (found > DEEPEST).then(|| {
            let expected = format!("at most {DEEPEST} levels of brackets");
            let cure = "name the inner parts under `$defs` and refer to them";
            Problem::new(Severity::Error, expected, format!("{found} levels"), cure).field(field)
        })
    })
}

/// Warns of a schema that is too large to check arguments with. Such a tool can be found and
/// described, but calls of it are refused for the same reason.
fn check_expansion(tool: &Tool) -> Option<Problem> {
    Expansion::refusal(tool.input_schema.as_ref()?)?;
    let expected = format!("a schema of at most {MOST_PARTS} parts, its references followed");
    let cure = "name each definition less often; until then its calls are refused";
    Some(Problem::new(Severity::Warning, expected, "more", cure).field("input_schema"))
}

fn check_latency(tool: &Tool) -> Option<Problem> {
    let ms = tool.latency_ms.filter(|ms| *ms > LATENCY_MS)?;
    let expected = format!("milliseconds up to {LATENCY_MS} (a day)");
    let cure = "check the unit: it is milliseconds";
    Some(Problem::new(Severity::Warning, expected, ms.to_string(), cure).field("latency_ms"))
}

fn check_tier(tool: &Tool) -> Option<Problem> {
    let (ms, declared) = (tool.latency_ms?, tool.declared_latency_tier?);
    let measured = LatencyTier::from_ms(ms);
    (measured != declared).then(|| {
        let expected = format!("latency_tier {measured} for {ms} ms");
        let cure = "remove one of the two; the milliseconds count";
        Problem::new(Severity::Warning, expected, declared.to_string(), cure).field("latency_tier")
    })
}

fn check_complexity(tool: &Tool) -> Option<Problem> {
    let range = tool.facets.complexity?;
    let scale = 0.0..=1.0;
    let good = scale.contains(&range.min) && scale.contains(&range.max) && range.min <= range.max;
    (!good).then(|| {
        let found = format!("{} to {}", range.min, range.max);
        let cure = "write min and max between 0 and 1, min not above max";
        Problem::new(Severity::Error, "a range within 0 to 1", found, cure).field("complexity")
    })
}
