//! Gives the only words that are left of the prompt to the only text that is asked for.

use std::ops::Range;

use super::super::mention::{Content, Mention};
use super::super::slot::{Kind, Slot};
use super::super::text::{
    TITLES, Word, is_article, is_function_word, is_listed, overlap, stem, without_possessive,
};
use super::super::unit::{Dimension, Unit};
use super::Plan;
use super::name_fit::score;
use super::names_left::JOINTS;

/// Words of questions and orders that are no values.
pub(super) const ASKING: &str = "another associated called calculate compare current data detail details determine details exact explain find included includes including information \
     know latest like list look much many name named names new number please retrieve search see specific tell titled today value \
     want";

/// Words that say when or how, or that stand for a name.
pub(super) const ADVERBS: &str = "again any anybody anyone anything asap back both each every everybody everyone everything fast first \
     her herself him himself it me myself nobody now once one others please somebody someone soon straight them themselves today \
     tomorrow too whoever yet yourself";

/// Adjectives that choose one of several things, and are no label.
pub(super) const CHOOSING: &str = "active big current different last latest long main new next old other own previous \
     quick second short small third whole";

/// Words before an "'s" that is a verb: "what's".
const CONTRACTED: &str = "he here how it let she that there what when where who why";

/// Words before a phrase that is a value.
const LEADS: &str = "a about an by in of on regarding the";

/// The most words of such a phrase.
const MOST_WORDS: usize = 4;

/// Whether a reason ends at a sign: not within a number or after the title of a person.
fn ends_reason(text: &str, at: usize, sign: char) -> bool {
    let rest = &text[at + sign.len_utf8()..];
    let before = text[..at].split_whitespace().next_back().unwrap_or_default().to_lowercase();
    match sign {
        ',' | ';' | '\n' => true,
        '.' | '!' | '?' => {
            !(is_listed(&before, TITLES) || before == "st")
                && rest.chars().next().is_none_or(char::is_whitespace)
        }
        _ => false,
    }
}

