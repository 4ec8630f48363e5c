//! Splits one value between two parameters: `owner/name`, `800x600`, "next month", "tomorrow at
//! 19:30".

use std::ops::Range;

use jiff::ToSpan;
use jiff::civil::{Date, Time};
use serde_json::Value;

use super::super::interpretation::{ISO_DAY, Interpretation};
use super::super::mention::{Content, Mention, is_slug};
use super::super::slot::{Kind, Role, Slot};
use super::super::text::{Word, is_article, is_function_word, is_listed, overlap};
use super::super::time::PartialDateTime;
use super::{Claim, Cue, Plan};

/// Words that are no end of a way.
const NO_END: &str = "another anyone anything anywhere both each either everyone everything later neither nobody none nothing \
    one other somebody someone something somewhere whatever whichever";

/// A value with its length in the prompt.
type Part = (Value, usize);

impl Plan<'_> {
    pub(super) fn give_pairs(&mut self) {
        self.split_size();
        self.give_ends();
        self.give_periods(false);
        self.split_moments();
    }

    /// Returns the only open slot for which `is_it` holds.
    pub(super) fn only(&self, is_it: impl Fn(&Slot) -> bool) -> Option<usize> {
        let mut slots =
            (0..self.slots.len()).filter(|at| self.is_open(*at) && is_it(&self.slots[*at]));
        slots.next().filter(|_| slots.next().is_none())
    }

    /// Returns the only free mention for which `is_it` holds.
    fn only_free(&self, is_it: impl Fn(&Mention) -> bool) -> Option<usize> {
        let mut free =
            (0..self.taken.len()).filter(|at| !self.taken[*at] && is_it(self.mention(*at)));
        free.next().filter(|_| free.next().is_none())
    }

    /// Gives a parameter for a channel the only word with a `#` before it: "post it in #releases". One with a number is an
    /// issue.
    pub(super) fn give_channel(&mut self) {
        let is_channel = |slot: &Slot| {
            let is_text = slot.kind.is_text() || matches!(slot.kind, Kind::Id | Kind::Place);
            is_text && !slot.is_list && slot.has_word("channel hashtag")
        };
        let is_named = |mention: &Mention| {
            let name = mention.content.token().and_then(|token| token.strip_prefix('#'));
            name.is_some_and(|name| name.starts_with(char::is_alphabetic))
        };
        let (Some(slot), Some(at)) = (self.only(is_channel), self.only_free(is_named)) else {
            return;
        };
        let span = self.mention(at).span.clone();
        let (said, this) = (self.text_of(&span), &self.slots[slot]);
        let fits = |name: &str| {
            self.reader.checker.misfit(&this.path, false, &Value::from(name)).is_none()
        };
        let bare = said.trim_start_matches('#');
        let value = if fits(&said) || !fits(bare) { said.as_str() } else { bare };
        if !self.context.denies(span.start) {
            self.offer_value(slot, &span, value.to_owned(), true);
        }
    }

    /// Gives a parameter for a day, of which nothing says how it is written, the day in the words of the prompt: "Sunday". A
    /// tool that may change something asks.
    pub(super) fn give_day_as_said(&mut self) {
        let is_day = |slot: &Slot| {
            let is_plain = slot.kind == Kind::Text && !slot.is_list && slot.description.is_none();
            is_plain && slot.required && slot.has_word("day weekday when")
        };
        let is_time =
            |mention: &Mention| matches!(mention.content, Content::When(_) | Content::Period(_));
        if let (Some(slot), Some(at)) = (self.only(is_day), self.only_free(is_time)) {
            let span = self.mention(at).span.clone();
            self.offer(slot, &span, self.effects.reads_only() && !self.context.denies(span.start));
        }
    }

    /// Splits `owner/name` for a tool that takes the two separately.
    pub(super) fn split_repository(&mut self) {
        let slots = (self.only(Slot::is_owner), self.only(Slot::is_repository));
        self.split(slots, |mention| {
            let Content::Path(path) = &mention.content else { return None };
            let (owner, name) = path.split_once('/').filter(|_| is_slug(path))?;
            Some([(owner.into(), owner.len()), (name.into(), name.len())])
        });
    }

    /// Gives the two ends of a way the words between its prepositions: "from savings to my checking account" for
    /// `from_account` and `to_account`.
    fn give_ends(&mut self) {
        let end = |role| {
            move |slot: &Slot| {
                let is_text = matches!(slot.kind, Kind::Text | Kind::Id);
                is_text && slot.required && slot.role == Some(role)
            }
        };
        let (Some(start), Some(last)) = (self.only(end(Role::Start)), self.only(end(Role::End)))
        else {
            return;
        };
        let all = self.context.words;
        let Some(from) = all.iter().position(|word| word.lower == "from") else { return };
        let noun = |word: &Word| {
            let mut nouns = [start, last].into_iter().flat_map(|slot| self.slots[slot].nouns());
            nouns.any(|noun| noun == word.lower)
        };
        // An article or a possessive, one word, and perhaps the noun. What follows must be the other end, or the end.
        let one = |at: usize| {
            let is_lead =
                |word: &&Word| is_article(&word.lower) || is_listed(&word.lower, "my our");
            let at = at + all[at..].iter().take(1).filter(is_lead).count();
            let word = all.get(at).filter(|word| {
                !is_function_word(&word.lower)
                    && !is_listed(&word.lower, NO_END)
                    && !word.lower.contains(['\'', '’'])
                    && !noun(word)
            })?;
            Some((
                word.span.clone(),
                at + 1 + all[at + 1..].iter().take(1).filter(|word| noun(word)).count(),
            ))
        };
        let Some((first, to)) = one(from + 1) else { return };
        if all.get(to).is_none_or(|word| word.lower != "to") {
            return;
        }
        let Some((second, _)) = one(to + 1).filter(|(_, end)| *end == all.len()) else { return };
        let is_free = |span: &Range<usize>| {
            let mut others = self.context.mentions.iter().map(|mention| &mention.span);
            !self.context.denies(span.start) && !others.any(|other| overlap(other, span))
        };
        // What moves something for good needs a person's agreement all the same.
        let is_sure = self.effects.reads_only() || self.effects.destroys();
        if is_free(&first) && is_free(&second) {
            self.offer(start, &first, is_sure);
            self.offer(last, &second, is_sure);
        }
    }

    /// Splits `800x600` for a tool that has a width and a height.
    fn split_size(&mut self) {
        let named = |word: &'static str| {
            move |slot: &Slot| slot.kind.is_number() && slot.words.len() == 1 && slot.has_word(word)
        };
        let slots = (self.only(named("width")), self.only(named("height")));
        self.split(slots, |mention| {
            let Content::Token(text) = &mention.content else { return None };
            let (width, height) = text.split_once(['x', '×'])?;
            Some([side(width)?, side(height)?])
        });
    }

    /// Gives the parts of the only free mention that has two to two slots. `parts` are the values at
    /// the beginning and at the end of a mention, with their lengths in the prompt.
    fn split(
        &mut self,
        slots: (Option<usize>, Option<usize>),
        parts: fn(&Mention) -> Option<[Part; 2]>,
    ) {
        let (Some(first), Some(second)) = slots else { return };
        let Some(at) = self.only_free(|mention| parts(mention).is_some()) else { return };
        let Some([start, end]) = parts(self.mention(at)) else { return };
        let span = self.mention(at).span.clone();
        let how = format!("of {}", self.text_of(&span));
        self.take(first, start.0, &(span.start..span.start + start.1), &how);
        self.take(second, end.0, &(span.end - end.1..span.end), &how);
        self.taken[at] = true;
        self.spent.push(span);
    }

    /// Assigns the first and the last day of a period such as "next month" to two parameters. A period of which both
    /// days are said, as in "from 6 to 17 July", comes before any word beside it (`has_ends`).
    pub(super) fn give_periods(&mut self, has_ends: bool) {
        for at in 0..self.taken.len() {
            let Content::Period(period) = &self.mention(at).content else { continue };
            let said = self.text_of(&self.mention(at).span);
            let numbers = said.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
            if has_ends && numbers.filter(|number| number.len() < 3).count() < 2 {
                continue;
            }
            // A period includes its first and last day, which `after` and `before` exclude.
            let end_of = |role| {
                move |slot: &Slot| {
                    let is_edge = slot.has_word("after before");
                    slot.kind == Kind::Day && slot.role == Some(role) && !is_edge
                }
            };
            let (start, end) = (self.only(end_of(Role::Start)), self.only(end_of(Role::End)));
            let (Some(start), Some(end), false) = (start, end, self.taken[at]) else { continue };
            let firsts = period.readings.iter().map(|(first, _)| *first).collect();
            let lasts = period.readings.iter().map(|(_, last)| *last).collect();
            for (slot, days, how) in
                [(start, firsts, "its first day"), (end, lasts, "its last day")]
            {
                let reading = self.reading_of(slot, days, how);
                self.give(slot, Claim { mention: at, cue: self.preceded(at), reading });
            }
        }
    }

    fn reading_of(&self, slot: usize, days: Vec<Date>, how: &str) -> Interpretation {
        let form = self.slots[slot].day_form.as_deref().unwrap_or(ISO_DAY);
        let days = days.iter().map(|day| day.strftime(form).to_string());
        Interpretation::only(days.collect(), how)
    }

    /// Returns a cue that spans the function word before a mention.
    fn preceded(&self, at: usize) -> Cue {
        let span = &self.mention(at).span;
        let before = self.context.before(span.start);
        let word = before.first().filter(|word| is_function_word(&word.lower));
        Cue { span: word.map(|word| word.span.start..span.end), ..Cue::default() }
    }

    /// Assigns the hours of "from 9 to 12" or "3 to 4 pm" to the two times that a tool takes.
    pub(super) fn give_clock_range(&mut self) {
        let time = |role| {
            move |slot: &Slot| slot.kind == Kind::Time && slot.role == Some(role) && !slot.is_list
        };
        let (start, end) = (self.only(time(Role::Start)), self.only(time(Role::End)));
        let (Some(start), Some(end)) = (start, end) else { return };
        let mut pairs = (1..self.taken.len())
            .filter(|at| !self.taken[*at] && !self.taken[*at - 1])
            .filter_map(|at| Some((at, self.clock_range(at)?)));
        let (Some((at, times)), None) = (pairs.next(), pairs.next()) else { return };
        for ((slot, at), time) in [(start, at - 1), (end, at)].into_iter().zip(times) {
            let content =
                Content::When(PartialDateTime { times: vec![time], ..PartialDateTime::default() });
            let mention = Mention { span: self.mention(at).span.clone(), content };
            let reading = self.reader.read(&mention, &self.slots[slot], true);
            self.give(slot, Claim { mention: at, cue: self.preceded(at), reading });
        }
    }

    /// Returns the hours of a range of which the mention is the second.
    fn clock_range(&self, at: usize) -> Option<[Time; 2]> {
        let (first, last) = (self.mention(at - 1), self.mention(at));
        let gap = self.context.text.get(first.span.end..last.span.start)?.trim().to_lowercase();
        let (hours, is_said) =
            (clock(&first.content)?, |content| matches!(content, Content::When(_)));
        let lead = self.word_before(first);
        let is_to = gap.split(' ').all(|word| is_listed(word, "to till until - –"));
        let is_range = match gap.as_str() {
            _ if is_to => {
                is_listed(&lead, "between from with")
                    || is_said(first.content.clone())
                    || is_said(last.content.clone())
            }
            "and" => lead == "between",
            _ => false,
        };
        let until = clock(&last.content).filter(|_| is_range)?;
        // "The volume from 3 to 9".
        let before = self.context.before(first.span.start);
        let is_number = |word: &&Word| {
            let mut numbers = self.slots.iter().filter(|slot| slot.kind.is_number());
            numbers.any(|slot| slot.words.contains(&word.lower))
        };
        if before.into_iter().take(3).any(|word| is_number(&word)) {
            return None;
        }
        // "From 3 to 4 pm".
        let is_plain = !is_said(first.content.clone());
        let is_afternoon = self.text_of(&last.span).to_lowercase().contains('p');
        let later = hours.checked_add(12.hours()).ok().filter(|_| is_plain && is_afternoon);
        let later = later.filter(|later| *later < until);
        // Nobody says which half of the day "from 2 to 4" is in.
        let is_unclear = is_plain && later.is_none() && hours.hour() < 7;
        let hours = later.unwrap_or(hours);
        (hours < until && !is_unclear).then_some([hours, until])
    }

    /// Splits "tomorrow at 19:30" for a tool that takes day and time separately.
    fn split_moments(&mut self) {
        let is_moment = |mention: &Mention| {
            matches!(&mention.content, Content::When(when)
                if !when.is_instant && !when.days.is_empty() && !when.times.is_empty())
        };
        let day = self.only(|slot| slot.kind == Kind::Day);
        let time = self.only(|slot| slot.kind == Kind::Time);
        let (Some(day), Some(time)) = (day, time) else { return };
        let Some(at) = self.only_free(is_moment) else { return };
        for slot in [day, time] {
            let reading = self.reader.read(self.mention(at), &self.slots[slot], true);
            self.give(slot, Claim { mention: at, cue: self.preceded(at), reading });
        }
    }
}

/// The time of the day that a time without a day or a bare number is.
fn clock(content: &Content) -> Option<Time> {
    match content {
        Content::When(when) if when.days.is_empty() => match when.times[..] {
            [time] => Some(time),
            _ => None,
        },
        Content::Amount(amount) if amount.units.is_empty() && amount.to.is_none() => {
            let hour = amount.value?.to_json()?.as_i64()?;
            Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()
        }
        _ => None,
    }
}

/// A whole number with the length of its digits.
fn side(digits: &str) -> Option<Part> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = digits.parse().ok().filter(|_| is_number)?;
    Some((number.into(), digits.len()))
}
