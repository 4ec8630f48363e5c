//! Finds mails and letters among the paragraphs of a prompt.

use super::Pattern;
use super::line_kinds::NoiseKind;
use super::noise::Part;
use super::plain_text::first_word;
use super::requests::{is_content, is_request};
use super::verbs::may_order;
use super::wishes::is_order;
use toolroute_translation::Language;

static GREETING: Pattern = Pattern::new(
    r"^(?:(?i:dear|good (?:morning|afternoon|evening)|hi|hello|hey|hallo|liebe[r]?|sehr geehrte[r]?|bonjour|estimad[oa]|hola)\b[^.?!\n]{0,40}[,:!](?:\s|$))",
);
static CLOSING: Pattern = Pattern::new(
    r"^(?i:(?:(?:best|kind|warm|many|with|yours?|all the|viele|mit|liebe|freundliche[n]?|saludos|cordialement)\s?)*(?:regards|wishes|sincerely|faithfully|truly|cheers|thanks|thank you|best|br|mfg|love|grüße[n]?|saludos|cordialement)(?: (?:and|for|in|a lot|again|so much|advance|everything|your help|regards)\b)*(?:\W{0,2}|, ?(?-i:\p{Lu}[\p{L}.-]*)(?: (?-i:\p{Lu}[\p{L}.-]*)){0,2}))$",
);

/// Whether a line is a closing phrase, such as before the name under a letter.
fn is_closing(line: &str) -> bool {
    CLOSING.is_match(line.trim())
}

/// Whether a text asks for something, and is not only a name, thanks, a greeting or a signature: it has
/// an order, a question, the colon before something, or plain words that a tool knows.
pub(super) fn asks(text: &str, is_tool_word: &dyn Fn(&str) -> bool) -> bool {
    let text = text.trim();
    let is_known = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.starts_with(char::is_lowercase) && is_content(word) && is_tool_word(word)
    };
    let lines = || text.lines().filter(|line| !is_closing(line));
    let begins_order = |line: &str| may_order(&first_word(line));
    let orders = |line: &str| is_request(line) || begins_order(line) || is_order(line);
    text.ends_with(':')
        || lines().any(|line| orders(line) || line.contains('?'))
        || lines().any(|line| line.split_whitespace().any(is_known))
        || Language::of(text).is_some() && lines().next().is_some()
}

/// Marks the paragraphs of a mail or a letter, from its header or greeting to its closing phrase,
/// if what remains outside it asks for something. `is_tool_word` tells a request from a name.
pub(super) fn mark_mails(parts: &mut [Part], is_tool_word: &dyn Fn(&str) -> bool) {
    let (mut start, mut letters) = (None, Vec::new());
    let asks = |part: &Part| part.kind.is_none() && asks(&part.text, is_tool_word);
    for (at, part) in parts.iter().enumerate() {
        let is_quote = |line: &str| line.trim_start().starts_with('>');
        let has_quote = part.text.lines().any(is_quote);
        let is_head = part.kind == Some(NoiseKind::Mail) && !has_quote;
        if is_head || (part.kind.is_none() && greets(part.text.trim_start())) {
            start.get_or_insert(at);
        }
        let Some(from) = start else { continue };
        if part.kind.is_none() && closes(&part.text) {
            letters.push((from, at + 1));
            start = None;
        }
    }
    // A mail without a closing phrase ends with the text, or before an order at the end.
    if let Some(from) = start {
        let is_order = |part: &Part| asks(part) && from + 1 < parts.len();
        let has_order = parts[..from].iter().any(asks);
        let ends_before = !has_order && parts.last().is_some_and(is_order);
        letters.push((from, parts.len() - usize::from(ends_before)));
    }
    let in_letter = |at: &usize| letters.iter().any(|(from, to)| (from..to).contains(&at));
    if (0..parts.len()).any(|at| !in_letter(&at) && asks(&parts[at])) {
        for (at, part) in parts.iter_mut().enumerate() {
            let is_signed = part.text.lines().next().is_some_and(is_closing);
            if in_letter(&at) || is_signed {
                part.kind.get_or_insert(NoiseKind::Mail);
            }
        }
    }
}

/// Whether a paragraph starts like a letter. "Hi, can you delete the alarm?" is a request.
fn greets(text: &str) -> bool {
    let Some(greeting) = GREETING.find(text) else { return false };
    let line = text[greeting.end()..].lines().next().unwrap_or_default().trim();
    line.is_empty() || !(is_request(line) || line.contains('?'))
}

/// Whether a paragraph has a closing phrase, followed only by names.
fn closes(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| !is_closing(line));
    lines.next().is_some() && lines.all(|line| !is_request(line))
}
