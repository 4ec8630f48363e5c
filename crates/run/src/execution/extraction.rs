//! Extraction of arguments from a prompt, without a model.
//!
//! Values in a prompt ("flights from Berlin to Oslo on 1 June, 2 adults") are assigned to the
//! parameters of a tool's schema: numbers with units, dates and times, quoted texts, paths,
//! addresses, ids, and values that the schema lists. The same prompt gives the same arguments, each
//! with its place in the prompt. An ambiguous value becomes a question and is never guessed.

mod arguments;
mod choice;
mod country;
mod cue;
mod decimal;
mod denial;
mod flag;
mod interpretation;
mod local_time;
mod mention;
mod plan;
mod query_text;
mod reference;
mod sense;
mod slot;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod translation;
mod unit;

use std::ops::Range;

use serde_json::{Map, Value};

pub use arguments::{
    ArgumentSources, PreparedArguments, Question, Source, TakenValue, UnusedMention,
};
pub use local_time::{LocalTime, LocalTimeError};
pub use reference::{parsed_result, result_leaves};

use super::invoker::Arguments;
use super::params::{Checker, rename_given};
use arguments::NOT_IN_PROMPT;
use cue::PromptContext;
use interpretation::{Interpretation, Interpreter};
use mention::{Mention, Scan};
use plan::Plan;
use slot::{Kind, Slot};
use time::Tense;
use toolroute_catalog::Tool;
use translation::PromptTranslation;

/// The limit of a prompt in bytes. A longer prompt is a document and is not read.
const MOST_BYTES: usize = 16 << 10;

/// The limit of the values in a prompt. A prompt with more is a list or a table and is not read.
const MOST_MENTIONS: usize = 200;

/// Words in names of parameters for a country or a part of one.
const REGION_WORDS: &str = "country province region state";

/// Prepares the arguments of a tool from a prompt and the earlier conversation.
///
/// ```
/// use serde_json::json;
/// use serde_json::value::to_raw_value;
/// use toolroute_catalog::Tool;
/// use toolroute_catalog::Schema;
/// use toolroute_run::execution::{ArgumentSources, LocalTime, prepare_arguments};
///
/// let mut timer = Tool::new(Some("home"), "set_timer", "Sets a timer");
/// timer.input_schema = Some(Schema::new(to_raw_value(&json!({
///     "type": "object", "required": ["seconds"], "properties": {
///         "seconds": {"type": "integer", "description": "How long, in seconds"},
///         "label": {"type": "string"}}}))?));
/// let now: LocalTime = "2026-04-20T10:30:00+02:00".parse()?;
///
/// let said = r#"set a timer for 1 hour and 15 minutes, label "Bread""#;
/// let prepared = prepare_arguments(&timer, &ArgumentSources::new(said, &now));
/// assert_eq!(json!(prepared.arguments), json!({"seconds": 4500, "label": "Bread"}));
/// let why = r#"`seconds` is 4500, from "1 hour and 15 minutes" (75 minutes are 4500 seconds)"#;
/// assert_eq!(prepared.sources[0].to_string(), why);
///
/// let unclear = prepare_arguments(&timer, &ArgumentSources::new("set a timer for 10", &now));
/// assert!(unclear.arguments.is_empty());
/// assert_eq!(unclear.missing[0].name, "seconds");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A prompt in another language is read in English, where a lexicon translates it; texts and names are taken in its
/// own words.
pub fn prepare_arguments(tool: &Tool, sources: &ArgumentSources<'_>) -> PreparedArguments {
    let translated = PromptTranslation::of(sources.prompt);
    let prompt = translated.as_ref().map_or(sources.prompt, |translated| translated.text());
    let mut prepared = prepare(tool, &ArgumentSources { prompt, ..*sources }, translated.as_ref());
    prepared.unread = translated.as_ref().and_then(|translated| translated.unread(&prepared));
    prepared.read_as = translated.map(PromptTranslation::into_text);
    prepared
}

