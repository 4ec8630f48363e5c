//! Analyses a prompt and its context, and splits a prompt into needs.

use std::time::Instant;

use super::{Context, Engine, Error, SelectRequest};
use crate::embedding::{Embedder, Role};
use crate::query::{
    self, Analysis, Classifier, Guesses, Phase, TaskType, latin_share, phase_by_keywords,
    phase_examples, routing_text, task_by_keywords, task_examples,
};

/// Classifiers trained on the labelled prompts of `query`, with the vectors of the engine's model.
pub(super) struct Classifiers {
    phase: Classifier<Phase>,
    task_type: Classifier<TaskType>,
}

/// The minimum share of Latin letters in a text for which an encoder of Latin script is used.
pub(super) const READABLE: f32 = 0.5;

impl Engine {
    /// Returns the features of a prompt and its context, such as the phase and the kind of work.
    /// They are determined by the model, or by keywords if there is no model or it does not read
    /// the prompt's script. The keywords of a prompt that is translated come before its translation.
    ///
    /// The first call embeds some 480 short examples; later ones embed the prompt only. A follow-up
    /// prompt is read together with the conversation.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::{Context, Engine};
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// let analysis = engine.analyze("fix the failing test", &Context::default())?;
    /// assert_eq!(analysis.features.task_type.unwrap().as_str(), "bug_fix");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`]; [`Error::Query`] for an invalid context; errors of the embedder.
    pub fn analyze(&self, prompt: &str, context: &Context) -> Result<Analysis, Error> {
        query::check(prompt, Some(context))?;
        let start = Instant::now();
        let guesses = self.guesses(prompt, context)?;
        let embed = start.elapsed();
        let mut analysis = query::analyze(prompt, context, guesses);
        analysis.times[0].1 = embed;
        Ok(analysis)
    }

    /// Returns the request with the features of its context, and the analysis that found them;
    /// `None` if the request needs no analysis.
    pub(super) fn analyzed(
        &self,
        request: &SelectRequest,
    ) -> Result<Option<(SelectRequest, Analysis)>, Error> {
        let wants = |context: &&Context| context.wants_analysis();
        let Some(context) = request.context.as_ref().filter(wants) else { return Ok(None) };
        let analysis = self.analyze(&request.prompt, context)?;
        let features = Some(analysis.features.clone());
        // From here on, the features replace the files.
        let context = Context { features, files: Vec::new(), ..context.clone() };
        Ok(Some((SelectRequest { context: Some(context), ..request.clone() }, analysis)))
    }

    /// Returns the requests in a prompt, in its own words: one if it asks for one thing, or if
    /// [`super::EngineConfig::clauses`] is off.
    ///
    /// ```
    /// # use toolroute_catalog::Catalog;
    /// # use toolroute_rank::engine::Engine;
    /// let engine = Engine::builder(Catalog::default()).build()?;
    /// let needs = engine.needs("Create an issue for the crash. Email Dana about it.");
    /// assert_eq!(needs.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn needs(&self, prompt: &str) -> Vec<String> {
        let state = self.state();
        let is_verb = |word: &str| state.tool_actions().has_verb(word);
        let mut needs = match state.config.clauses {
            true => whole_quotes(prompt, query::wishes(prompt, &is_verb)),
            false => vec![prompt.to_owned()],
        };
        needs.retain(|need| !query::says_nothing(need));
        needs
    }

    fn guesses(&self, prompt: &str, context: &Context) -> Result<Guesses, Error> {
        let state = self.state();
        let said = routing_text(prompt, &context.conversation);
        let english = toolroute_translation::in_english(&said);
        let text = english.as_ref().map_or(&*said, |english| english.text.as_str());
        let readable =
            |model: &&dyn Embedder| !model.reads_latin_only() || latin_share(text) >= READABLE;
        let Some(model) = state.embedder.as_deref().filter(readable) else {
            return Ok(Guesses::default());
        };
        let classifiers = self.classifiers(model)?;
        let embedded = model.embed(&[text], Role::Query)?;
        let vector = embedded.vectors.as_slice().unwrap_or_default();
        let guesses = Guesses {
            phase: Some(classifiers.phase.classify(vector)),
            task_type: Some(classifiers.task_type.classify(vector)),
        };
        Ok(if english.is_some() { keywords_first(guesses, &said) } else { guesses })
    }

    fn classifiers(&self, model: &dyn Embedder) -> Result<&Classifiers, Error> {
        if let Some(made) = self.classifiers.get() {
            return Ok(made);
        }
        let made = Classifiers {
            phase: classifier(phase_examples(), model)?,
            task_type: classifier(task_examples(), model)?,
        };
        // If two threads compute the classifiers at the same time, the results are equal.
        Ok(self.classifiers.get_or_init(|| made))
    }
}

