//! Decides whether the verb of an order is that of a tool: "close ticket 5", not "archive ticket 5" or
//! "keep ticket 5 open". Whether a prompt orders anything at all is told by `mood`.

use std::collections::HashSet;
use std::ops::Range;

use toolroute_catalog::{
    Schema, Tool, embedding_text, properties, same_things, singular, words_of, writes,
};
use toolroute_translation::Language;

use super::actions::{begins_object, is_lowering};
use super::content::{CONTENT, ORDERED, own_words};
use super::mood::{fragments, has_finite_verb, has_order, orders};
use super::negation::is_past;
use super::plain_text::{self, MOMENT, Places, unquoted, words};
use super::requests::is_content;
use super::synonyms::{OPPOSITES, actions_of_phrase, actions_of_synonym};
use super::verbs::may_order;
use super::verbs::{Actions, action_of, actions_in, inflections};
use super::{Pattern, function_words, is_listed};
use other_object::{beside, other_object};

/// Verbs that may order what any tool does.
const GENERAL: &str = "set make put turn do run use call add write give help let start go switch take save record log \
    mark file ensure arrange request initiate enter";

/// Verbs of a message, and words of tools for one.
const WRITING: &str = "email mail message sms tell text write";
const MESSAGES: &str = "chat comment email mail message messaging post reply send sms text tweet";

/// Why no verb of a prompt orders what a tool does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerbMismatch {
    /// It has no verb that orders anything.
    None,
    /// It orders something by this verb, which neither the tool's name nor its text has.
    Other(String),
    /// It is about another thing than the value that the tool takes, as this word says.
    Object(String),
}

/// Returns why a prompt does not plainly order what a tool does; `None` for an order that the tool
/// carries out by its own words, and for a prompt that is not in English: lexicons do not tell
/// "close" from "closed".
///
/// A tool that may change something must not run on anything else without asking, because a
/// statement ("the ticket was closed") and the opposite ("keep the ticket open") are as near to it
/// as an order.
pub fn verb_mismatch(prompt: &str, places: Places<'_>, tool: &Tool) -> Option<VerbMismatch> {
    if Language::of(prompt).is_some() {
        return None;
    }
    let tool = ToolVerbs::new(tool);
    let mut plain = own_words(&unquoted(prompt, places)).into_owned();
    // A text that an argument took may be an order, too.
    if own_words(&unquoted(prompt, Places::default())).contains(ORDERED) {
        plain = plain.replace(CONTENT, &format!("{CONTENT}{ORDERED}"));
    }
    let orders = orders(&plain);
    let (known, others): (Vec<&str>, Vec<&str>) =
        orders.into_iter().partition(|order| tool.knows(order));
    let (fitting, unfit): (Vec<&str>, Vec<&str>) =
        known.into_iter().partition(|order| tool.fits(order));
    let fragments = fragments(&plain);
    // Another order beside the one that fits would be lost: "publish post 5 but hide it". "And waive the fee"
    // may be what a parameter says.
    let is_lost = |order: &&&str| {
        !(fragments.contains(**order) && !is_switching(order)
            || is_beside(order)
            || tool.may_take(order))
    };
    let lost = match fitting.is_empty() {
        true => unfit.first(),
        false => unfit.iter().chain(&others).find(is_lost),
    };
    if let Some(verb) = lost.and_then(|order| first_word(order)) {
        return Some(VerbMismatch::Other(verb));
    }
    let is_new = tool.is_named_after_making();
    let is_known = |noun: &str| tool.nouns.contains(noun) || is_name(prompt, noun);
    if let Some(order) = fitting.iter().skip(1).find(|order| is_of_other_thing(order, &is_known)) {
        return first_word(order).map(VerbMismatch::Other);
    }
    let mut objects = fitting.iter().chain(&others);
    let other = objects.find_map(|order| other_object(order, is_new, &is_known));
    if let Some(other) = other.or_else(|| beside(prompt, places.taken)) {
        return Some(VerbMismatch::Object(other));
    }
    if !fitting.is_empty() {
        return None;
    }
    // "Would you mind closing it", "I need it closed": an order with the verb in another form.
    let has_form = || has_order(&plain) && tool.words.iter().any(|verb| is_said(verb, &plain));
    // "I need a table" orders it, "a table" may begin a statement: "a pipe leaks".
    let begins_new = |order: &str| words(order).first() == Some(&"new");
    let is_wish =
        |order: &&str| (!fragments.contains(*order) || begins_new(order)) && is_new_thing(order);
    let makes = || tool.makes_things() && others.iter().any(is_wish);
    if has_form() || makes() {
        return None;
    }
    Some(VerbMismatch::None)
}