fn prepare(
    tool: &Tool,
    sources: &ArgumentSources<'_>,
    translated: Option<&PromptTranslation<'_>>,
) -> PreparedArguments {
    let root = tool.input_schema.as_ref().and_then(toolroute_catalog::Schema::to_value);
    let root = root.unwrap_or(Value::Null);
    let empty = Arguments::new();
    let given = rename_given(sources.given.unwrap_or(&empty), &root);
    let mut slots = slot::slots(tool, &root);
    let checker = Checker::new(&root);
    let read = |slots: &[Slot], has_rest| {
        Prompt { tool, slots, checker: &checker, given: &given, sources, translated }.read(has_rest)
    };
    let plain = read(&slots, false);
    let has_message = has_message(&slots, &given);
    let may_have_left = !has_message && !tool.effects().destroys();
    let left = left_text(&slots, &plain).filter(|_| may_have_left);
    if !has_message && left.is_none() {
        return plain;
    }
    if let Some(at) = left {
        slots[at].takes_rest = true;
    }
    // The part after a colon counts as one text only if it contains no other required value.
    let with_rest = read(&slots, true);
    let is_asked =
        |question: &Question| plain.missing.iter().any(|other| other.name == question.name);
    let takes_it =
        |taken: &TakenValue| slots.iter().any(|slot| slot.takes_rest && slot.name == taken.name);
    // A text that is no message takes no part that another parameter takes without it.
    let is_kept = |(name, value): (&String, &Value)| with_rest.arguments.get(name) == Some(value);
    let is_rest = with_rest.missing.iter().all(is_asked)
        && with_rest.sources.iter().any(takes_it)
        && (has_message || plain.arguments.iter().all(is_kept));
    if is_rest { with_rest } else { plain }
}

/// Whether one message of the tool can be the text after a colon.
fn has_message(slots: &[Slot], given: &Arguments) -> bool {
    let messages =
        slots.iter().filter(|slot| slot.takes_rest && !given.contains_key(&slot.path[0]));
    let required = messages.clone().filter(|slot| slot.required).count();
    required == 1 || (required == 0 && messages.count() == 1)
}

/// Returns the text that is all that is left to ask for, if the tool has no message. A name is none: "block
/// the member: he stole a bike".
fn left_text(slots: &[Slot], plain: &PreparedArguments) -> Option<usize> {
    let [question] = &plain.missing[..] else { return None };
    let is_left = |slot: &Slot| {
        takes_reason(slot) && slot.name == question.name && question.candidates.is_empty()
    };
    let has_message = slots.iter().any(|slot| slot.takes_rest);
    slots.iter().position(is_left).filter(|_| !has_message)
}

/// Whether a slot is a text other than a name.
fn takes_reason(slot: &Slot) -> bool {
    slot.kind == Kind::Text && !slot.is_list && !slot.has_word("name") && !slot.is_person()
}

/// Finds the values in a prompt. Returns `None` if the prompt is too long or has too many values.
fn mentions_of(prompt: &str, scan: &Scan<'_>) -> Option<Vec<Mention>> {
    let mentions = (prompt.len() <= MOST_BYTES).then(|| mention::scan(prompt, scan));
    mentions.filter(|mentions| mentions.len() <= MOST_MENTIONS)
}

/// The extraction from one prompt for one tool.
struct Prompt<'a> {
    tool: &'a Tool,
    slots: &'a [Slot],
    checker: &'a Checker,
    given: &'a Arguments,
    sources: &'a ArgumentSources<'a>,
    translated: Option<&'a PromptTranslation<'a>>,
}

