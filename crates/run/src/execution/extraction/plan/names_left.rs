//! Assigns the names and quotes that are left of the prompt. Of all ways to assign them, one must be
//! clearly the best by the words beside them.

use std::ops::Range;

use serde_json::Value;

use super::super::REGION_WORDS;
use super::super::mention::{Content, end_of_place, is_identifier, is_path, joins_region};
use super::super::slot::{Kind, Slot};
use super::super::text::{
    TITLES, Word, is_article, is_function_word, is_listed, overlap, stem, without_possessive,
};
use super::Plan;
use super::left_over::{MOST, best};
use super::name_fit::{Candidate, role_of_lead, score};
use super::names::begins_a_name;
use super::phrase_left::ASKING;

/// Names of the calendar, which are no names of things.
const CALENDAR: &str = "january february march april may june july august september october november december \
     monday tuesday wednesday thursday friday saturday sunday today tomorrow";

/// Parameters whose value is prose.
const TEXTS: &str = "answer body command comment content description message note query reason reply subject summary text \
    title topic";

/// Words that join the words of one name.
pub(super) const JOINTS: &str = "de del der di du la of the van von";

impl Plan<'_> {
    pub(super) fn give_proper_names(&mut self) {
        let is_name = |slot: &usize| {
            let slot = &self.slots[*slot];
            let takes_names = matches!(slot.kind, Kind::Text | Kind::Place | Kind::Message);
            takes_names && !slot.is_list
        };
        let mut slots: Vec<usize> =
            (0..self.slots.len()).filter(|at| self.is_open(*at) && is_name(at)).collect();
        let mut candidates = self.candidates();
        if candidates.is_empty() || slots.len().max(candidates.len()) > MOST {
            return;
        }
        if self.split_full_name(&candidates) {
            return self.give_proper_names();
        }
        self.give_row_of_names(&mut slots, &mut candidates);
        let is_needed = |at: &usize| self.slots[*at].required && !self.slots[*at].has_default;
        let score = |slot: &usize, one| score(&self.slots[*slot], one, is_needed(slot));
        let scores: Vec<Vec<Option<u8>>> = slots
            .iter()
            .map(|slot| candidates.iter().map(|one| score(slot, one)).collect())
            .collect();
        let Some(chosen) = best(&scores) else { return };
        let chains = chains(self.context.text, &candidates);
        for (&slot, at) in slots.iter().zip(&chosen) {
            let Some(at) = *at else { continue };
            // Of "Paris, Berlin and Rome" none is meant more than the others.
            let chain = chains.iter().find(|chain| chain.contains(&at)).into_iter().flatten();
            let rivals = chain.filter(|one| **one == at || !chosen.contains(&Some(**one)));
            let said: Vec<String> = rivals.map(|one| candidates[*one].value.clone()).collect();
            if said.len() > 1 {
                self.ask_about(slot, "several values are said", said);
                continue;
            }
            let Candidate { span, value, .. } = &candidates[at];
            let json = Value::from(value.as_str());
            let is_sure = self.effects.reads_only()
                || self.is_sure_name(slot, &candidates[at])
                || candidates.len() == 1 && self.is_lone_code(slot, &candidates[at]);
            if self.reader.checker.misfit(&self.slots[slot].path, false, &json).is_none() {
                self.give_name(slot, span, value, is_sure);
            }
        }
    }

    /// Whether the only name of the prompt is a path or an identifier, and its parameter the only one that is open.
    fn is_lone_code(&self, slot: usize, one: &Candidate) -> bool {
        let is_code = is_identifier(&one.value) || is_path(&one.value);
        let is_word = |word: &&Word| is_function_word(&word.lower);
        let is_whole = self.context.after(one.span.end).first().is_none_or(is_word);
        let before = self.context.before(one.span.start);
        let lead = before.first().map_or("", |word| &word.lower);
        let is_other = is_listed(lead, "about except like not of than");
        is_code
            && is_whole
            && !is_other
            && !self.slots[slot].has_word(TEXTS)
            && !self.is_before_own_order(&one.span)
            && self.open_required(|slot| slot.kind.is_text()) == [slot]
    }

    /// Whether a name or a quote is taken without a question for a parameter of a tool that may change something. The parameter
    /// must be required, and a name must stand behind a word that leads to it and be no part of a longer one.
    fn is_sure_name(&self, slot: usize, one: &Candidate) -> bool {
        const LEADING: &str = "as by for give make name put text to with write";
        let (this, span) = (&self.slots[slot], &one.span);
        let has_digit = one.value.contains(|c: char| c.is_ascii_digit());
        let next = self.context.after(span.end);
        let rest = &self.context.text[span.end..];
        let is_owner = rest.starts_with("'s") || rest.starts_with("’s");
        let is_whole = !is_owner
            && next.first().is_none_or(|word| {
                let gap = &self.context.text[span.end..word.span.start];
                let ends =
                    this.is_about(&word.lower) || is_listed(&word.lower, "down off on out up");
                ends && !gap.starts_with('-') || gap.contains([',', '.', ';', ':', '!'])
            });
        // "…, she is allergic to Penicillin."
        let clause = self.context.text[..span.start].rsplit([',', '.', ';', '!']).next();
        let first = clause.and_then(|clause| clause.split_whitespace().next());
        let is_aside =
            first.is_some_and(|word| is_listed(&word.to_lowercase(), "he it she they we"));
        // "To the Marketing department", "assign Mr Lindqvist", but not "this is Dr. Weber", "from Berlin" and "-- Tom".
        let lead = self.context.before(span.start);
        let lead = lead.iter().find(|word| !is_article(&word.lower));
        let is_led = lead.is_some_and(|word| {
            let is_joined = self.context.text[word.span.end..span.start]
                .chars()
                .all(|c| c.is_alphabetic() || c.is_whitespace() || c == ':');
            let is_own = || this.nouns().any(|noun| noun == word.lower);
            let is_of_tool = || self.is_content_of_tool(&word.lower);
            // "Назначь ISS-3 на Ольгу Смирнову."
            let is_on = || word.lower == "on" && this.is_person() && one.is_full_name();
            // "From Leeds to York."
            let is_end = || this.role.is_some() && role_of_lead(&word.lower) == this.role;
            let is_listed = is_listed(&word.lower, LEADING);
            is_joined && (is_listed || is_own() || is_of_tool() || is_on() || is_end())
        });
        let is_name = !has_digit
            && is_whole
            && is_led
            && !is_aside
            && one.value.starts_with(begins_a_name)
            && !self.is_before_own_order(span)
            && !this.has_word(TEXTS)
            && this.kind != Kind::Message;
        let is_quote = one.is_quoted && (is_led || !self.effects.destroys());
        this.required && (is_quote || is_name)
    }

    /// Whether the tool's order only begins behind a part of the prompt: "Marek" of "write to Marek and assign T-503".
    pub(super) fn is_before_own_order(&self, part: &Range<usize>) -> bool {
        let is_own = |word: &&Word| self.tool_words[..self.named].contains(&stem(&word.lower));
        let mut owns = self.context.words.iter().filter(is_own);
        let after = self.context.after(part.end);
        let is_next = after.first().is_some_and(|word| word.lower == "and")
            && after.get(1).is_some_and(is_own);
        is_next && owns.all(|word| word.span.start > part.end)
    }

    /// Splits the only full name between the parameters for a first and a last name. Returns whether there is one.
    fn split_full_name(&mut self, candidates: &[Candidate]) -> bool {
        let named = |names: &'static str| {
            move |slot: &Slot| {
                let name = slot.words.join(" ");
                slot.required
                    && slot.kind == Kind::Text
                    && names.split(", ").any(|known| known == name)
            }
        };
        let first = self.only(named("first, first name, firstname, forename, given name"));
        let last = self.only(named("last, last name, lastname, surname, family name"));
        let mut names = candidates.iter().filter(|one| one.is_full_name() && !one.is_quoted);
        let (Some(first), Some(last), Some(one), None) = (first, last, names.next(), names.next())
        else {
            return false;
        };
        let (lead, span) = (one.lead.as_str(), &one.span);
        let parts = one.value.split_once(' ').filter(|(given, family)| {
            let title = given.trim_end_matches('.').to_lowercase();
            !family.contains(' ') && !is_listed(&title, TITLES)
        });
        let Some((given, family)) = parts else { return false };
        // "The Red Cross", "Maya Lindqvist's brother", "Maya Lindqvist or Tom", "the contact Maya Lindqvist is wrong".
        let rest = &self.context.text[span.end..];
        let after = self.context.after(span.end);
        let before = self.context.before(span.start);
        let is_other = candidates.len() > 1
            || rest.starts_with(['\'', '’'])
            || before.first().is_some_and(|word| is_article(&word.lower))
            || after.first().is_some_and(|next| is_listed(&next.lower, "and are is or was were"));
        let is_led =
            is_listed(lead, "add called create enrol enroll for hire invite named register")
                || self.is_content_of_tool(lead);
        let is_sure = self.effects.reads_only() || is_led && !is_other;
        self.give_name(first, &(span.start..span.start + given.len()), given, is_sure);
        self.give_name(last, &(span.end - family.len()..span.end), family, is_sure);
        true
    }

    /// Gives the parameters of a row the names of a list in order: "between Apple and Samsung".
    fn give_row_of_names(&mut self, slots: &mut Vec<usize>, candidates: &mut Vec<Candidate>) {
        let rows = self.rows(slots);
        for chain in chains(self.context.text, candidates) {
            let mut fitting = rows.iter().filter(|row| row.len() == chain.len());
            let (Some(row), None) = (fitting.next(), fitting.next()) else { continue };
            // "Swap lessons L-301 and L-317", "an agreement between Ann Lee and Tom Berg", but no source and target, and not "A
            // and B into C".
            let lead = candidates[chain[0]].lead.as_str();
            let end = chain.last().map_or(0, |last| candidates[*last].span.end);
            let is_whole = !self.context.text[end..].contains(char::is_alphanumeric);
            let has_ends = row.iter().any(|slot| self.slots[*slot].role.is_some());
            let is_led = lead == "between" || self.is_content_of_tool(lead);
            let is_sure = self.effects.reads_only() || is_led && is_whole && !has_ends;
            for (slot, at) in row.iter().zip(&chain) {
                let Candidate { span, value, .. } = &candidates[*at];
                self.give_name(*slot, span, value, is_sure);
            }
            slots.retain(|slot| !row.contains(slot));
            let mut at = 0..;
            candidates.retain(|_| !at.next().is_some_and(|at| chain.contains(&at)));
            return;
        }
    }

    /// Gives the names that are left to the only required list of texts: "the stock price of Apple and
    /// Microsoft".
    pub(super) fn give_list_of_names(&mut self) {
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

    pub(super) fn give_candidate(&mut self, slot: usize, span: &Range<usize>, value: &str) {
        self.give_name(slot, span, value, self.effects.reads_only());
    }

    fn give_name(&mut self, slot: usize, span: &Range<usize>, value: &str, is_sure: bool) {
        for (mention, taken) in self.context.mentions.iter().zip(&mut self.taken) {
            *taken |= overlap(span, &mention.span);
        }
        self.offer_value(slot, span, value.to_owned(), is_sure);
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
        let has_regions = self.slots.iter().any(|slot| slot.has_word(REGION_WORDS));
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

    pub(super) fn candidate(&self, span: Range<usize>, value: String) -> Candidate {
        let is_quoted = span.len() > value.len();
        let is_number = value.starts_with(|c: char| c.is_ascii_digit());
        let all = self.context.words;
        let mut before = Vec::new();
        let first = all.partition_point(|word| word.span.end <= span.start);
        for word in all[..first].iter().rev().take(4) {
            let edge = before.last().map_or(span.start, |word: &&Word| word.span.start);
            if self.context.text[word.span.end..edge].contains(['.', ';', '!', '?', '\n']) {
                break;
            }
            before.push(word);
        }
        // "Tag "Taxes" with finance" does not say that the tag is "Taxes".
        let is_one_of_two = self.open_required(|slot| slot.kind.is_text()).len() > 1;
        before.retain(|word| !(is_one_of_two && self.is_order_verb(word.span.start)));
        let lead = before.iter().find(|word| !is_article(&word.lower));
        let lead = lead.map_or(String::new(), |word| word.lower.clone());
        // "The team of" and "the cricketer," say what follows.
        let is_bridge =
            |word: &str| is_article(word) || is_listed(word, "by of is named called titled");
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
        let (all, text) = (self.context.words, self.context.text);
        let is_of_tool = |word: &Word| self.tool_words.contains(&stem(&word.lower));
        let starts = |at: usize| {
            let before = text[..all[at].span.start].trim_end_matches(' ').chars().next_back();
            before.is_none_or(|c| ".!?:\"“\n".contains(c))
        };
        let is_second = |at: usize| at < all.len() && self.joins(at) && self.is_free_capital(at);
        let mut found = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let is_order = is_listed(&all[at].lower, ASKING) || is_of_tool(&all[at]);
            let is_first = self.is_free_capital(at)
                && !is_function_word(&all[at].lower)
                && (!starts(at) || (is_second(at + 1) && !is_order));
            if !is_first {
                at += 1;
                continue;
            }
            let (mut start, end) = (at, self.end_of_name(at + 1));
            // "Lawyer John Doe" for a tool that finds lawyers is John Doe, and "Put Dr. Weber" begins with no name.
            while start + 1 < end
                && (is_of_tool(&all[start]) && !is_listed(&all[start + 1].lower, JOINTS)
                    || is_listed(&all[start + 1].lower, TITLES))
            {
                start += 1;
            }
            let is_known = |word: &Word| {
                is_listed(&word.lower, JOINTS)
                    || is_of_tool(word)
                    || self.slots.iter().any(|slot| slot.words.contains(&word.lower))
            };
            let is_day = end == start + 1 && is_listed(&all[start].lower, CALENDAR);
            if !all[start..end].iter().all(is_known) && !is_day {
                found.push(self.span_of_name(start..end));
            }
            at = end;
        }
        found
    }

    /// The place of the words of a name, with the dot of its last initial and without an "'s".
    fn span_of_name(&self, name: Range<usize>) -> Range<usize> {
        let (all, text) = (self.context.words, self.context.text);
        let (first, last) = (&all[name.start].span, &all[name.end - 1].span);
        let is_initial = last.len() == 1 && name.len() > 1 && text[last.end..].starts_with('.');
        let said = &text[first.start..last.end + usize::from(is_initial)];
        first.start..end_of_place(text, first.start + without_possessive(said).len())
    }

    /// Returns the index after the last word of a name that goes on at `end`.
    fn end_of_name(&self, mut end: usize) -> usize {
        let all = self.context.words;
        loop {
            let before = all[end - 1].lower.as_str();
            if before.ends_with("'s")
                || before.ends_with("’s")
                || end >= all.len()
                || !self.joins(end)
            {
                return end;
            }
            let is_number = all[end].lower.bytes().all(|byte| byte.is_ascii_digit());
            if self.is_free_capital(end) || (is_number && !self.is_spent(&all[end].span)) {
                end += 1;
                continue;
            }
            let next = (end..all.len()).take(4).find(|at| !is_listed(&all[*at].lower, JOINTS));
            let goes_on = |next: &usize| {
                *next > end && self.is_free_capital(*next) && (end..=*next).all(|at| self.joins(at))
            };
            match next.filter(goes_on) {
                Some(next) => end = next + 1,
                None => return end,
            }
        }
    }

    fn is_free_capital(&self, at: usize) -> bool {
        const I: &str = "i i'm i'd i'll i've i’m i’d i’ll i’ve";
        let word = &self.context.words[at];
        self.is_capital(at) && !is_listed(&word.lower, I) && !self.is_spent(&word.span)
    }

    /// Whether only a space, a hyphen or the dot of an initial or a title stands before a word: "J. K.
    /// Rowling", "Dr. Smith".
    fn joins(&self, at: usize) -> bool {
        let all = self.context.words;
        let before = &all[at - 1];
        let gap = &self.context.text[before.span.end..all[at].span.start];
        let is_initial = before.span.len() == 1
            || is_listed(&before.lower, TITLES)
            || is_listed(&before.lower, "jr st");
        matches!(gap, " " | "-") || (matches!(gap, ". " | ".") && is_initial)
    }

    /// Whether a part of the prompt belongs to a value that was taken, or that is no name.
    fn is_spent(&self, span: &Range<usize>) -> bool {
        let is_other = |content: &Content| {
            matches!(
                content,
                Content::When(_)
                    | Content::Period(_)
                    | Content::Url(_)
                    | Content::Email(_)
                    | Content::Path(_)
                    | Content::Quoted(_)
            )
        };
        let mut mentions = self.context.mentions.iter().zip(&self.taken);
        self.spent.iter().any(|spent| overlap(spent, span))
            || mentions.any(|(mention, taken)| {
                (*taken || is_other(&mention.content)) && overlap(&mention.span, span)
            })
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