/// Whether an order by a verb that fits anything is about another thing than the tool's: "switch on the fog system" behind
/// "close the screen".
fn is_of_other_thing(order: &str, is_known: &dyn Fn(&str) -> bool) -> bool {
    let said = words(order);
    let mut nouns = said.iter().skip(1).filter(|word| is_content(word)).peekable();
    let is_general =
        |verb: &&str| is_listed(GENERAL, verb) && verb.starts_with(char::is_alphabetic);
    said.first().is_some_and(is_general)
        && nouns.peek().is_some()
        && !nouns.any(|noun| is_known(&singular(noun)))
}

/// Returns the verb with which a prompt orders a change that a tool, which only reads, does not do by its
/// own words. English only.
pub fn ordered_change(prompt: &str, places: Places<'_>, tool: &Tool) -> Option<String> {
    if Language::of(prompt).is_some() {
        return None;
    }
    let mut does = verbs_of(&tool.description);
    does.extend(words_of(&tool.name).into_iter().take(1));
    let plain = unquoted(prompt, places);
    orders(&own_words(&plain)).into_iter().find_map(|order| {
        let verb = first_word(order)?;
        // "Book the car", "book car 5".
        let has_object = || order.split_whitespace().skip(1).take(2).any(begins_object);
        let is_change = match action_of(&verb) {
            Some((_, is_often_noun)) => !is_often_noun || has_object(),
            None => may_order(&verb) && writes(&verb) && has_object(),
        };
        let forms = inflections(&verb);
        (is_change && !does.iter().any(|word| forms.contains(word))).then_some(verb)
    })
}

static TOLD: Pattern = Pattern::new(
    r"(?i)\b(?:tell|inform|notify|remind|text|message|mail|email|send|write|reply|let)\s+\w[^.!?\n]*?\sthat\s+(?P<what>[^.!?\n]+)",
);

/// Returns what a prompt wants somebody to be told, "his taxi is here" in "tell the guest that his
/// taxi is here". A tool that takes no such text cannot do it, however near it is.
pub fn told(prompt: &str) -> Option<&str> {
    let found = TOLD.captures(prompt)?.name("what")?;
    // "Send Tom that report by noon" points at something.
    let said = words(found.as_str());
    (!said.is_empty() && has_finite_verb(&said)).then(|| found.as_str().trim())
}

/// Verbs of orders that lead to another one, or end a request: "find the ticket and close it".
const LEADING_UP: &str = "check find get have hurry locate look open pull read review search select see thank try verify view wrap";

/// Whether an order beside another one asks for nothing more: it leads up to it, has no object ("resolve and close
/// it"), or has a value that an argument took behind a preposition ("pay out to …").
fn is_beside(order: &str) -> bool {
    let said = words(order);
    let is_led = |pair: &[&str]| is_listed("at by for in into on to with", pair[0]);
    let is_bare = said.iter().skip(1).all(|word| is_listed("on up down off out away it", word));
    is_bare && said.get(1) != Some(&"it")
        || said.first().is_some_and(|verb| is_listed(LEADING_UP, verb))
        || said.windows(2).any(|pair| pair[1] == plain_text::TAKEN && is_led(pair))
}

/// Whether two verbs name the same action: "decline" and "reject".
pub fn means_same(verb: &str, other: &str) -> bool {
    let actions = |verb: &str| {
        action_of(verb).map(|(actions, _)| actions).or_else(|| actions_of_synonym(verb))
    };
    actions(verb).zip(actions(other)).is_some_and(|(one, other)| one.overlaps(other))
}

