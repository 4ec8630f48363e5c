//! Splits a prompt into the things that a plan has to do.
//!
//! The ranking gains only from [`clauses`](super::clauses) that are certain. A plan must not lose a
//! wish, so it also splits off short questions, orders that refer back ("refund it") and orders by
//! verbs that are not listed, which are known by what follows them ("throw away the buns").

use std::cell::Cell;

use super::actions::begins_object;
use super::clauses::{JOINT, NEAR, Rules, Seam, beginning, has_content, sentences, split};
use super::content::{CONTENT, ORDERED, own_words};
use super::function_words::PARTICLES;
use super::mood::has_finite_verb;
use super::requests::{
    content_words, is_content, is_relative, is_request, is_verb, without_opener,
};
use super::verbs::action_of;
use super::verbs::may_order;
use super::{Pattern, Places, caveat, function_words, is_listed, plain_text};

static QUESTION: Pattern = Pattern::new(
    r"(?i)^(?:what|which|who|whom|whose|when|where|why|how|is|are|does|do|did|has|have)\b",
);
static QUESTION_WORD: Pattern =
    Pattern::new(r"(?i)^(?:what|which|who|whom|whose|when|where|why|how)\b");
/// An order that only leads to a question.
static TELL: Pattern = Pattern::new(
    r"(?i)^(?:(?:can|could|would|will) you (?:please )?|please )?(?:tell me|show me|let me know|find out|i (?:want|need) to know|do you know)\s+(?:what|which|who|whom|whose|when|where|why|how)\b",
);
static POLITE: Pattern =
    Pattern::new(r"(?i)^(?:can|could|would|will) you (?:please |also |kindly )*");

/// Words that refer to something before.
const REFERRING: &str = "it its that this these those they them their he him his she her there";

/// Words before an article that are no verbs.
const NO_VERBS: &str = "about above across after against all along although among another any around because before \
     behind below beside besides between beyond both but despite down during each either else enough even every \
     except few half including inside into just like many maybe more most near neither never next no none nor not \
     off once only onto other out outside over own past per perhaps plus quite rather same several since some such \
     than though through throughout till too toward towards under underneath unless unlike until up upon versus via \
     well whereas whether while whom within without yes yet";

/// Verbs that take two objects: in "send dana and ann a mail", "ann" is no verb.
const DITRANSITIVE: &str = "ask bring buy email give hand lend mail message offer pay read send show teach tell text write";

/// Marks that begin a quotation.
const QUOTES: [char; 3] = ['"', '“', '«'];

/// Splits a prompt into its wishes, in order. `is_tool_verb` knows the verbs by which the catalog's tools say what
/// they do, so that these begin a wish though no list has them: "crop it to 4:3, sharpen and save".
pub(crate) fn wishes(prompt: &str, is_tool_verb: &dyn Fn(&str) -> bool) -> Vec<String> {
    // "For each order" is no order.
    let may_be_verb =
        |word: &str| !is_listed(NO_VERBS, word) && (is_verb(word) || is_content(word));
    let verbs = ToolVerbs { is_one: &|word| may_be_verb(word) && is_tool_verb(word) };
    let rules = Rules {
        stands_alone: &|piece| stands_alone(piece) || verbs.stand_alone(piece),
        parts: &|seam| parts(seam, verbs),
    };
    split(prompt, &rules).into_iter().flat_map(|wish| with_sequels(&wish)).collect()
}

/// The verbs of a catalog's tools.
#[derive(Clone, Copy)]
struct ToolVerbs<'a> {
    is_one: &'a dyn Fn(&str) -> bool,
}