impl Prompt<'_> {
    fn read(&self, has_rest: bool) -> PreparedArguments {
        let now = &self.sources.now.0;
        let has = |kind: Kind| self.slots.iter().any(|slot| slot.kind == kind);
        let has_times = has(Kind::Day) || has(Kind::Moment);
        let has_addresses = has(Kind::Address);
        let has_regions = self.slots.iter().any(|slot| slot.has_word(REGION_WORDS));
        let effects = self.tool.effects();
        let reads_only = effects.reads_only();
        let tense = tense(self.tool, reads_only);
        let scan = Scan { now, tense, has_rest, has_times, has_addresses, has_regions };
        let mentions = mentions_of(self.sources.prompt, &scan);
        let before = Scan { has_rest: false, ..scan };
        let earlier = self.sources.earlier.iter().map(|prompt| mentions_of(prompt, &before));
        let earlier: Vec<Vec<Mention>> = earlier.map(Option::unwrap_or_default).collect();
        let Some(mentions) = mentions else { return self.unread() };
        let words = text::words(self.sources.prompt);
        let nouns = tool_nouns(self.tool);
        let tool_words: Vec<String> = text::name_words(&self.tool.name)
            .into_iter()
            .chain(text::words(&self.tool.description).into_iter().map(|word| word.lower))
            .map(|word| text::stem(&word))
            .collect();
        let context = PromptContext {
            text: self.sources.prompt,
            words: &words,
            mentions: &mentions,
            tool_nouns: &nouns,
            reads_only,
        };
        let reader = Interpreter {
            zone: now.time_zone(),
            checker: self.checker,
            has_unit: has(Kind::Currency)
                || self.slots.iter().any(|slot| slot.has_word("currency unit")),
            has_time: has(Kind::Time),
            has_day: has_times,
            today: now.date(),
            reads_only,
        };
        let mut plan =
            Plan::new(context, self.slots, reader, (&self.tool.name, effects, &tool_words));
        for (at, slot) in self.slots.iter().enumerate() {
            plan.is_given[at] = self.given.contains_key(&slot.path[0]);
        }
        plan.decide();
        plan.give_referred(self.sources, &earlier);
        plan.give_words(&query_text::objects(self.tool));
        self.result(plan)
    }

    /// Takes no value from the prompt, and asks for every required parameter.
    fn unread(&self) -> PreparedArguments {
        let is_asked = |slot: &&Slot| {
            slot.required && !slot.has_default && !self.given.contains_key(&slot.path[0])
        };
        let missing = self.slots.iter().filter(is_asked);
        let missing = missing.map(|slot| slot.question("the prompt is too long to read it there"));
        PreparedArguments {
            arguments: self.given.clone(),
            sources: self.given_sources(),
            missing: missing.collect(),
            ..PreparedArguments::default()
        }
    }

    fn given_sources(&self) -> Vec<TakenValue> {
        let taken = |(name, value): (&String, &Value)| TakenValue {
            name: name.clone(),
            value: value.clone(),
            source: Source::Given,
            how: String::new(),
        };
        self.given.iter().map(taken).collect()
    }

    fn result(&self, mut plan: Plan<'_>) -> PreparedArguments {
        let mut arguments = self.given.clone();
        let mut sources = self.given_sources();
        plan.doubt_unsaid_subjects();
        plan.doubt_currency();
        plan.doubt_unused();
        plan.doubt_cut_ids();
        for (at, slot) in self.slots.iter().enumerate() {
            if plan.is_open(at)
                && slot.required
                && slot.kind == Kind::Choice
                && let [(_, value)] = &slot.choices[..]
            {
                plan.assign(at, value.clone(), Source::Schema, "");
            }
            for mut taken in plan.assignments[at].drain(..) {
                if let Some(translated) = self.translated {
                    translated.restore(slot, &mut taken);
                }
                put(&mut arguments, slot, taken.value.clone());
                sources.push(taken);
            }
        }
        let missing = self.questions(&plan, &arguments);
        let mentions = || plan.context.mentions.iter().zip(&plan.taken);
        let places = |wanted: &dyn Fn(&Mention, bool) -> bool| {
            let found = mentions().filter(|(mention, taken)| wanted(mention, **taken));
            found.map(|(mention, _)| mention.span.clone()).collect()
        };
        let taken = places(&|_, taken| taken);
        let moments = places(&|mention, taken| {
            let lead = self.sources.prompt[..mention.span.start].split_whitespace().next_back();
            !taken
                && mention.content.is_time(lead.unwrap_or_default())
                && !self.is_given(&plan, mention)
        });
        let lost = places(&|mention, taken| {
            !taken && plan.is_distinct_value(mention) && !self.is_given(&plan, mention)
        });
        let (read_as, unread) = (None, None);
        PreparedArguments {
            arguments,
            sources,
            missing,
            unused: self.unused(&plan),
            read_as,
            unread,
            taken,
            lost,
            moments,
        }
    }

    /// The values that no parameter took, in the words of the prompt.
    fn unused(&self, plan: &Plan<'_>) -> Vec<UnusedMention> {
        let mentions = plan.context.mentions.iter().zip(&plan.taken);
        let free = mentions.filter(|(mention, taken)| {
            !**taken && !matches!(mention.content, mention::Content::Unclear)
        });
        let text = |span: &Range<usize>| match self.translated {
            Some(translated) => translated.original(span).to_owned(),
            None => self.sources.prompt[span.clone()].to_owned(),
        };
        let mentions = free.map(|(mention, _)| (mention.span.clone(), mention.content.kind()));
        let mut unused: Vec<(Range<usize>, &str)> = mentions.collect();
        for span in plan.words_unused() {
            if !unused.iter().any(|(other, _)| text::overlap(other, &span)) {
                unused.push((span, "words"));
            }
        }
        unused.into_iter().map(|(span, kind)| UnusedMention { text: text(&span), kind }).collect()
    }

    /// Whether a value of the prompt may be meant for an argument that the caller gave.
    fn is_given(&self, plan: &Plan<'_>, mention: &Mention) -> bool {
        let given = self.slots.iter().enumerate().filter(|(at, _)| plan.is_given[*at]);
        given
            .map(|(_, slot)| plan.reader.read(mention, slot, false))
            .any(|reading| matches!(reading, Interpretation::Value { .. }))
    }

    fn questions(&self, plan: &Plan<'_>, arguments: &Arguments) -> Vec<Question> {
        let mut questions = Vec::new();
        for (at, slot) in self.slots.iter().enumerate() {
            let is_there = arguments.get(&slot.path[0]).is_some_and(|value| {
                slot.path.get(1).is_none_or(|member| value.get(member).is_some())
            });
            let object_is_there = slot.path.len() > 1 && arguments.contains_key(&slot.path[0]);
            let is_needed = slot.required || (object_is_there && slot.required_in_object);
            if is_there || plan.is_given[at] {
                continue;
            }
            let not_said = (is_needed && !slot.has_default).then(|| slot.question(NOT_IN_PROMPT));
            questions.extend(plan.open_questions[at].clone().or(not_said));
        }
        questions
    }
}