/// Returns the thing that an order is about if no text of the tool has it, nor a word for the same thing, and no argument
/// has a value of the prompt: "open the sunroof" for a tool `trunk {open}`. English only.
///
/// `listed` are the places of listed values that were taken: they are no object, and unlike others they do not say which
/// thing is meant.
pub fn unknown_object(
    prompt: &str,
    places: Places<'_>,
    listed: &[Range<usize>],
    tool: &Tool,
) -> Option<String> {
    if Language::of(prompt).is_some() {
        return None;
    }
    let tool = ToolVerbs::new(tool);
    let all = [places.taken, listed].concat();
    let taken = Places { taken: &all, ..places };
    let plain = own_words(&unquoted(prompt, taken)).into_owned();
    let orders = orders(&plain);
    let [order] = orders[..] else { return None };
    let said = words(order);
    let is_edge = |word: &&&str| is_listed(AFTER_OBJECT, word) || **word == ",";
    let is_led =
        |word: &&&str| begins_object(word) && !is_content(word) || listed_sign(listed, word);
    let object = said.iter().skip(1).skip_while(is_led);
    let object: Vec<&str> = object.take_while(|word| !is_edge(word)).copied().collect();
    let is_known = |word: &str| {
        let noun = singular(word);
        !is_content(word)
            || is_listed(NO_OBJECTS, word)
            || tool.nouns.contains(&*noun)
            || tool.words.iter().any(|own| inflections(own).iter().any(|form| form == word))
            || same_things(&noun).any(|same| tool.nouns.contains(same))
    };
    let has_value = !places.taken.is_empty() || said.contains(&MOMENT);
    let is_strange = !has_value && !object.is_empty() && object.len() < 4;
    (is_strange && !object.iter().any(|word| is_known(word))).then(|| object.join(" "))
}

/// Whether a word stands for a listed value that was taken.
fn listed_sign(listed: &[Range<usize>], word: &str) -> bool {
    !listed.is_empty() && word == plain_text::TAKEN
}

/// Words before which the object of an order ends.
const AFTER_OBJECT: &str = "about after and as at because before but by except for from if in inside into of off on onto or \
    out over so that to under until up when where which while with within without";

/// Words that are no object by themselves.
const NO_OBJECTS: &str = "again all aside any anything back down everything it me now one please same that them there these this \
    those us";

/// What a tool says of what it does.
struct ToolVerbs {
    /// The words of its name and examples, and the verbs of its description.
    words: Vec<String>,
    /// The words of its name.
    name: Vec<String>,
    /// The first word of its description, which is its verb as a rule.
    own: String,
    actions: Actions,
    /// The words of its description.
    about: Vec<String>,
    /// The nouns of all its texts and of its first parameters, in the singular.
    nouns: HashSet<String>,
    /// Whether it is named after a thing and takes a boolean: `sentry_mode {on}`.
    is_switch: bool,
}

impl ToolVerbs {
    fn new(tool: &Tool) -> Self {
        let name = words_of(&tool.name);
        let title = tool.title.iter().chain(&tool.examples);
        let mut words = name.clone();
        words.extend(title.flat_map(|text| words_of(text)));
        words.extend(verbs_of(&tool.description));
        let about = words_of(&tool.description);
        // "Start watering a zone" waters it.
        let begins = |pair: &&[String]| {
            is_listed("begin begins start starts", &pair[0]) && pair[1].ends_with("ing")
        };
        let own = match about.windows(2).next().filter(begins) {
            Some(pair) => pair[1].clone(),
            None => about.first().cloned().unwrap_or_default(),
        };
        words.push(own.clone());
        let actions = actions_in(words.iter().map(String::as_str));
        let about = about.iter().map(|word| singular(word).into_owned()).collect();
        let nouns = words_of(&embedding_text(tool));
        let nouns = nouns.iter().map(|word| singular(word).into_owned()).collect();
        let schema = tool.input_schema.as_ref().and_then(Schema::to_value).unwrap_or_default();
        let has_boolean = properties(&schema).any(|(_, parameter)| parameter["type"] == "boolean");
        let is_switch = has_boolean && !name.iter().any(|word| may_order(word));
        Self { words, name, own, actions, about, nouns, is_switch }
    }

    fn has(&self, verb: &str) -> bool {
        // "Enrol" and "enroll".
        let is_same = |form: &str, word: &str| form.replace("ll", "l") == word.replace("ll", "l");
        let forms = inflections(verb);
        forms.iter().any(|form| self.words.iter().any(|word| is_same(form, word)))
    }

    /// Whether an order may say an argument: its verb, in any form, is in the tool's texts ("notify the patient" for
    /// `notify_patient`), or the verb says little and a word of its object is ("keep it unpublished").
    fn may_take(&self, order: &str) -> bool {
        let verb = first_word(order).unwrap_or_default();
        let is_stated = |word: &str| {
            let word = word.strip_prefix("un").unwrap_or(word);
            is_content(word) && self.nouns.contains(&*singular(word))
        };
        let is_little = is_listed(GENERAL, &verb) || is_listed("keep leave", &verb);
        let said = words(order);
        let object = said.get(1..).unwrap_or_default();
        let is_end = |word: &&str| is_listed("at back in into of off on out to with", word);
        let end = object.iter().position(is_end).unwrap_or(object.len());
        let head = object[..end].last().is_some_and(|head| is_stated(head));
        let is_pronoun = object.first().is_some_and(|word| is_listed("it them", word));
        is_little && (head || is_pronoun && object.iter().any(|word| is_stated(word)))
            || inflections(&verb).iter().any(|form| self.nouns.contains(form))
    }

