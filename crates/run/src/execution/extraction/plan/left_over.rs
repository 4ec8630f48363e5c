//! Fills required parameters that are still open from what is left of the prompt: names, quotes and
//! numbers that nothing else took. Of all ways to assign them, one must be clearly the best.

use std::ops::Range;

use serde_json::Value;

use super::super::REGIONS;
use super::super::country::is_region;
use super::super::interpretation::Interpretation;
use super::super::mention::{Content, joins_region};
use super::super::slot::{Kind, Role, Slot};
use super::super::text::{is_function_word, is_listed, overlap, stem, words};
use super::{Cue, Plan};

/// A part of the prompt that may be the value of an open parameter.
struct Candidate {
    span: Range<usize>,
    value: String,
    /// The word before it, without articles; empty if there is none.
    lead: String,
    is_quoted: bool,
    /// Whether it begins with a digit, so that only a word beside it says what it is: "the 2019-2020 season".
    is_number: bool,
    /// The stems of the words beside it, which may say what it is: "the company Google", "Chicago team".
    beside: Vec<String>,
}

/// The most open parameters and the most values for which every assignment is compared.
const MOST: usize = 6;

/// Words in names and descriptions of parameters for places.
const PLACES: &str = "address area city continent country county destination island location near neighborhood origin place \
     region site state town venue where zone";

/// Words in names of parameters whose values are seldom names.
const ATTRIBUTES: &str = "category date day format genre kind language level method mode month period season sort status style \
     time type unit units year";

/// Words in names of parameters for the person who made something.
const MAKERS: &str = "artist author brand composer creator director maker manufacturer painter poet publisher sculptor singer \
     writer";

/// Names of the calendar, and of languages' own names for it, which are no names of things.
const CALENDAR: &str = "january february march april may june july august september october november december \
     monday tuesday wednesday thursday friday saturday sunday today tomorrow";

/// Words that join the words of one name.
const JOINTS: &str = "de del der di du la of the van von";

/// Words of questions and orders that are no values.
const ASKING: &str = "associated calculate compare current data detail details determine details exact explain find included includes including information \
     know latest like list look much many name names number please retrieve search see specific tell today value \
     want";

/// Words that say when or how, not who.
const ADVERBS: &str =
    "again asap back first fast it now once please soon straight today tomorrow too yet";

/// Words before a phrase that is a value.
const LEADS: &str = "a about an by for in of on regarding the";

/// The most words of such a phrase.
const MOST_WORDS: usize = 4;

impl Candidate {
    /// Whether it is one plain word, which after "in" is a place or nothing: "in Mississippi".
    fn needs_place(&self) -> bool {
        let is_plain = self.value.chars().skip(1).all(char::is_lowercase);
        is_plain && !self.is_quoted
    }
}