/// Adds a value under the name of its slot.
fn put(arguments: &mut Arguments, slot: &Slot, value: Value) {
    let mut place = arguments.entry(slot.path[0].clone()).or_insert(Value::Null);
    if let Some(member) = slot.path.get(1) {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(members) = place else { return };
        place = members.entry(member.clone()).or_insert(Value::Null);
    }
    match place {
        Value::Array(items) if slot.is_list => items.push(value),
        place if slot.is_list => *place = Value::Array(vec![value]),
        place => *place = value,
    }
}

/// Guesses from the words of its name whether a tool is about the future ("book", "due") or reads what was
/// ("transactions").
fn tense(tool: &Tool, reads_only: bool) -> Tense {
    const AHEAD: &str = "appointment book booking deadline due flight forecast hotel remind reminder \
         postpone reschedule reservation reserve schedule";
    const PLANNED: &str = "event meeting task todo";
    const CREATING: &str = "add create make move plan set update";
    const PAST: &str = "expense history log sale statement transaction usage visit";
    let singular = |word: String| text::singular(&word).into_owned();
    let words: Vec<String> = text::name_words(&tool.name).into_iter().map(singular).collect();
    let any = |among: &str| words.iter().any(|word| text::is_listed(word, among));
    let is_ahead = any(AHEAD) || (any(PLANNED) && any(CREATING));
    match is_ahead {
        true => Tense::Future,
        false if reads_only && any(PAST) => Tense::Past,
        false => Tense::Unknown,
    }
}

/// Nouns for what the tool is about: the words of its name after the first, and the plurals in the
/// first sentence of its description, in the singular.
fn tool_nouns(tool: &Tool) -> Vec<String> {
    let named = text::name_words(&tool.name).into_iter().skip(1);
    let named = named.map(|word| text::singular(&word).into_owned());
    let first = tool.description.split(". ").next().unwrap_or_default();
    let plurals = text::words(first)
        .into_iter()
        .map(|word| (text::singular(&word.lower).into_owned(), word.lower));
    plurals.filter(|(one, many)| one != many).map(|(one, _)| one).chain(named).collect()
}