impl ToolVerbs<'_> {
    /// Whether a sentence or a part of one begins with such a verb, and tells nothing: "Report says no".
    fn stand_alone(self, piece: &str) -> bool {
        let text = without_opener(beginning(piece)).to_lowercase();
        self.begin(&text) && !has_finite_verb(&plain_text::words(&text))
    }

    fn begin(self, text: &str) -> bool {
        words(without_opener(beginning(text))).next().is_some_and(|verb| (self.is_one)(&verb))
    }

    /// Whether the part before a joint is nothing but such a verb, which does not share its object with the next
    /// one as in "find and delete the files".
    fn are_all(self, seam: &Seam<'_>) -> bool {
        let is_next = || is_then(seam.joint) || !seam.sentence.starts_with(seam.before);
        self.begin(seam.before) && words(seam.before).nth(1).is_none() && is_next()
    }

    /// Whether a part begins with such a verb and its object, or with one that needs none: "and save", "and lock
    /// up", "navigate to work".
    fn order(self, text: &str) -> bool {
        let text = without_opener(text);
        let Some(verb) = words(text).next().filter(|verb| (self.is_one)(verb)) else {
            return false;
        };
        // Signs before the verb begin no order.
        let Some((first, rest)) = text.split_at_checked(verb.len()) else { return false };
        if !first.eq_ignore_ascii_case(&verb) {
            return false;
        }
        let is_over = rest.trim_end_matches(['.', '!', ' ']).is_empty()
            || JOINT.find(rest).is_some_and(|joint| joint.start() == 0);
        let is_noun = action_of(&verb).is_some_and(|(_, is_often_noun)| is_often_noun);
        let next = rest.split_whitespace().next().unwrap_or_default();
        let is_led = next == "to" || is_listed(PARTICLES, next.trim_end_matches(['.', '!', ',']));
        is_over && !is_noun || is_led || begins_object(next)
    }
}

/// Splits off what follows a "then" without a verb, and gives it the verb before: "list the oaks, then
/// the elms".
fn with_sequels(wish: &str) -> Vec<String> {
    let (mut found, mut from, mut lead) = (Vec::new(), 0, String::new());
    for joint in JOINT.find_iter(wish).filter(|joint| is_then(joint.as_str())) {
        let (before, after) = (&wish[from..joint.start()], &wish[joint.end()..]);
        let is_thing = words(after).next().is_some_and(|word| function_words::begins_object(&word));
        let has_noun = content_words(beginning(after)) >= 1 && !refers_only(beginning(after));
        let is_whole = !wish[..joint.start()].contains(QUOTES);
        if from == 0 {
            lead = verb_of(before);
        }
        if is_thing && has_noun && is_whole && !lead.is_empty() {
            let piece = if from == 0 { before.to_owned() } else { format!("{lead} {before}") };
            found.push(piece);
            from = joint.end();
        }
    }
    let rest = &wish[from..];
    found.push(if from == 0 { rest.to_owned() } else { format!("{lead} {rest}") });
    found
}

/// Returns the verb with which an order begins, with its particle; empty if it begins with none.
fn verb_of(order: &str) -> String {
    let mut words = words(without_opener(beginning(order)));
    let Some(verb) = words.next().filter(|verb| may_order(verb)) else { return String::new() };
    let particle = words.next().filter(|word| is_listed(PARTICLES, word));
    particle.map_or(verb.clone(), |particle| format!("{verb} {particle}"))
}

/// Whether a text begins with a pronoun: "them all".
fn refers_only(text: &str) -> bool {
    words(text).next().is_some_and(|word| is_listed("it them me him us", &word))
}

/// Returns the parts of a wish that may be wishes of their own, although that is not certain enough
/// to split them off.
#[doc(hidden)] // For our own crates.
pub fn doubtful_parts(wish: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in sentences(wish) {
        let ahead = wish.find(sentence).map_or("", |at| &wish[..at]);
        if ahead.contains(QUOTES) {
            continue;
        }
        let quote = sentence.find(QUOTES);
        let (mut last, so_far) = (0, Cell::new(false));
        for joint in JOINT.find_iter(sentence) {
            let (before, after) = (&sentence[..joint.start()], &sentence[joint.end()..]);
            if quote.is_some_and(|at| at < joint.start()) {
                break;
            }
            let is_ordered = is_ordered(before, &sentence[last..joint.start()], &so_far);
            last = joint.end();
            let asks = QUESTION_WORD.is_match(after) && has_content(after);
            let is_joined = joint.as_str().contains(char::is_alphabetic);
            let is_other = is_joined && (asks || may_be_a_recipient(before, after));
            let is_next = is_ordered && has_content(before);
            if is_other || is_next && may_be_an_order(after, is_joined) {
                found.push(after.to_owned());
            }
        }
    }
    found
}

fn stands_alone(piece: &str) -> bool {
    let asks = has_order(piece) || piece.ends_with('?');
    let is_whole = asks && content_words(piece) >= 2;
    let is_question =
        QUESTION.is_match(without_opener(piece)) && content_words(piece) >= 1 && !refers(piece);
    is_whole || is_question || is_order(piece) || names_a_person(piece)
}

