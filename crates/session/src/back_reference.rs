//! Values of the step before, to which a step of a plan refers: "unlock mara and reset her password",
//! "find the customer Ann and show me her cards".

use serde_json::Value;
use toolroute_catalog::{begins_clause, is_time_word, words_of};
use toolroute_run::execution::{
    Arguments, PreparedArguments, Question, Source, TakenValue, parsed_result, result_leaves,
};

/// Words that refer to something said before.
const WORDS: &str = "it its he him his she her they them their that this these those";

/// The number of levels of a result in which values are searched.
const DEPTH: usize = 4;

/// Whether a text refers to something before it. "That" before a clause ("say that it is late") and
/// "this week" do not.
pub(super) fn refers_back(text: &str) -> bool {
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '-' | '_')))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.iter().enumerate().any(|(at, word)| {
        let next = words.get(at + 1).map_or("", String::as_str);
        let points = || !begins_clause(next) && !is_time_word(next);
        let may_join = matches!(word.as_str(), "that" | "this" | "these" | "those");
        WORDS.split(' ').any(|known| known == word) && (!may_join || points())
    })
}

/// The step before another, as far as its values may be meant.
pub(super) struct StepBefore<'a> {
    pub need: &'a str,
    pub arguments: &'a PreparedArguments,
    /// Its answer; `None` before it is called.
    pub result: Option<&'a Value>,
}

/// A value that answers a question, and its source.
struct Referred {
    value: Value,
    source: Source,
}

impl StepBefore<'_> {
    /// Returns the values of this step for the open questions of the next one, by the parameter's name.
    pub fn given(
        &self,
        questions: &[Question],
        prompts: &[String],
    ) -> (Arguments, Vec<TakenValue>) {
        let (mut given, mut sources) = (Arguments::new(), Vec::new());
        for question in questions.iter().filter(|question| question.candidates.is_empty()) {
            let Some(Referred { value, source }) = self.value_of(&question.name, prompts) else {
                continue;
            };
            given.insert(question.name.clone(), value.clone());
            let (name, how) = (question.name.clone(), "the prompt refers to it".to_owned());
            sources.push(TakenValue { name, value, source, how });
        }
        (given, sources)
    }

    /// The value that this step was called with under a name, or the only one that its answer has.
    fn value_of(&self, name: &str, prompts: &[String]) -> Option<Referred> {
        if is_general(name) {
            return None;
        }
        let own = self.arguments.arguments.iter().find(|(known, _)| is_same(known, name));
        if let Some((known, value)) = own {
            let taken = self.arguments.sources.iter().find(|source| source.name == *known);
            let source = match taken.map(|taken| &taken.source) {
                Some(Source::Prompt { start, end, text }) => {
                    let prompt = prompts.iter().rposition(|prompt| prompt == self.need);
                    let (start, end, text) = (*start, *end, text.clone());
                    Source::Earlier { prompt: prompt.unwrap_or(prompts.len()), start, end, text }
                }
                Some(other) => other.clone(),
                None => Source::Given,
            };
            return Some(Referred { value: value.clone(), source });
        }
        let result = self.result?;
        let parsed = parsed_result(result);
        let mut found = result_leaves(parsed.as_ref().unwrap_or(result), DEPTH);
        found.retain(|(pointer, value)| {
            let key = pointer.rsplit('/').next().unwrap_or_default();
            is_same(key, name) && (value.is_string() || value.is_number())
        });
        let (pointer, value) = found.first()?;
        let is_only = found.iter().all(|(_, other)| other == value);
        let source = Source::LastResult { pointer: pointer.clone() };
        is_only.then(|| Referred { value: (*value).clone(), source })
    }
}

/// Whether two parameters have the same name: `customerId` and `customer_id`.
fn is_same(one: &str, other: &str) -> bool {
    !one.is_empty() && words_of(one) == words_of(other)
}

/// Whether a name does not say of what: the `id` of an animal is not that of its visit.
fn is_general(name: &str) -> bool {
    const GENERAL: &str = "code date id key name number reference status text title type value";
    matches!(&words_of(name)[..], [word] if GENERAL.split(' ').any(|known| known == word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_step_refers_back_by_little_words() {
        for (text, refers) in [
            ("water its plants", true),
            ("show me her parcels", true),
            ("list the parcels of that courier", true),
            ("say that it is late", true),
            ("say that we are late", false),
            ("list the parcels of this week", false),
            ("list the parcels", false),
        ] {
            assert_eq!(refers_back(text), refers, "{text}");
        }
    }

    #[test]
    fn values_come_from_the_call_or_from_an_answer_with_only_one() {
        let question = |name: &str| Question {
            name: name.to_owned(),
            description: None,
            kind: None,
            why: String::new(),
            candidates: Vec::new(),
        };
        let arguments = PreparedArguments {
            arguments: json!({"courier": "Ann"}).as_object().unwrap().clone(),
            ..PreparedArguments::default()
        };
        let of = |name: &str, result: Value| {
            let result = Some(&result);
            let before = StepBefore { need: "", arguments: &arguments, result };
            before.given(&[question(name)], &[]).0.get(name).cloned()
        };
        let one = json!({"couriers": [{"courierId": "C-7", "name": "Ann"}]});
        let two = json!({"couriers": [{"courierId": "C-7"}, {"courierId": "C-8"}]});
        assert_eq!(of("courier", Value::Null), Some(json!("Ann")));
        assert_eq!(of("courier_id", one.clone()), Some(json!("C-7")));
        assert_eq!(of("courier_id", json!(one.to_string())), Some(json!("C-7")));
        assert_eq!(of("courier_id", two), None);
        assert_eq!(of("depot_id", one), None);
        assert_eq!(of("depot_id", json!([{"id": 4}])), None);
        assert_eq!(of("id", json!({"id": 4})), None);
    }
}