impl Plan<'_> {
    /// Gives the only phrase that is left to the only required text that is open: "Who discovered the
    /// neutron?", "unlock mara". All other words of the prompt are then words of the tool, of its
    /// parameters or of other values.
    pub(super) fn give_phrase_left(&mut self) {
        let is_text = |slot: &Slot| slot.kind.is_text() || slot.kind == Kind::Place;
        let slots = self.open_required(is_text);
        // "How much PETG is left" for an optional `material` would else be answered for all.
        let only = || self.only(is_text).filter(|_| self.effects.reads_only() && !self.has_any());
        let needed = self.open_required(|_| true);
        let (slot, is_optional) = match slots[..] {
            [slot] => (slot, false),
            [] if needed.is_empty() => match only() {
                Some(slot) => (slot, true),
                None => return,
            },
            _ => return,
        };
        let this = &self.slots[slot];
        if this.kind != Kind::Text || this.is_list || this.says("code expression function sql") {
            return;
        }
        let phrases = self.phrases_left();
        let measured: Vec<_> = phrases.iter().filter(|one| self.is_measured(one)).collect();
        if let ([measured], false) = (&measured[..], self.effects.reads_only()) {
            let (_, span) = self.place_of(measured);
            return self.offer(slot, &span, measured.len() <= MOST_WORDS);
        }
        let [phrase] = &phrases[..] else { return };
        let (lead, span) = self.place_of(phrase);
        let said = self.text_of(&span);
        if phrase.len() > MOST_WORDS || self.context.denies(span.start) {
            return;
        }
        if is_optional {
            if said.chars().all(|c| c.is_uppercase() || c.is_ascii_digit()) {
                self.give_candidate(slot, &span, &said);
            }
        } else if self.effects.reads_only() {
            if is_listed(lead, LEADS) {
                self.give_candidate(slot, &span, &said);
            }
        } else if self.is_name_of(phrase, this) {
            let one = self.candidate(span.clone(), said.clone());
            if score(this, &one, true).is_some() {
                self.offer(slot, &span, true);
            }
        }
    }

    /// Gives a parameter for a reason what follows "because" to the end of the sentence.
    pub(super) fn give_reason(&mut self) {
        let is_reason = |slot: &Slot| {
            let is_text = matches!(slot.kind, Kind::Text | Kind::Message) && !slot.is_list;
            is_text && slot.is_reason()
        };
        let Some(slot) = self.only(is_reason) else { return };
        let text = self.context.text;
        let lead = self.context.words.windows(2).find_map(|pair| match &pair[0].lower[..] {
            "because" if pair[1].lower == "of" => Some(pair[1].span.end),
            "because" => Some(pair[0].span.end),
            "due" if pair[1].lower == "to" => Some(pair[1].span.end),
            _ => None,
        });
        let Some(from) = lead else { return };
        let rest = &text[from..];
        let start = from + rest.len() - rest.trim_start().len();
        let sign = rest.char_indices().find(|(at, c)| ends_reason(rest, *at, *c));
        let joint =
            [" but ", " and then ", " - ", " – "].into_iter().filter_map(|to| rest.find(to));
        let length = sign.map(|(at, _)| at).into_iter().chain(joint).min();
        let end = from + length.unwrap_or(rest.len());
        let span = start..start.max(end);
        // A later time would be lost in it.
        let is_time = |mention: &Mention| {
            let content = &mention.content;
            matches!(content, Content::When(_) | Content::Period(_) | Content::Unclear)
        };
        let mut mentions = self.context.mentions.iter();
        let has_time = mentions.any(|one| overlap(&one.span, &span) && is_time(one));
        let is_spent = self.spent.iter().any(|spent| overlap(spent, &span));
        if !(has_time || is_spent || span.is_empty()) {
            self.offer(slot, &span, true);
        }
    }

    /// Whether a phrase is what an amount with a unit measures: "84.5 kg tomatoes", "2 litres of oat milk".
    fn is_measured(&self, phrase: &Range<usize>) -> bool {
        let said = &self.context.words[phrase.clone()];
        let (start, end) = (said[0].span.start, said[said.len() - 1].span.end);
        let is_other = |word: &Word| {
            let lists = ["either missing worth", ADVERBS, CHOOSING];
            lists.iter().any(|list| is_listed(&word.lower, list))
        };
        let after = self.context.after(end);
        let goes_on = after.first().is_some_and(|word| is_listed(&word.lower, "and of or"));
        if goes_on || said.iter().any(is_other) || self.context.denies(start) {
            return false;
        }
        let measures =
            |unit: &Unit| matches!(unit.dimension(), Dimension::Mass | Dimension::Volume);
        self.context.mentions.iter().any(|mention| {
            let gap = self.context.text.get(mention.span.end..start);
            gap.is_some_and(|gap| matches!(gap, " " | " of "))
                && matches!(&mention.content, Content::Amount(amount) if amount.units.iter().any(measures))
        })
    }

    /// Whether the words of a phrase are a name in capitals for a parameter of a tool that may change something.
    fn is_name_of(&self, phrase: &Range<usize>, slot: &Slot) -> bool {
        let all = self.context.words;
        let Some(lead) = phrase.start.checked_sub(1).map(|at| &all[at]) else { return false };
        let earlier = phrase.start.checked_sub(2).map_or("", |at| all[at].lower.as_str());
        let is_led = is_listed(&lead.lower, "as by for of the to with") && earlier != "because"
            || self.is_content_of_tool(&lead.lower)
            || (!is_function_word(&lead.lower) && slot.is_about(&lead.lower));
        let is_capital =
            phrase.clone().all(|at| self.is_capital(at) || is_listed(&all[at].lower, JOINTS));
        // "Discharge the patient -- Tom Berger" is signed.
        let is_joined = self.context.text[lead.span.end..all[phrase.start].span.start]
            .chars()
            .all(char::is_whitespace);
        is_led && is_capital && is_joined
    }

    /// Returns the runs of words that are none of the tool, of its parameters, or of values.
    fn phrases_left(&self) -> Vec<Range<usize>> {
        let all = self.context.words;
        let is_left = |at: usize| {
            let word = &all[at];
            let is_taken = |span: &Range<usize>| overlap(span, &word.span);
            let is_value = |content: &Content| match content {
                Content::Place(_) => false,
                Content::Token(_) => content.is_id(),
                _ => true,
            };
            let mut mentions = self.context.mentions.iter();
            !is_function_word(&word.lower)
                && !is_listed(&word.lower, ASKING)
                && !self.tool_words.contains(&stem(&word.lower))
                && !self.slots.iter().any(|slot| slot.words.contains(&word.lower))
                && !self.spent.iter().any(is_taken)
                && !mentions.any(|mention| is_value(&mention.content) && is_taken(&mention.span))
        };
        let mut phrases: Vec<Range<usize>> = Vec::new();
        for at in (0..all.len()).filter(|at| is_left(*at)) {
            let follows = |last: &&mut Range<usize>| {
                let gap = &self.context.text[all[at - 1].span.end..all[at].span.start];
                last.end == at && matches!(gap, " " | "-")
            };
            match phrases.last_mut().filter(follows) {
                Some(last) => last.end = at + 1,
                None => phrases.push(at..at + 1),
            }
        }
        phrases
    }

    /// The words that no parameter took, and by which a tool that only reads may be meant to show less: a name, "Bob's", "in
    /// maths". Without a parameter for a text there are none.
    pub fn words_unused(&self) -> Vec<Range<usize>> {
        let takes_words =
            |slot: &Slot| !slot.is_list && matches!(slot.kind, Kind::Text | Kind::Id | Kind::Place);
        let mut slots = (0..self.slots.len()).filter(|at| self.is_open(*at));
        if !self.effects.reads_only() || !slots.any(|at| takes_words(&self.slots[at])) {
            return Vec::new();
        }
        let all = self.context.words;
        let chooses = |phrase: &Range<usize>| {
            let (lead, span) = self.place_of(phrase);
            let said = self.text_of(&span).to_lowercase();
            let rest = self.context.text[span.end..].trim_start();
            // "Hi Claude, list devices", "what's", "in alphabetical order".
            let is_address = rest.starts_with(',') && phrase.start < 2;
            let is_general = phrase.clone().any(|at| {
                let lists = [ADVERBS, CHOOSING, "alphabetical available existing order total"];
                lists.iter().any(|list| is_listed(&all[at].lower, list))
            });
            if is_address || is_general || is_listed(&said, CONTRACTED) {
                return false;
            }
            let is_name = phrase.clone().all(|at| self.is_capital(at));
            let is_owner = span.end < all[phrase.end - 1].span.end;
            // "The closed requests".
            let is_state = all.get(phrase.end).is_some_and(|next| self.is_of_tool(&next.lower));
            is_name || is_owner || is_state || is_listed(lead, "by for from in of with")
        };
        let phrases = self.phrases_left().into_iter().filter(chooses);
        phrases.map(|phrase| self.place_of(&phrase).1).collect()
    }

    /// Gives the words beside the tool's thing to the only optional text for its label: "start a pasta timer".
    /// A tool that ends something asks: without them it may end more.
    pub(super) fn give_label(&mut self) {
        let is_label = |slot: &Slot| {
            let is_text = slot.kind == Kind::Text && !slot.is_list && !slot.required;
            // Only what ends something needs to know which.
            let names = if self.ends { "label name tag title" } else { "label" };
            is_text && slot.has_word(names)
        };
        let Some(slot) = self.only(is_label) else { return };
        let needed = self.open_required(|_| true);
        let all = self.context.words;
        let mut phrases = self.phrases_left();
        phrases.retain(|phrase| phrase.end > 1);
        let ([phrase], true) = (&phrases[..], needed.is_empty()) else { return };
        let things = &self.tool_words[1.min(self.named)..self.named];
        let is_thing =
            |word: Option<&Word>| word.is_some_and(|word| things.contains(&stem(&word.lower)));
        let word = all[phrase.end - 1].lower.as_str();
        let describes = ["ed", "ing", "ly", "est"].iter().any(|end| word.ends_with(end))
            || is_listed(word, ADVERBS)
            || is_listed(word, CHOOSING);
        let before = all[..phrase.start].iter().rev().find(|word| !is_article(&word.lower));
        let is_for = before.is_some_and(|word| is_listed(&word.lower, "called for named of"));
        if describes || phrase.len() > 2 || !(is_thing(all.get(phrase.end)) || is_for) {
            return;
        }
        let (_, span) = self.place_of(phrase);
        let is_sure = !self.ends;
        if !self.context.denies(span.start) {
            self.offer(slot, &span, is_sure);
        }
    }

    /// Returns the word before a phrase, empty if there is none, and its place without an "'s".
    fn place_of(&self, phrase: &Range<usize>) -> (&str, Range<usize>) {
        let all = self.context.words;
        let lead = phrase.start.checked_sub(1).map_or("", |at| all[at].lower.as_str());
        let start = all[phrase.start].span.start;
        let said = &self.context.text[start..all[phrase.end - 1].span.end];
        (lead, start..start + without_possessive(said).len())
    }
}
