//! Assigns the words after a parameter's name: "with assignee maria", "in zone D".

use std::ops::Range;

use serde_json::Value;

use super::super::arguments::may_be_meant;
use super::super::interpretation::Interpretation;
use super::super::mention::{Content, Mention, is_certain_id};
use super::super::slot::{Kind, Slot};
use super::super::text::{is_article, is_function_word, is_listed, overlap, stem};
use super::Plan;

/// Words before a name after which its value is sure to follow.
const SURE: &str = "with using";

/// Words before a name after which its value may follow: "to agent tom", but "for customer support".
const LIKELY: &str = "to for of in from at on by";

/// The most words of a value that no sign ends.
const MOST_WORDS: usize = 8;

/// What stands after the name of a parameter.
struct NamedWords {
    span: Range<usize>,
    /// The span with the name and the word before it.
    whole: Range<usize>,
    is_sure: bool,
}

impl Plan<'_> {
    /// Gives open text parameters the words after their names. Words that may mean something else,
    /// and words that are no value of a parameter with listed values, become a question.
    pub(super) fn give_after_names(&mut self) {
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            let is_text = matches!(
                slot.kind,
                Kind::Text | Kind::Message | Kind::Place | Kind::Id | Kind::Choice
            );
            if !is_text || slot.is_list || !self.is_open(at) {
                continue;
            }
            let all = self.after_names(slot);
            let Some(found) = all.first() else { continue };
            self.spent.push(found.whole.clone());
            self.offer(at, &found.span, found.is_sure);
            // "Room 203 and room 204" are two rooms.
            let sure = all.iter().filter(|found| found.is_sure);
            let mut said: Vec<String> = sure.map(|found| self.text_of(&found.span)).collect();
            said.dedup();
            if said.len() > 1 {
                self.ask_about(at, "several values are said", said);
            }
        }
    }

    /// Gives the only required name what stands behind "called": "create a repository called tools-lab".
    pub(super) fn give_called(&mut self) {
        let is_name = |slot: &Slot| {
            let is_text = matches!(slot.kind, Kind::Text | Kind::Id) && !slot.is_list;
            is_text && slot.required && slot.has_word("name title")
        };
        let (Some(slot), words) = (self.only(is_name), self.context.words) else { return };
        // "A friend of a man named Daniel" is no friend of that name.
        let is_thing = |at: usize| {
            let word = words[at].lower.as_str();
            word == "one" || self.tool_words.contains(&stem(word))
        };
        let is_called = |at: &usize| {
            is_listed(&words[*at].lower, "called named titled")
                && is_thing(*at - 1)
                && words[..*at].iter().all(|word| word.lower != "of")
        };
        let mut called = (1..words.len()).filter(is_called);
        let (Some(at), None) = (called.next(), called.next()) else { return };
        let Some((span, is_whole)) = self.value_at(at + 1, true) else { return };
        if !self.context.denies(span.start) {
            let said = &self.context.text[span.clone()];
            // "Called Oak Table at 89 euros", but "called Pick up Lena" goes on.
            let is_name = said.split(' ').all(|word| !word.starts_with(char::is_lowercase));
            let is_sure = is_whole || is_name && said.contains(' ');
            self.offer(slot, &span, is_sure);
        }
    }

    /// Gives a part of the prompt to a text slot. A part that is not sure, or that is no value of the
    /// slot, becomes a question.
    pub(super) fn offer(&mut self, slot: usize, span: &Range<usize>, is_sure: bool) {
        self.offer_value(slot, span, self.text_of(span), is_sure);
    }

    /// Like [`Plan::offer`] with a value that is not all of the part, such as a quote without its marks.
    pub(super) fn offer_value(
        &mut self,
        slot: usize,
        span: &Range<usize>,
        said: String,
        is_sure: bool,
    ) {
        let (value, this) = (Value::from(said.as_str()), &self.slots[slot]);
        let misfit = self.reader.checker.misfit(&this.path, this.is_list, &value);
        self.spent.push(span.clone());
        for (mention, taken) in self.context.mentions.iter().zip(&mut self.taken) {
            *taken |= span.start <= mention.span.start && mention.span.end <= span.end;
        }
        match misfit {
            Some(why) => self.ask_about(slot, &why, vec![said]),
            None if is_sure || (self.effects.reads_only() && self.slots[slot].required) => {
                self.take(slot, value, span, "");
            }
            None => self.ask_about(slot, &may_be_meant(&said), vec![said]),
        }
    }

    /// Finds the words that stand after the name of a slot as its value.
    fn after_names(&self, slot: &Slot) -> Vec<NamedWords> {
        let mut nouns: Vec<&str> = slot.nouns().collect();
        if nouns.is_empty() {
            nouns = slot.words.iter().map(String::as_str).collect();
        }
        let words = self.context.words;
        let found = words.windows(nouns.len() + 1).enumerate().filter_map(|(at, named)| {
            let is_named = named.iter().zip(&nouns).all(|(word, noun)| word.lower == *noun);
            is_named.then(|| self.value_after(slot, at, at + nouns.len())).flatten()
        });
        found.collect()
    }

    /// Returns the value after the words from `first` up to `next`, which are the name of a slot.
    fn value_after(&self, slot: &Slot, first: usize, next: usize) -> Option<NamedWords> {
        let words = self.context.words;
        // In "the Plaza Hotel in Rome" the name is a part of another.
        let is_part = first > 0 && self.is_capital(first);
        if is_part || self.context.denies(words[first].span.start) {
            return None;
        }
        let lead = words[..first].iter().rposition(|word| !is_article(&word.lower));
        let lead_word = lead.map_or("", |at| words[at].lower.as_str());
        let edge = lead.map_or(0, |at| words[at].span.end);
        let before = &self.context.text[edge..words[first].span.start];
        // "…, the card works again" is a clause of its own.
        let has_article = lead.is_some_and(|lead| lead + 1 < first);
        let is_listed_part = before.contains([',', ';']) && lead.is_some() && !has_article;
        let gap = self.gap(next - 1, next)?;
        let is_assigned = matches!(gap, ":" | "=");
        if !gap.is_empty() && !is_assigned {
            return None;
        }
        // Words such as "name" and "text" are no names of values but after "with" or before a colon.
        let is_general = slot.kind == Kind::Message || slot.nouns().next().is_none();
        if is_general && !is_assigned && !is_listed(lead_word, SURE) {
            return None;
        }
        let is_named = is_listed(&words[next].lower, "called named titled");
        // "The member named Tom" has a number that is not said.
        if is_named && slot.kind == Kind::Id {
            return None;
        }
        let is_sure_lead = is_assigned || is_listed_part || is_listed(lead_word, SURE) || is_named;
        let start = next + usize::from(is_named);
        // What follows a colon may be a reason: "block the member: he stole a bike".
        let has_clause = is_assigned && !slot.is_person();
        let clause = has_clause.then(|| self.clause_at(slot, start)).flatten();
        let is_clause = clause.is_some();
        let (span, is_whole) = clause.or_else(|| self.value_at(start, is_sure_lead))?;
        let said = self.context.text[span.clone()].to_owned();
        let is_name = said.split_whitespace().all(|word| !word.starts_with(char::is_lowercase));
        let is_code = is_name || said.contains(|c: char| c.is_ascii_digit());
        let begins = lead.is_none_or(|at| at == 0 || self.gap(at - 1, at) == Some(","));
        let begins = begins || is_listed(lead_word, "and or");
        let is_likely = is_listed(lead_word, LIKELY) || (begins && is_code);
        let is_one = !said.contains(char::is_whitespace);
        let is_meant = is_sure_lead || is_likely && (is_one || is_name);
        if !is_meant || self.is_no_value_of(slot, &said) {
            return None;
        }
        let is_lead = |word: &str| is_listed(word, SURE) || is_listed(word, LIKELY);
        let from = lead.filter(|_| is_lead(lead_word)).unwrap_or(first);
        // "password protected" says how it is.
        let is_state = is_one && !is_code && (said.ends_with("ed") || said.ends_with("ing"));
        // "On branch main."
        let is_named_last =
            slot.required && is_whole && is_listed(lead_word, LIKELY) && !self.effects.destroys();
        let is_sure = match is_clause {
            true => is_whole,
            false => !is_state && (is_sure_lead && is_whole || is_code || is_named_last),
        };
        Some(NamedWords { whole: words[from].span.start..span.end, span, is_sure })
    }

    /// Whether an id is said for another thing: "link MOB-80" for a `link_type`.
    fn is_no_value_of(&self, slot: &Slot, said: &str) -> bool {
        slot.kind == Kind::Choice && is_certain_id(said) || self.is_of_another_kind(said, slot)
    }

    /// Returns the words from `start` to the end of a clause as the text of a slot, and whether nothing
    /// follows but other parameters: "solution: replaced the valve". Returns `None` if a part of it is
    /// the value of another parameter.
    fn clause_at(&self, slot: &Slot, start: usize) -> Option<(Range<usize>, bool)> {
        let words = self.context.words;
        let text = self.context.text;
        if !matches!(slot.kind, Kind::Text | Kind::Message) {
            return None;
        }
        let is_end = |at: &usize| {
            let gap = &text[words[*at - 1].span.end..words[*at].span.start];
            let mut signs = gap.char_indices();
            signs.any(|(at, c)| match c {
                ',' | ':' => slot.kind == Kind::Text,
                '.' => gap[at + 1..].starts_with(char::is_whitespace),
                _ => ";!?\n".contains(c),
            })
        };
        let mut end = (start + 1..words.len()).find(is_end).unwrap_or(words.len());
        let next = words.get(end);
        let is_whole = next.is_none_or(|next| {
            let is_mention = self.context.mentions.iter().any(|m| m.span.start == next.span.start);
            let is_name = self.slots.iter().any(|slot| slot.words.contains(&next.lower));
            is_mention || is_name || is_listed(&next.lower, "and or please then")
        });
        while end > start + 1 && is_listed(&words[end - 1].lower, "and with") {
            end -= 1;
        }
        let span = words.get(start)?.span.start..words[end - 1].span.end;
        let is_other = self.spent.iter().any(|spent| overlap(spent, &span))
            || self.context.mentions.iter().any(|mention| {
                let reads = |at: usize| {
                    let other = &self.slots[at];
                    let reading = self.reader.read(mention, other, false);
                    self.is_open(at)
                        && other.name != slot.name
                        && matches!(reading, Interpretation::Value { .. })
                };
                overlap(&mention.span, &span) && (0..self.slots.len()).any(reads)
            });
        (!is_other).then_some((span, is_whole))
    }

    /// Returns the text between two words.
    fn gap(&self, left: usize, right: usize) -> Option<&str> {
        let words = self.context.words;
        let (left, right) = (words.get(left)?, words.get(right)?);
        Some(self.context.text[left.span.end..right.span.start].trim())
    }

    /// Whether a word is written as a name. A script without capitals only has names and unknown words in a translation.
    pub(super) fn is_capital(&self, at: usize) -> bool {
        let word = self.context.words.get(at);
        word.is_some_and(|word| self.context.text[word.span.clone()].starts_with(begins_a_name))
    }

    /// Whether a word may belong to a value: it is no function word, no name of a parameter, no value of
    /// another kind, and no word of the tool. A word of the tool may only begin a value that is sure.
    fn is_value_word(&self, at: usize, (is_first, is_sure): (bool, bool)) -> bool {
        const GENERAL: &str = "address code id key level name no number title type value";
        let word = &self.context.words[at];
        let overlaps =
            |other: &Range<usize>| other.start < word.span.end && word.span.start < other.end;
        let is_other = self.context.mentions.iter().any(|mention| {
            let is_word = matches!(
                mention.content,
                Content::Token(_) | Content::Place(_) | Content::Amount(_)
            );
            overlaps(&mention.span) && !is_word
        });
        let is_of_tool = self.tool_words.contains(&stem(&word.lower)) && !(is_first && is_sure);
        let is_name = is_listed(&word.lower, GENERAL)
            || self.slots.iter().any(|slot| slot.words.contains(&word.lower));
        // "For" may be a word of a title, but not its first.
        let is_title = !is_first && self.is_capital(at) && word.lower != "i";
        let is_prose = is_function_word(&word.lower) && !is_title;
        !is_other && !is_prose && !is_of_tool && !is_name && !self.spent.iter().any(overlaps)
    }

    /// Returns the range of the words of a value from `start` up to a sign or a function word, and
    /// whether the clause ends there.
    pub(super) fn value_at(&self, start: usize, is_sure: bool) -> Option<(Range<usize>, bool)> {
        let words = self.context.words;
        let goes_on =
            |at: usize| self.gap(at - 1, at).is_some_and(|gap| matches!(gap, "" | "-" | "."));
        let mut end = start;
        while end < words.len()
            && self.is_value_word(end, (end == start, is_sure))
            && (end == start || goes_on(end))
        {
            end += 1;
        }
        // "Branch release/3.2".
        let mut mentions = self.context.mentions.iter();
        let is_path = |mention: &&Mention| {
            matches!(mention.content, Content::Path(_))
                && words.get(start).is_some_and(|word| word.span.start == mention.span.start)
        };
        if let Some(path) = mentions.find(is_path).filter(|_| end == start) {
            end += words[start..].partition_point(|word| word.span.end <= path.span.end);
        }
        if end == start || end - start > MOST_WORDS {
            return None;
        }
        let last = words[end - 1].span.end;
        let next = words.get(end);
        let rest =
            &self.context.text[last..next.map_or(self.context.text.len(), |word| word.span.start)];
        let next_word = next.map_or("", |word| word.lower.as_str());
        let is_whole = match rest.trim_start().chars().next() {
            None => next_word.is_empty() || is_listed(next_word, "and or please with"),
            // "40%" and "2x^2" go on.
            Some(sign) => ",;.:!?)".contains(sign),
        };
        let said = &self.context.text[words[start].span.start..last];
        let is_code = end - start == 1 && said.contains(|c: char| c.is_ascii_digit());
        // "Mark room 203 clean" says how the room is. To delete "room 203 data" is another matter.
        let is_described =
            is_code && !self.effects.destroys() && self.tool_words.contains(&stem(next_word));
        let is_cut = rest.trim().is_empty() && (is_function_word(next_word) || is_described);
        (is_whole || is_cut).then_some((words[start].span.start..last, is_whole))
    }
}

/// Whether a letter is a capital, or of a script that has none.
pub(super) fn begins_a_name(letter: char) -> bool {
    letter.is_uppercase() || letter.is_alphabetic() && !letter.is_lowercase()
}