fn classifier<L: Copy + PartialEq>(
    examples: Vec<(&str, Option<L>)>,
    model: &dyn Embedder,
) -> Result<Classifier<L>, Error> {
    let (texts, labels): (Vec<&str>, Vec<Option<L>>) = examples.into_iter().unzip();
    let embedded = model.embed(&texts, Role::Query)?;
    let width = embedded.vectors.ncols();
    let vectors = embedded.vectors.into_raw_vec_and_offset().0;
    Ok(Classifier::new(labels, vectors, width)?)
}

/// Leaves to the keywords of a prompt that was translated what they say. Word by word, a translation loses what the
/// examples are told apart by: "write unit test module" resembles documentation. Keywords of a prompt that is not about
/// software are accidental.
fn keywords_first(guesses: Guesses, said: &str) -> Guesses {
    let Guesses { phase, task_type } = guesses;
    let has_label = phase.is_some_and(|guess| guess.label.is_some())
        || task_type.is_some_and(|guess| guess.label.is_some());
    Guesses {
        phase: phase.filter(|_| !has_label || phase_by_keywords(said).is_none()),
        task_type: task_type.filter(|_| !has_label || task_by_keywords(said).is_none()),
    }
}

/// Joins clauses that belong to one quotation, because quoted text is not a request.
fn whole_quotes(prompt: &str, clauses: Vec<String>) -> Vec<String> {
    let is_open = |text: &str| {
        let count = |quote: char| text.matches(quote).count();
        count('"') % 2 == 1 || count('“') > count('”') || count('«') > count('»')
    };
    let mut whole: Vec<String> = Vec::new();
    for clause in clauses {
        match whole.last_mut().filter(|last| is_open(last)) {
            Some(last) => match spanned(prompt, last, &clause) {
                Some(all) => *last = all.to_owned(),
                None => *last = format!("{last} {clause}"),
            },
            None => whole.push(clause),
        }
    }
    whole
}

/// Returns the part of the prompt from one clause to the end of another; `None` unless it contains
/// both.
fn spanned<'a>(prompt: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let start = prompt.find(from)?;
    let after = start + from.len();
    let end = after + prompt[after..].find(to)? + to.len();
    Some(&prompt[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Guess;

    #[test]
    fn the_keywords_of_a_translated_prompt_come_before_its_translation() {
        let wrong = || Guesses {
            phase: Some(Guess { label: Some(Phase::Completion), confidence: 0.6 }),
            task_type: Some(Guess { label: Some(TaskType::Documentation), confidence: 0.6 }),
        };
        for (said, phase, task) in [
            ("כתוב בדיקות יחידה למודול", Phase::Refinement, Some(TaskType::Testing)),
            ("编写单元测试", Phase::Refinement, Some(TaskType::Testing)),
            ("اكتب اختبارات الوحدة", Phase::Refinement, Some(TaskType::Testing)),
            (
                "écris des tests unitaires pour ce module",
                Phase::Refinement,
                Some(TaskType::Testing),
            ),
            ("escribe pruebas unitarias", Phase::Refinement, Some(TaskType::Testing)),
            ("כתוב את הדרישות ואת קריטריוני הקבלה", Phase::Specification, None),
        ] {
            let left = keywords_first(wrong(), said);
            let found = query::analyze(said, &Context::default(), left).features;
            assert_eq!(found.phase, Some(phase), "{said}");
            assert_eq!(found.task_type, task.or(Some(TaskType::Documentation)), "{said}");
        }
        // Nothing is left to keywords that say nothing, or of a prompt that is not about software.
        let left = keywords_first(wrong(), "كتابة");
        assert!(left.phase.is_some() && left.task_type.is_some());
        let none = Guesses { phase: Some(Guess { label: None, confidence: 0.6 }), task_type: None };
        assert!(keywords_first(none, "בדיקות דם").phase.is_some());
    }

    #[test]
    fn a_quotation_stays_whole_and_no_word_is_in_two_needs() {
        let whole = |prompt: &str| whole_quotes(prompt, query::wishes(prompt, &|_| false));
        let prompt = "Send Dana a mail that says \"drink tea and get the weather forecast\"";
        assert_eq!(whole(prompt), [prompt]);
        let prompt = "Create an issue for the crash. Email Dana saying \"Hello.\nRead the report and close the issue\"";
        let needs = whole(prompt);
        assert!(!needs[1].contains("Create"), "{needs:?}");
        assert_eq!(needs.len(), 2, "{needs:?}");
    }
}