fn parts(seam: &Seam<'_>, verbs: ToolVerbs<'_>) -> bool {
    let (before, after) = (seam.before, beginning(seam.after));
    if !verbs.begin(before) && !is_ordered(before, seam.piece, seam.is_ordered) {
        return false;
    }
    if !has_content(before) && !verbs.are_all(seam) {
        return false;
    }
    if is_in_content(before) {
        return false;
    }
    if is_request(after) && !is_relative(after) && has_content(after) {
        return true;
    }
    if is_relative(after) {
        return asks_more(before, seam.joint, after);
    }
    let is_name = after.starts_with(char::is_uppercase);
    // What restricts one order may restrict the other: "stop it and delete it unless it is old".
    let is_plain = || {
        caveat(seam.sentence, Places::default()).is_none()
            || QUESTION.is_match(without_opener(seam.sentence))
    };
    let is_next = || is_then(seam.joint) && names_a_person(after);
    (is_order(after) || verbs.order(after) || is_next())
        && !is_name
        && *seam.is_plain.get_or_init(is_plain)
        && !may_be_a_recipient(before, after)
}

/// Whether a text begins with a verb, though it may be a noun, and a name: "text Ben the menu". "Book Club is
/// at 8" tells something.
fn names_a_person(text: &str) -> bool {
    let text = without_opener(beginning(text));
    let is_name =
        text.split_whitespace().nth(1).is_some_and(|name| name.starts_with(char::is_uppercase));
    let lower = text.to_lowercase();
    is_name && !verb_of(text).is_empty() && !has_finite_verb(&plain_text::words(&lower))
}

fn is_then(joint: &str) -> bool {
    joint.to_lowercase().contains("then")
}

/// Whether the end of a text is what an order brings along: "make a note: call Ann and".
fn is_in_content(text: &str) -> bool {
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(NEAR))..];
    own_words(end).ends_with([CONTENT, ORDERED])
}

/// Whether a text is a request, or a later part of it is: "the van is broken, take it out of service".
fn has_order(text: &str) -> bool {
    begins_with_order(text) || JOINT.split(text).skip(1).any(has_order_of_its_own)
}

fn begins_with_order(text: &str) -> bool {
    let text = beginning(text);
    is_request(text) || is_order(text)
}

fn has_order_of_its_own(part: &str) -> bool {
    let part = beginning(part);
    is_request(part) && !is_relative(part) && has_content(part) || is_order(part)
}

/// Whether a text [has an order](has_order), if its parts are asked for one after the other: `piece` is
/// the last one, and `so_far` has the answer for those before.
fn is_ordered(text: &str, piece: &str, so_far: &Cell<bool>) -> bool {
    let is_later = || piece.len() < text.len() && has_order_of_its_own(piece);
    so_far.set(so_far.get() || begins_with_order(text) || is_later());
    so_far.get()
}

/// Whether the part after an order may be another one by a verb that is often a noun, or without a word
/// that shows where its object begins: "lock the door and dim lights".
fn may_be_an_order(after: &str, is_joined: bool) -> bool {
    let mut words = without_opener(beginning(after)).split_whitespace();
    let verb = words.next().unwrap_or_default();
    let has_object = words.next().is_some_and(|word| is_joined || begins_object(word));
    has_object && may_order(verb) && action_of(verb).is_none_or(|(_, is_often_noun)| !is_often_noun)
}

/// Whether the part after a question is another question: "how hot is the oven and how much rye is
/// left". Part of one question are "who works today and has a key" and "tell me who works and when".
fn asks_more(before: &str, joint: &str, after: &str) -> bool {
    let before = without_opener(beginning(before));
    let is_joined = joint.contains(char::is_alphabetic);
    if !QUESTION_WORD.is_match(after) {
        let is_same = QUESTION.is_match(before) && !QUESTION_WORD.is_match(before);
        return is_joined && is_same && content_words(after) >= 1;
    }
    let first = after.split_whitespace().next().unwrap_or_default();
    let asks = QUESTION.is_match(before) && content_words(after) >= 1;
    let is_told = TELL.is_match(before) && content_words(after) >= 2 && !refers(after);
    (asks || is_told) && (is_joined || is_listed("how what why", first))
}