impl Plan<'_> {
    /// Assigns names, quotes and numbers to required parameters. A tool that may change something gets
    /// none of them: what would be its value becomes a question.
    pub(super) fn give_left_over(&mut self) {
        self.give_lists();
        self.give_numbers();
        if !self.effects.reads_only() {
            self.give_phrase_left();
        }
        self.give_proper_names();
        self.give_list_of_names();
        if self.effects.reads_only() {
            self.give_phrase_left();
            self.give_person_filter();
        }
    }

    /// Gives the lists in brackets to list parameters: to those of a row in order, otherwise to the one that
    /// is meant.
    fn give_lists(&mut self) {
        let lists: Vec<usize> = (0..self.taken.len())
            .filter(|at| !self.taken[*at] && matches!(self.mention(*at).content, Content::List(_)))
            .collect();
        let slots: Vec<usize> = (0..self.slots.len())
            .filter(|at| self.is_open(*at) && self.slots[*at].is_list)
            .collect();
        if lists.is_empty() || slots.len().max(lists.len()) > MOST {
            return;
        }
        let score = |slot: &usize, at: &usize| {
            let (slot, mention) = (&self.slots[*slot], self.mention(*at));
            let Content::List(items) = &mention.content else { return None };
            let fits =
                self.reader.checker.misfit(&slot.path, false, &items.clone().into()).is_none();
            let named = u8::from(self.cue(mention, slot).strength > 0) * 4;
            fits.then_some(named + if slot.required { 2 } else { 1 })
        };
        let scores: Vec<Vec<Option<u8>>> =
            slots.iter().map(|slot| lists.iter().map(|at| score(slot, at)).collect()).collect();
        let rows = self.rows(&slots);
        let chosen = match &rows[..] {
            [row] if row.len() == slots.len() && row.len() == lists.len() => {
                (0..lists.len()).map(Some).collect()
            }
            _ => best(&scores).unwrap_or_default(),
        };
        for (&slot, at) in slots.iter().zip(chosen) {
            let Some(at) = at.map(|at: usize| lists[at]) else { continue };
            let mention = self.mention(at);
            let Content::List(items) = &mention.content else { continue };
            for item in items {
                self.take(slot, item.clone(), &mention.span, "");
            }
            self.taken[at] = true;
            self.spent.push(mention.span.clone());
        }
    }

    /// Gives the names that are left to the only required list of texts: "the stock price of Apple and
    /// Microsoft".
    fn give_list_of_names(&mut self) {
        let slots = self.open_required(|slot| matches!(slot.kind, Kind::Text | Kind::Place));
        let ([slot], true) = (&slots[..], self.effects.reads_only()) else { return };
        if !self.slots[*slot].is_list {
            return;
        }
        let candidates = self.candidates();
        let names: Vec<&Candidate> = candidates.iter().filter(|one| !one.is_number).collect();
        let all_fit = names.iter().all(|one| score(&self.slots[*slot], one, true).is_some());
        let is_chain = names.len() == 1
            || chains(self.context.text, &candidates)
                .first()
                .is_some_and(|chain| chain.len() == names.len());
        if names.is_empty() || !all_fit || !is_chain {
            return;
        }
        let names: Vec<(Range<usize>, String)> =
            names.into_iter().map(|one| (one.span.clone(), one.value.clone())).collect();
        for (span, value) in names {
            self.give_candidate(*slot, &span, &value);
        }
    }

    /// Gives the only phrase that is left to the only required text that is open: "Who discovered the
    /// neutron?", "unlock mara". All other words of the prompt are then words of the tool, of its
    /// parameters or of other values.
    fn give_phrase_left(&mut self) {
        let slots = self.open_required(|slot| slot.kind.is_text() || slot.kind == Kind::Place);
        let [slot] = slots[..] else { return };
        let this = &self.slots[slot];
        if this.kind != Kind::Text || this.is_list || this.says("code expression function sql") {
            return;
        }
        let phrases = self.phrases_left();
        let [phrase] = &phrases[..] else { return };
        let all = self.context.words;
        let span = all[phrase.start].span.start..all[phrase.end - 1].span.end;
        let said = self.text_of(&span);
        let said = said.strip_suffix("'s").or(said.strip_suffix("’s")).unwrap_or(&said).to_owned();
        let span = span.start..span.start + said.len();
        if phrase.len() > MOST_WORDS || self.context.denies(span.start) {
            return;
        }
        if self.effects.reads_only() {
            let lead = phrase.start.checked_sub(1).map_or("", |at| all[at].lower.as_str());
            if is_listed(lead, LEADS) {
                self.give_candidate(slot, &span, &said);
            }
        } else if self.is_name_of(phrase, this) {
            let one = self.candidate(span.clone(), said.clone());
            if score(this, &one, true).is_some() {
                self.offer(slot, &span, !self.effects.destroys());
            }
        }
    }

    /// Whether the words of a phrase are a name for a parameter of a tool that may change something: in
    /// capitals, or, for a person, one word that is no adverb and describes nothing.
    fn is_name_of(&self, phrase: &Range<usize>, slot: &Slot) -> bool {
        let all = self.context.words;
        let Some(lead) = phrase.start.checked_sub(1).map(|at| &all[at]) else { return false };
        let is_of_tool = |word: &str| self.tool_words.contains(&stem(word));
        let is_led = is_listed(&lead.lower, "as by for of the to with")
            || is_of_tool(&lead.lower)
            || slot.is_about(&lead.lower);
        let is_capital =
            phrase.clone().all(|at| self.is_capital(at) || is_listed(&all[at].lower, JOINTS));
        let word = all[phrase.start].lower.as_str();
        let describes =
            ["ed", "ing", "ly"].iter().any(|end| word.ends_with(end)) || is_listed(word, ADVERBS);
        let is_login =
            phrase.len() == 1 && (slot.is_person() || slot.has_word("login username user handle"));
        is_led && (is_capital || (is_login && !describes && lead.lower != "the"))
    }

    /// Returns the runs of words that are none of the tool, of its parameters, or of values.
    fn phrases_left(&self) -> Vec<Range<usize>> {
        let all = self.context.words;
        let is_left = |at: usize| {
            let word = &all[at];
            let is_taken = |span: &Range<usize>| overlap(span, &word.span);
            let is_value = |content: &Content| match content {
                Content::Place(_) => false,
                Content::Token(text) => text.contains(|c: char| c.is_ascii_digit()),
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

    /// Gives the only name that is left to the only optional text for a person, so that a tool that reads
    /// does not list what is nobody's: "the open tickets of jonas".
    fn give_person_filter(&mut self) {
        let Some(slot) =
            self.only(|slot| slot.kind == Kind::Text && !slot.is_list && slot.is_person())
        else {
            return;
        };
        let phrases = self.phrases_left();
        let ([phrase], true) = (&phrases[..], self.effects.reads_only()) else { return };
        let all = self.context.words;
        let lead = phrase.start.checked_sub(1).map_or("", |at| all[at].lower.as_str());
        if !self.slots[slot].required && is_listed(lead, "by for from of") && phrase.len() <= 2 {
            let span = all[phrase.start].span.start..all[phrase.end - 1].span.end;
            let said = self.text_of(&span);
            self.give_candidate(slot, &span, &said);
        }
    }

    fn give_numbers(&mut self) {
        let slots = self.open_required(|slot| slot.kind.is_number() && !slot.is_list);
        let amounts = self.left_amounts();
        if slots.is_empty() || amounts.is_empty() || slots.len().max(amounts.len()) > MOST {
            return;
        }
        // "20 kg at 30 degrees and 15 kg at 60 degrees": each row takes the numbers of its unit.
        for row in self.rows(&slots) {
            let score = |slot: &usize, at: &usize| self.score_of_number(*slot, *at);
            let is_own = |at: &&usize| {
                slots.iter().all(|slot| score(slot, at).is_some() == row.contains(slot))
            };
            let own: Vec<usize> = amounts.iter().filter(is_own).copied().collect();
            if own.len() == row.len() && self.is_row(&own) {
                row.iter().zip(own).for_each(|(slot, at)| self.give_number(*slot, at));
            }
        }
        let slots: Vec<usize> = slots.into_iter().filter(|slot| self.is_open(*slot)).collect();
        let amounts = self.left_amounts();
        let scores: Vec<Vec<Option<u8>>> = slots
            .iter()
            .map(|slot| amounts.iter().map(|at| self.score_of_number(*slot, *at)).collect())
            .collect();
        for (&slot, at) in slots.iter().zip(best(&scores).into_iter().flatten()) {
            if let Some(at) = at {
                self.give_number(slot, amounts[at]);
            }
        }
    }

    /// The numbers in digits that nothing took.
    fn left_amounts(&self) -> Vec<usize> {
        let is_left = |at: &usize| {
            let mention = self.mention(*at);
            !self.taken[*at]
                && matches!(&mention.content, Content::Amount(amount) if !amount.is_spelled)
                && !self.context.denies(mention.span.start)
        };
        (0..self.taken.len()).filter(is_left).collect()
    }

    fn give_number(&mut self, slot: usize, mention: usize) {
        let reading = self.reader.read(self.mention(mention), &self.slots[slot], true);
        // "Set the limit of account 7 to 1500": nothing else is set to anything.
        let is_set =
            self.word_before(self.mention(mention)) == "to" && self.left_amounts().len() == 1;
        if self.effects.reads_only() || is_set {
            self.give(slot, super::Claim { mention, cue: Cue::default(), reading });
        }
    }

    /// How well a number fits a parameter; `None` if it does not.
    fn score_of_number(&self, slot: usize, at: usize) -> Option<u8> {
        let (slot, mention) = (&self.slots[slot], self.mention(at));
        let Content::Amount(amount) = &mention.content else { return None };
        let reading = self.reader.read(mention, slot, true);
        let fits =
            matches!(reading, Interpretation::Value { .. }) && !self.cue(mention, slot).conflicts;
        let after = self.context.after(mention.span.end);
        let is_bare = amount.units.is_empty();
        let counts_other =
            is_bare && after.first().is_some_and(|word| slot.counts_other(&word.lower));
        let has_unit = !is_bare && slot.unit.is_some();
        (fits && !counts_other).then(|| 2 + u8::from(has_unit) * 2)
    }

    /// Whether numbers stand in the order in which they are meant: "3 from 5" takes the first from the second.
    fn is_row(&self, amounts: &[usize]) -> bool {
        let lead = |at: &usize| self.word_before(self.mention(*at));
        amounts.iter().skip(1).all(|at| lead(at) != "from")
    }

    fn open_required(&self, is_it: impl Fn(&Slot) -> bool) -> Vec<usize> {
        let slots = self.slots.iter().enumerate();
        let open = slots.filter(|(at, slot)| {
            slot.required && !slot.has_default && self.is_open(*at) && is_it(slot)
        });
        open.map(|(at, _)| at).collect()
    }

    fn give_proper_names(&mut self) {
        let is_name = |slot: &&usize| {
            let slot = &self.slots[**slot];
            matches!(slot.kind, Kind::Text | Kind::Place | Kind::Message) && !slot.is_list
        };
        let open: Vec<usize> = (0..self.slots.len()).filter(|at| self.is_open(*at)).collect();
        let mut slots: Vec<usize> = open.iter().filter(is_name).copied().collect();
        let is_needed = |at: &usize| self.slots[*at].required && !self.slots[*at].has_default;
        let mut candidates = self.candidates();
        if candidates.is_empty() || slots.len().max(candidates.len()) > MOST {
            return;
        }
        // "Between Apple and Samsung" gives two parameters of a row their values in order.
        let rows = self.rows(&slots);
        for chain in chains(self.context.text, &candidates) {
            let of_length = |row: &&Vec<usize>| row.len() == chain.len();
            let mut fitting = rows.iter().filter(of_length);
            let (Some(row), None) = (fitting.next(), fitting.next()) else { continue };
            for (slot, at) in row.iter().zip(&chain) {
                let one = &candidates[*at];
                self.give_candidate(*slot, &one.span.clone(), &one.value.clone());
            }
            slots.retain(|slot| !row.contains(slot));
            candidates = candidates
                .into_iter()
                .enumerate()
                .filter(|(at, _)| !chain.contains(at))
                .map(|(_, one)| one)
                .collect();
            break;
        }
        let scores: Vec<Vec<Option<u8>>> = slots
            .iter()
            .map(|slot| {
                candidates
                    .iter()
                    .map(|one| score(&self.slots[*slot], one, is_needed(slot)))
                    .collect()
            })
            .collect();
        let Some(chosen) = best(&scores) else { return };
        let chains = chains(self.context.text, &candidates);
        for (&slot, at) in slots.iter().zip(&chosen) {
            let Some(at) = *at else { continue };
            // Of "Paris, Berlin and Rome" none is meant more than the others.
            let others = chains.iter().find(|chain| chain.contains(&at));
            let left: Vec<String> = others
                .into_iter()
                .flatten()
                .filter(|other| !chosen.contains(&Some(**other)) || **other == at)
                .map(|other| candidates[*other].value.clone())
                .collect();
            if left.len() > 1 {
                self.ask_about(slot, "several values are said", left);
                continue;
            }
            let (span, value) = (candidates[at].span.clone(), candidates[at].value.clone());
            let json = Value::from(value.as_str());
            if self.reader.checker.misfit(&self.slots[slot].path, false, &json).is_none() {
                self.give_candidate(slot, &span, &value);
            }
        }
    }

    /// Returns the groups of open parameters that differ only in their place in a row.
    fn rows(&self, slots: &[usize]) -> Vec<Vec<usize>> {
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for &slot in slots.iter().filter(|at| self.slots[**at].required) {
            let of = |row: &&mut Vec<usize>| is_series(&[&self.slots[row[0]], &self.slots[slot]]);
            match rows.iter_mut().find(of) {
                Some(row) => row.push(slot),
                None => rows.push(vec![slot]),
            }
        }
        rows.retain(|row| row.len() > 1);
        rows
    }

    fn give_candidate(&mut self, slot: usize, span: &Range<usize>, value: &str) {
        for (mention, taken) in self.context.mentions.iter().zip(&mut self.taken) {
            *taken |= overlap(span, &mention.span);
        }
        self.spent.push(span.clone());
        if self.effects.reads_only() {
            return self.take(slot, value.to_owned(), span, "");
        }
        self.ask_about(slot, &format!("\"{value}\" may be meant for it"), vec![value.to_owned()]);
    }

    /// Returns the quotes and names that nothing took, in order.
    fn candidates(&self) -> Vec<Candidate> {
        let quotes =
            self.context.mentions.iter().zip(&self.taken).filter_map(|(mention, taken)| {
                let said = || self.text_of(&mention.span);
                let text = match &mention.content {
                    Content::Quoted(text) => text.clone(),
                    Content::Amount(amount) if amount.units.is_empty() && !amount.is_spelled => {
                        said()
                    }
                    Content::Token(text) | Content::Path(text)
                        if text.contains(|c: char| c.is_ascii_digit()) =>
                    {
                        said()
                    }
                    _ => return None,
                };
                (!taken).then(|| (mention.span.clone(), text))
            });
        let mut found: Vec<(Range<usize>, String)> = quotes.collect();
        let has_regions = self.slots.iter().any(|slot| slot.has_word(REGIONS));
        let mut names: Vec<Range<usize>> = Vec::new();
        for span in self.proper_names() {
            match names.last_mut() {
                Some(city) if !has_regions && joins_region(self.context.text, city.end, &span) => {
                    city.end = span.end
                }
                _ => names.push(span),
            }
        }
        for span in names {
            if !found.iter().any(|(other, _)| overlap(other, &span)) {
                let text = self.text_of(&span);
                found.push((span, text));
            }
        }
        found.sort_by_key(|(span, _)| span.start);
        let found = found.into_iter().filter(|(span, _)| !self.context.denies(span.start));
        let mut candidates: Vec<Candidate> =
            found.map(|(span, value)| self.candidate(span, value)).collect();
        // What leads to the first of a list leads to all.
        for chain in chains(self.context.text, &candidates) {
            let lead = candidates[chain[0]].lead.clone();
            chain.iter().for_each(|at| candidates[*at].lead.clone_from(&lead));
        }
        candidates
    }

    fn candidate(&self, span: Range<usize>, value: String) -> Candidate {
        let is_article = |word: &str| is_listed(word, "a an the");
        let is_quoted = span.len() > value.len();
        let is_number = value.starts_with(|c: char| c.is_ascii_digit());
        let all = self.context.words;
        let mut before = Vec::new();
        let first = all.partition_point(|word| word.span.end <= span.start);
        for word in all[..first].iter().rev().take(4) {
            let edge = before.last().map_or(span.start, |word: &&super::Word| word.span.start);
            if self.context.text[word.span.end..edge].contains(['.', ';', '!', '?', '\n']) {
                break;
            }
            before.push(word);
        }
        let lead = before.iter().find(|word| !is_article(&word.lower));
        let lead = lead.map_or(String::new(), |word| word.lower.clone());
        // "The team of" and "the cricketer," say what follows.
        let is_bridge =
            |word: &str| is_article(word) || is_listed(word, "of is named called titled");
        let mut beside: Vec<String> = before
            .iter()
            .skip_while(|word| is_bridge(&word.lower))
            .take_while(|word| !is_function_word(&word.lower))
            .map(|word| stem(&word.lower))
            .collect();
        if let Some(next) = all.iter().find(|word| word.span.start >= span.end)
            && self.context.text[span.end..next.span.start].trim().is_empty()
        {
            beside.push(stem(&next.lower));
        }
        Candidate { span, value, lead, is_quoted, is_number, beside }
    }

    /// Returns the runs of capitalised words that nothing took. The first word of a sentence is one of
    /// them only before another.
    fn proper_names(&self) -> Vec<Range<usize>> {
        let all = self.context.words;
        let text = self.context.text;
        let is_spent = |span: &Range<usize>| {
            let mentions = self.context.mentions.iter().zip(&self.taken);
            let mut taken = mentions.filter(|(mention, taken)| {
                let is_other = matches!(
                    mention.content,
                    Content::When(_)
                        | Content::Period(_)
                        | Content::Url(_)
                        | Content::Email(_)
                        | Content::Path(_)
                        | Content::Quoted(_)
                );
                **taken || is_other
            });
            self.spent.iter().any(|spent| overlap(spent, span))
                || taken.any(|(mention, _)| overlap(&mention.span, span))
        };
        let starts = |at: usize| {
            let before = text[..all[at].span.start].trim_end().chars().next_back();
            before.is_none_or(|c| ".!?:\"“".contains(c))
                || text[..all[at].span.start].ends_with('\n')
        };
        let is_free_capital = |at: usize| {
            self.is_capital(at)
                && !is_spent(&all[at].span)
                && !is_listed(&all[at].lower, "i i'm i'd i'll i've i’m i’d i’ll i’ve")
        };
        let joined = |at: usize| {
            let gap = &text[all[at - 1].span.end..all[at].span.start];
            let before = &all[at - 1];
            // "J. K. Rowling", "Washington, D.C.", "Dr. Smith".
            let is_initial =
                before.span.len() == 1 || is_listed(&before.lower, "dr jr mr mrs ms st");
            matches!(gap, " " | "-") || (matches!(gap, ". " | ".") && is_initial)
        };
        let mut found = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let is_first = is_free_capital(at)
                && !is_function_word(&all[at].lower)
                && (!starts(at)
                    || (at + 1 < all.len()
                        && joined(at + 1)
                        && is_free_capital(at + 1)
                        && !is_listed(&all[at].lower, ASKING)
                        && !self.tool_words.contains(&stem(&all[at].lower))));
            if !is_first {
                at += 1;
                continue;
            }
            let mut start = at;
            let mut end = at + 1;
            loop {
                let is_over = text[all[end - 1].span.clone()].ends_with("'s")
                    || text[all[end - 1].span.clone()].ends_with("’s");
                if is_over || end >= all.len() || !joined(end) {
                    break;
                }
                let is_number =
                    all[end].lower.chars().all(|c| c.is_ascii_digit()) && !is_spent(&all[end].span);
                if is_free_capital(end) || is_number {
                    end += 1;
                    continue;
                }
                let next = (end..all.len()).take(4).find(|at| !is_listed(&all[*at].lower, JOINTS));
                match next.filter(|next| {
                    *next > end && is_free_capital(*next) && (end..=*next).all(joined)
                }) {
                    Some(next) => end = next + 1,
                    None => break,
                }
            }
            let is_of_tool = |word: &super::Word| {
                is_listed(&word.lower, JOINTS)
                    || self.tool_words.contains(&stem(&word.lower))
                    || self.slots.iter().any(|slot| slot.words.contains(&word.lower))
            };
            // "Lawyer John Doe" for a tool that finds lawyers is John Doe.
            while start + 1 < end
                && self.tool_words.contains(&stem(&all[start].lower))
                && !is_listed(&all[start + 1].lower, JOINTS)
            {
                start += 1;
            }
            let ends_in_initial = all[end - 1].span.len() == 1 && end - start > 1;
            let mut last = all[end - 1].span.end;
            last += usize::from(ends_in_initial && text[last..].starts_with('.'));
            let said = &text[all[start].span.start..last];
            let said = said.strip_suffix("'s").or(said.strip_suffix("’s")).unwrap_or(said);
            let is_calendar = end == start + 1 && is_listed(&all[start].lower, CALENDAR);
            if !all[start..end].iter().all(is_of_tool) && !is_calendar {
                found.push(all[start].span.start..all[start].span.start + said.len());
            }
            at = end;
        }
        found
    }
}

/// Returns the lists of values with only a comma, "and", "or" or "versus" between them.
fn chains(text: &str, candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for at in 0..candidates.len() {
        let follows = at > 0 && {
            let gap = text
                .get(candidates[at - 1].span.end..candidates[at].span.start)
                .unwrap_or_default();
            let gap = gap.trim_start_matches([',', ' ']).trim();
            matches!(gap, "" | "and" | "or" | "vs" | "vs." | "versus" | "and the" | "&")
        };
        match chains.last_mut() {
            Some(chain) if follows => chain.push(at),
            _ => chains.push(vec![at]),
        }
    }
    chains.retain(|chain| chain.len() > 1);
    chains
}

/// How well a part of the prompt fits a parameter; `None` if it does not. A parameter that is not needed
/// takes only what a word says to be its value.
fn score(slot: &Slot, one: &Candidate, is_needed: bool) -> Option<u8> {
    let lead = one.lead.as_str();
    let about = words(slot.description.as_deref().unwrap_or_default());
    let is_place = slot.kind == Kind::Place
        || slot.has_word(PLACES)
        || about.iter().take(8).any(|word| is_listed(&word.lower, PLACES));
    let role = match lead {
        "from" => Some(Role::Start),
        "to" | "into" => Some(Role::End),
        _ => None,
    };
    let of_role = match (slot.role, role) {
        (Some(own), Some(said)) if own != said => return None,
        (Some(_), Some(_)) => 2,
        _ => 0,
    };
    let nouns = slot.nouns().chain(slot.of.as_deref());
    let mut nouns = nouns
        .map(|noun| stem(noun.strip_suffix("name").filter(|rest| rest.len() > 2).unwrap_or(noun)));
    let is_named = nouns.any(|noun| one.beside.contains(&noun));
    let is_region = is_region(&one.value);
    let is_within = is_listed(lead, "in at near around within");
    let takes_region = slot.has_word(REGIONS);
    let is_misplaced = (takes_region && !is_region && is_place)
        || (!is_place && is_within && (is_region || one.needs_place()))
        || (slot.kind == Kind::Message && !one.is_quoted);
    if !is_named && (is_misplaced || one.is_number) {
        return None;
    }
    let of_place = u8::from(is_place && (is_within || lead == "for")) * 2;
    let of_region = u8::from(takes_region && is_region) * 2;
    let of_maker = u8::from(lead == "by" && slot.has_word(MAKERS)) * 2;
    let cues = of_role + of_place + of_region + of_maker + u8::from(is_named) * 4;
    // A name is seldom a form, a day or a kind.
    let is_seldom = (!is_place && is_within) || slot.has_word(ATTRIBUTES);
    let base = if is_seldom { 1 } else { 2 };
    (is_needed || cues > 0).then_some(cues + if is_needed { base } else { 0 })
}

/// Returns for each row the column of the assignment with the largest sum, unless another has the same
/// sum.
fn best(scores: &[Vec<Option<u8>>]) -> Option<Vec<Option<usize>>> {
    fn search(
        scores: &[Vec<Option<u8>>],
        chosen: &mut Vec<Option<usize>>,
        sum: u32,
        found: &mut Vec<(u32, Vec<Option<usize>>)>,
    ) {
        let Some(row) = scores.get(chosen.len()) else {
            found.push((sum, chosen.clone()));
            return;
        };
        for (at, score) in row.iter().enumerate() {
            let Some(score) = score.filter(|_| !chosen.contains(&Some(at))) else { continue };
            chosen.push(Some(at));
            search(scores, chosen, sum + u32::from(score), found);
            chosen.pop();
        }
        chosen.push(None);
        search(scores, chosen, sum, found);
        chosen.pop();
    }
    let mut found = Vec::new();
    search(scores, &mut Vec::new(), 0, &mut found);
    found.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
    let is_one = found.len() < 2 || found[0].0 > found[1].0;
    found.into_iter().next().filter(|(sum, _)| *sum > 0 && is_one).map(|(_, chosen)| chosen)
}

/// Whether parameters differ only in their place in a row: `a` and `b`, `num1` and `num2`, `first_name`...
fn is_series(slots: &[&Slot]) -> bool {
    const PLACES: &str = "first second third fourth one two three initial final subsequent";
    let key = |slot: &Slot| {
        let words =
            slot.words.iter().filter(|word| !is_listed(word, PLACES) && slot_end(word).is_none());
        let bare = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned());
        bare.filter(|word| word.len() > 1).collect::<Vec<_>>()
    };
    slots.iter().all(|slot| key(slot) == key(slots[0]) && slot.kind == slots[0].kind)
}

fn slot_end(word: &str) -> Option<Role> {
    super::super::slot::role_of_word(word)
}
