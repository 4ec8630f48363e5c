//! How well a name that is left of the prompt fits a parameter.

use std::ops::Range;

use super::super::REGION_WORDS;
use super::super::country::is_region;
use super::super::slot::{Kind, PEOPLE, Role, Slot};
use super::super::text::{Word, is_article, is_function_word, is_listed, stem, words};
use super::names::begins_a_name;

/// A part of the prompt that may be the value of an open parameter.
pub(super) struct Candidate {
    pub span: Range<usize>,
    pub value: String,
    /// The word before it, without articles; empty if there is none.
    pub lead: String,
    pub is_quoted: bool,
    /// Whether it begins with a digit, so that only a word beside it says what it is: "the 2019-2020 season".
    pub is_number: bool,
    /// The stems of the words beside it, which may say what it is: "the company Google", "Chicago team".
    pub beside: Vec<String>,
}

impl Candidate {
    /// Whether it may be a person's first and last name.
    pub fn is_full_name(&self) -> bool {
        let mut words = self.value.split_whitespace();
        // Chinese names have no spaces.
        let is_chinese = self.value.starts_with(|c| ('\u{4E00}'..='\u{9FFF}').contains(&c));
        // "דנה ולרון" are two.
        let is_joined = words.clone().skip(1).any(|word| word.starts_with('ו'));
        (is_chinese || words.clone().count() > 1 && !is_joined)
            && words.all(|word| word.starts_with(begins_a_name))
    }

    /// Whether it is one plain word, which after "in" is a place or nothing: "in Mississippi".
    pub fn needs_place(&self) -> bool {
        let is_plain = self.value.chars().skip(1).all(char::is_lowercase);
        is_plain && !self.is_quoted
    }
}

/// Words in names and descriptions of parameters for places.
const PLACE_WORDS: &str = "address area city continent country county destination island location near neighborhood origin place \
     region site state town venue where zone";

/// Words in names of parameters whose values are seldom names.
const ATTRIBUTES: &str = "category date day format genre kind language level method mode month period season sort status style \
     time type unit units year";

/// Words in names of parameters for the person who made something.
const MAKERS: &str = "artist author brand composer creator director maker manufacturer painter poet publisher sculptor singer \
     writer";

/// Words in names of parameters for what something is a part of: "Real Madrid in La Liga".
const WHOLES: &str = "album catalog collection competition database department group league library market platform \
     project series store team tournament";

/// Returns the noun with which a description begins: `label` of "The label to assign", `actor` of "The lead
/// actor in the film".
fn head_noun(about: &[Word]) -> Option<&str> {
    let words = about.iter().map(|word| word.lower.as_str());
    let mut first = words.skip_while(|word| is_article(word)).take(4);
    let mut last = None;
    for word in first.by_ref() {
        if is_function_word(word) || is_listed(word, "whose used") {
            return last;
        }
        last = Some(word);
    }
    (about.len() <= 4).then_some(last).flatten()
}

/// Which end of a way a name is by the word before it.
pub(super) fn role_of_lead(lead: &str) -> Option<Role> {
    match lead {
        "from" => Some(Role::Start),
        "to" | "into" => Some(Role::End),
        _ => None,
    }
}

/// How well a part of the prompt fits a parameter; `None` if it does not. A parameter that is not needed
/// takes only what a word says to be its value.
pub(super) fn score(slot: &Slot, one: &Candidate, is_needed: bool) -> Option<u8> {
    let lead = one.lead.as_str();
    let about = words(slot.description.as_deref().unwrap_or_default());
    let is_place = slot.kind == Kind::Place
        || slot.has_word(PLACE_WORDS)
        || about.iter().take(8).any(|word| is_listed(&word.lower, PLACE_WORDS));
    let role = role_of_lead(lead);
    let of_role = match (slot.role, role) {
        (Some(own), Some(said)) if own != said => return None,
        (Some(_), Some(_)) => 2,
        _ => 0,
    };
    let head = head_noun(&about);
    let nouns = slot.nouns().chain(slot.of.as_deref()).chain(head);
    let mut nouns = nouns
        .map(|noun| stem(noun.strip_suffix("name").filter(|rest| rest.len() > 2).unwrap_or(noun)));
    let is_named = nouns.any(|noun| one.beside.contains(&noun));
    let is_region = is_region(&one.value);
    let is_within = is_listed(lead, "in at near around within");
    let takes_region = slot.has_word(REGION_WORDS);
    let is_misplaced = (takes_region && !is_region && is_place)
        || (!is_place && is_within && (is_region || one.needs_place()))
        || (slot.kind == Kind::Message && !one.is_quoted);
    if !is_named && (is_misplaced || one.is_number) {
        return None;
    }
    let of_place = u8::from(is_place && (is_within || lead == "for")) * 2;
    let of_region = u8::from(takes_region && is_region) * 2;
    let is_maker = slot.has_word(MAKERS) || slot.words.last().is_some_and(|last| last == "by");
    let of_maker = u8::from(lead == "by" && is_maker) * 2;
    let is_person =
        is_maker || slot.is_person() || head.is_some_and(|noun| is_listed(noun, PEOPLE));
    let of_person = u8::from(is_person && is_maker == (lead == "by") && one.is_full_name());
    let is_whole = slot.has_word(WHOLES) && (is_within || is_listed(lead, "from on"));
    let of_whole = u8::from(is_whole) * 2;
    let cues = of_role + of_place + of_region + of_maker + of_person + of_whole;
    let cues = cues + u8::from(is_named) * 4;
    // A name is seldom a form, a day or a kind.
    let is_seldom = (!is_place && is_within) || slot.has_word(ATTRIBUTES);
    let base = if is_seldom { 1 } else { 2 };
    (is_needed || cues > 0).then_some(cues + if is_needed { base } else { 0 })
}