    /// Whether an order begins with a verb that is in a list or is the tool's own.
    fn knows(&self, order: &str) -> bool {
        let Some(verb) = first_word(order) else { return false };
        let is_own = || !self.own.is_empty() && inflections(&verb).contains(&self.own);
        let is_synonym =
            || actions_of_synonym(&verb).or_else(|| actions_of_phrase(order)).is_some();
        may_order(&verb) || is_own() || self.is_named_after(&verb, order) || is_synonym()
    }

    /// Whether its name has the verb of an order with one of its own things behind it: "drain node-3" for `node_drain`.
    fn is_named_after(&self, verb: &str, order: &str) -> bool {
        let said = words(order);
        let next = said.get(1).copied().unwrap_or_default();
        let noun = next.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let is_thing = || noun != verb && self.nouns.contains(&*singular(noun));
        self.name.iter().any(|word| word == verb)
            && (function_words::begins_object(next) || is_thing())
    }

    /// Whether the verb of an order is the tool's, or means the same.
    fn fits(&self, order: &str) -> bool {
        let Some(verb) = first_word(order) else { return false };
        let does = |actions: Actions| self.actions.overlaps(actions);
        if self.reverses(order) || order.contains(CONTENT) && !self.takes_content(order, &verb) {
            return false;
        }
        if let Some(actions) = actions_of_phrase(order) {
            return does(actions) || self.has(&verb) || self.is_switch && is_switching(order);
        }
        // "Get the van booked in".
        let is_done = |word: &str| {
            self.words.iter().any(|own| word != own && inflections(own).iter().any(|f| f == word))
        };
        if is_listed("get have", &verb) && words(order).iter().any(|word| is_done(word)) {
            return true;
        }
        // "Raise a ticket" makes one.
        if verb == "raise" && words(order).get(1).is_some_and(|next| is_listed(NEW, next)) {
            return self.makes_things();
        }
        // "Open a ticket" makes one, "open the door" starts no machine.
        if verb == "open" && !self.has("open") {
            let opens = |word: &String| {
                is_listed(
                    "add control create enable file launch make new raise register set submit toggle unlock",
                    word,
                )
            };
            return self.name.iter().any(opens);
        }
        if is_lowering(&verb, order) {
            return action_of("update").is_some_and(|(actions, _)| does(actions));
        }
        let means = || match action_of(&verb) {
            Some((actions, _)) => actions,
            None => actions_in([verb.as_str()].into_iter())
                .with(actions_of_synonym(&verb).unwrap_or_default()),
        };
        is_listed(GENERAL, &verb) || self.has(&verb) || does(means())
    }

    /// Whether a tool may be meant by an order with a text behind a colon: "write a mail: …" is for no tool
    /// that is about other things, and "text Dana: …" only for one that sends messages.
    fn takes_content(&self, order: &str, verb: &str) -> bool {
        let said = words(order);
        let mut named =
            said.iter().skip(1).filter(|word| is_content(word)).map(|word| singular(word));
        let is_in = |known: &[String], word: &str| known.iter().any(|known| known == word);
        if is_listed(WRITING, verb) {
            let sends = self.name.iter().any(|word| is_listed(MESSAGES, &singular(word)));
            return sends || named.any(|word| is_in(&self.words, &word));
        }
        // A tool that does what only the text orders was not meant.
        let is_about = |word: &str| is_in(&self.words, word) || is_in(&self.about, word);
        !is_listed(GENERAL, verb)
            || !order.contains(ORDERED)
            || self.has(verb)
            || named.any(|word| is_about(&word))
    }