/// Whether a text begins with a verb and its object: "refund it", "water the plants", "reopen T-3".
pub(super) fn is_order(text: &str) -> bool {
    let text = without_opener(text);
    let text = POLITE.find(text).map_or(text, |polite| &text[polite.end()..]);
    let mut words = words(text);
    let Some(verb) = words.next() else { return false };
    let mut next = words.next().unwrap_or_default();
    let has_particle = is_listed(PARTICLES, &next);
    if has_particle {
        next = words.next().unwrap_or_default();
    }
    let is_number = next.starts_with(|c: char| c.is_ascii_digit());
    let is_known = action_of(&verb).is_some_and(|(_, is_often_noun)| !is_often_noun);
    let mut tokens = text.split_whitespace().skip(1);
    let has_value = is_known && tokens.clone().next().is_some_and(begins_object)
        || may_order(&verb) && has_id(&verb, [tokens.next(), tokens.next()]);
    // "Hand that to Ann" may go on a statement before it.
    let has_object = next != "that" && function_words::begins_object(&next)
        || (has_particle && (is_number || tokens.clone().nth(1).is_some_and(begins_object)))
        || has_value;
    let may_be_verb = is_verb(&verb)
        || (is_content(&verb)
            && !is_listed(NO_VERBS, &verb)
            && verb.chars().all(|c| c.is_ascii_alphabetic())
            && (!verb.ends_with('s') || verb.ends_with("ss")));
    may_be_verb && has_object
}

/// Whether the words after a verb are an id, or a noun and its id: "refund O-12", "lock account A-4". In "order
/// O-12" the verb is the noun of the id.
fn has_id(verb: &str, words: [Option<&str>; 2]) -> bool {
    let is_id = |word: &str| {
        let has = |is_one: fn(&char) -> bool| word.chars().any(|c| is_one(&c));
        has(char::is_ascii_digit) && has(|c| c.is_alphabetic())
    };
    let [Some(first), second] = words else { return false };
    let is_noun = || is_content(&first.to_lowercase()) && first.chars().all(char::is_alphabetic);
    let is_own = || {
        first.to_lowercase().starts_with(&verb[..1])
            && action_of(verb).is_some_and(|(_, is_noun)| is_noun)
    };
    is_id(first) && !is_own() || second.is_some_and(is_id) && is_noun()
}

/// Whether the part after a joint may begin with a recipient: "send dana" and "ann a mail".
fn may_be_a_recipient(before: &str, after: &str) -> bool {
    let verb = words(without_opener(beginning(before))).next();
    let is_known = words(after).next().is_none_or(|first| is_verb(&first));
    !is_known
        && is_order(beginning(after))
        && verb.is_some_and(|verb| is_listed(DITRANSITIVE, &verb))
        && content_words(beginning(before)) <= 2
}