    /// Whether an order has a word of the direction opposite to that of the tool's name: "turn it on" for
    /// `turn_off`, "put it back into service" for `take_out_of_service`.
    fn reverses(&self, order: &str) -> bool {
        let said = words(order);
        // "Turn the light on that went off": what is said of the object is no direction.
        let tells = |pair: &[&str]| is_past(pair[1]) || is_listed("is are was were", pair[1]);
        let begins =
            |pair: &[&str]| is_listed("which who", pair[0]) || pair[0] == "that" && tells(pair);
        let end = said.windows(2).position(begins).unwrap_or(said.len());
        let said = &said[..end];
        let is_named = |list| self.name.iter().any(|word| is_listed(list, word));
        // A word elsewhere in the name may be a preposition: "fill_form_in_file".
        let leads = |list| {
            let ends = [self.name.get(1), self.name.last()];
            ends.into_iter().flatten().any(|word| is_listed(list, word))
        };
        let is_said = |list| said.iter().any(|word| is_listed(list, word));
        let opposed = |one, other| {
            let is_reversed =
                || !is_said(one) || leads(one) && is_listed(other, direction(said, one, other));
            is_named(one) && !is_named(other) && is_said(other) && is_reversed()
        };
        OPPOSITES.iter().any(|(one, other)| opposed(one, other) || opposed(other, one))
    }

    /// Whether the first word of its name says that it makes something.
    fn is_named_after_making(&self) -> bool {
        let actions = actions_in(self.name.first().map(String::as_str).into_iter());
        action_of("create").is_some_and(|(making, _)| actions.overlaps(making))
    }

    fn makes_things(&self) -> bool {
        action_of("create").is_some_and(|(actions, _)| self.actions.overlaps(actions))
    }
}

/// Whether an order turns something on or off.
fn is_switching(order: &str) -> bool {
    let said = words(order);
    let has = |list: &str| said.iter().any(|word| is_listed(list, word));
    said.first().is_some_and(|verb| is_listed("turn switch", verb)) && has("on off")
}

/// Words of a direction that are also prepositions: "on floor 2", "in room 5".
const PREPOSITIONS: &str = "on in into";

/// Returns the word of an order that says which of two directions it means: the one after the verb
/// ("turn off the light on floor 2"), the one at the end, or the first that is no preposition.
fn direction<'a>(said: &[&'a str], one: &str, other: &str) -> &'a str {
    let is_direction = |word: &&&str| is_listed(one, word) || is_listed(other, word);
    let plain = said.iter().filter(is_direction).find(|word| !is_listed(PREPOSITIONS, word));
    let ends = [said.get(1), said.last()].into_iter().flatten();
    ends.filter(is_direction).chain(plain).next().copied().unwrap_or_default()
}

/// Words before something that is not there yet: "a picture of a cat", "new folder for my plans".
const NEW: &str = "a an another new some fresh";

/// Whether an order only names a thing to be made. "A cat was seen" and "a door closed" tell something.
fn is_new_thing(order: &str) -> bool {
    let words = words(order);
    words.first().is_some_and(|first| is_listed(NEW, first))
        && !words.iter().any(|word| is_past(word))
}

/// Whether a verb is in a text in any of its forms.
fn is_said(verb: &str, plain: &str) -> bool {
    may_order(verb) && inflections(verb).iter().any(|form| said(plain, form))
}

fn said(plain: &str, word: &str) -> bool {
    plain.split(|c: char| !c.is_alphanumeric()).any(|said| said == word)
}

/// Returns the words of a description that may say what the tool does: at the start of a sentence or
/// part, and after "and", "to" and the like. In "reopens a closed ticket" it does not close.
fn verbs_of(description: &str) -> Vec<String> {
    let (mut begins, mut before, mut found) = (true, String::new(), Vec::new());
    for token in description.split_whitespace() {
        let word = token.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        if begins || is_listed(LEADING, &before) {
            found.extend(words_of(&word));
        }
        begins = token.ends_with(['.', ':', '!', '?', ',', ';', ')']);
        before = word;
    }
    found
}

/// Words of a description after which a verb says what the tool does.
const LEADING: &str = "this tool function endpoint api operation method command for you to and or can will which that by \
    permanently immediately";

/// Whether a prompt has a word only as a name, with a capital: "put Miller Plumbing on request 5".
fn is_name(prompt: &str, word: &str) -> bool {
    let mut said = prompt.split(|c: char| !c.is_alphanumeric()).filter(|said| {
        let letters = said.chars().count();
        letters >= word.chars().count() && said.to_lowercase().starts_with(word)
    });
    let is_capital = |said: &str| {
        let mut chars = said.chars();
        chars.next().is_some_and(char::is_uppercase)
            && chars.next().is_some_and(char::is_lowercase)
            && !prompt.starts_with(said)
    };
    said.next().is_some_and(is_capital) && said.all(is_capital)
}

/// The first word, without hyphens: "re-open".
fn first_word(order: &str) -> Option<String> {
    let has_word = !order.trim().is_empty();
    has_word.then(|| plain_text::first_word(order).replace('-', ""))
}

mod other_object;
#[cfg(test)]
mod tests;