fn refers(text: &str) -> bool {
    words(text).any(|word| is_listed(REFERRING, &word))
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-')));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wish_is_lost() {
        for (prompt, expected) in [
            (
                "how hot is oven 1 and how much rye is left",
                ["how hot is oven 1", "how much rye is left"],
            ),
            (
                "who works this week? also, which recipes do we have?",
                ["who works this week?", "which recipes do we have?"],
            ),
            (
                "who works this week and also which recipes do we have",
                ["who works this week", "which recipes do we have"],
            ),
            ("cancel order 12 and refund it", ["cancel order 12", "refund it"]),
            ("Cancel order 12. Refund it.", ["Cancel order 12.", "Refund it."]),
            ("stop the mixer and throw away 4 buns", ["stop the mixer", "throw away 4 buns"]),
            ("Throw away the buns, then stop the mixer", ["Throw away the buns", "stop the mixer"]),
            ("is oven 1 hot and is the fridge cold?", ["is oven 1 hot", "is the fridge cold?"]),
            (
                "tell me how hot oven 1 is and how much rye is left",
                ["tell me how hot oven 1 is", "how much rye is left"],
            ),
            (
                "send the report to Ann and water the plants",
                ["send the report to Ann", "water the plants"],
            ),
            (
                "the van is broken, take it out of service, then tell dispatch in #dispatch",
                ["the van is broken, take it out of service", "tell dispatch in #dispatch"],
            ),
            (
                "Please do this:\n1. stop the mixer\n2. water the plants",
                ["stop the mixer", "water the plants"],
            ),
            ("close T-3001, reopen T-3003", ["close T-3001", "reopen T-3003"]),
            ("refund O-1001 and close T-32", ["refund O-1001", "close T-32"]),
            ("close T-32 and refund O-1001", ["close T-32", "refund O-1001"]),
            (
                "lock account A-4 and archive project P-9",
                ["lock account A-4", "archive project P-9"],
            ),
            (
                "check the weather in Oslo and then text Ben \"pack warm clothes\"",
                ["check the weather in Oslo", "text Ben \"pack warm clothes\""],
            ),
            ("list the oaks and then the elms", ["list the oaks", "list the elms"]),
            (
                "write down the tour, then its stops",
                ["write down the tour", "write down its stops"],
            ),
        ] {
            assert_eq!(wishes(prompt, &|_| false), expected);
            let doubts: Vec<String> =
                expected.iter().flat_map(|wish| doubtful_parts(wish)).collect();
            assert!(doubts.is_empty(), "{prompt}: {doubts:?}");
        }
    }

    #[test]
    fn one_wish_stays_whole() {
        for prompt in [
            "how hot is the oven and the fridge",
            "find and delete",
            "find and delete the old files",
            "cats and dogs",
            "find cats and dogs",
            "drag and drop",
            "drag and drop the file",
            "Find bread and butter recipes",
            "who works today and has a key",
            "tell me who works today and when they start",
            "send a mail to Ann and Bob the builder",
            "show the sales of May and during the summer",
            "who works this week and when",
            "Move my alarm, which was set for 6, to 7",
            "stop the mixer and throw away the buns unless it is hot",
            "order O-1001 and T-32 of Ann",
            "make a note: close T-31 and refund O-1001",
            "summarize this: lock the door and archive project P-9",
        ] {
            assert_eq!(
                wishes(prompt, &|_| false).len(),
                1,
                "{prompt}: {:?}",
                wishes(prompt, &|_| false)
            );
        }
    }

    #[test]
    fn long_prompts_take_little_time() {
        let started = std::time::Instant::now();
        for part in
            ["cats, ", "close it and ", "and and ", "please, ", "show cats and ", "a and how it, "]
        {
            let prompt = part.repeat(32_768 / part.len());
            let found = wishes(&prompt, &|_| false);
            found.iter().take(1).for_each(|wish| drop(doubtful_parts(wish)));
        }
        assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    }

    #[test]
    fn what_may_be_a_wish_is_named() {
        for (wish, expected) in [
            ("send dana and ann a mail", vec!["ann a mail"]),
            ("look up what cats eat and how dogs sleep", vec!["how dogs sleep"]),
            ("save the note \"cats and how dogs sleep\"", vec![]),
            ("lock the door and dim lights", vec!["dim lights"]),
            ("find and dim the lights", vec![]),
            ("show cats and dogs", vec![]),
        ] {
            assert_eq!(wishes(wish, &|_| false).len(), 1, "{wish}");
            assert_eq!(doubtful_parts(wish), expected, "{wish}");
        }
    }

    #[test]
    fn verbs_of_the_tools_begin_a_wish() {
        let is_verb = |verb: &str| {
            "crop sharpen save duplicate blur navigate lock defrost file".contains(verb)
        };
        for (prompt, expected) in [
            (
                "crop to 0, 0, 500, 500, sharpen and save",
                vec!["crop to 0, 0, 500, 500", "sharpen", "save"],
            ),
            (
                "duplicate layer Photo and blur the copy by 10 pixels",
                vec!["duplicate layer Photo", "blur the copy by 10 pixels"],
            ),
            ("close the windows and lock up", vec!["close the windows", "lock up"]),
            ("defrost, then navigate to work", vec!["defrost", "navigate to work"]),
            ("crop and sharpen the photo", vec!["crop and sharpen the photo"]),
            ("show the blur and duplicate settings", vec!["show the blur and duplicate settings"]),
            ("blur it unless it is sharp", vec!["blur it unless it is sharp"]),
        ] {
            assert_eq!(wishes(prompt, &is_verb), expected);
        }
        let prompt = "crop the photo and ☃☃ save";
        assert_eq!(wishes(prompt, &is_verb), [prompt], "no sign is cut in two");
    }
}
