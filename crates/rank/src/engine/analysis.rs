//! What a context is about, by the engine's own model.

use std::time::Instant;

use super::{Context, Engine, Error, SelectRequest};
use crate::embedding::{Embedder, Role};
use crate::query::{
    self, Analysis, Classifier, Guesses, Phase, TaskType, latin_share, phase_examples,
    routing_text, task_examples,
};

/// The labelled prompts of the `query` room by their vectors.
pub(super) struct Classifiers {
    phase: Classifier<Phase>,
    task_type: Classifier<TaskType>,
}

/// Share of Latin letters below which an encoder that knows no others is not asked.
pub(super) const READABLE: f32 = 0.5;

impl Engine {
    /// The features of a prompt and its context: phase and kind of work by the model where there is one, and by
    /// keywords where not or where it does not read the prompt's script.
    ///
    /// The first call embeds the examples, some 480 short prompts; later ones embed the prompt.
    /// A prompt that hangs on what was said before is taken with that.
    ///
    /// # Errors
    /// [`Error::Query`] for a context that cannot be used, and what embedding may raise.
    pub fn analyze(&self, prompt: &str, context: &Context) -> Result<Analysis, Error> {
        context.check()?;
        let start = Instant::now();
        let guesses = self.guesses(prompt, context)?;
        let embed = start.elapsed();
        let mut analysis = query::analyze(prompt, context, guesses)?;
        analysis.times.embed = embed;
        Ok(analysis)
    }

    /// A request with the features of its context, where these are to be found out.
    pub(super) fn analyzed(
        &self,
        request: &SelectRequest,
    ) -> Result<Option<(SelectRequest, Analysis)>, Error> {
        let wants = |context: &&Context| context.wants_analysis();
        let Some(context) = request.context.as_ref().filter(wants) else { return Ok(None) };
        let analysis = self.analyze(&request.prompt, context)?;
        let features = Some(analysis.features.clone());
        // The files have said what they say.
        let context = Context { features, files: Vec::new(), ..context.clone() };
        Ok(Some((SelectRequest { context: Some(context), ..request.clone() }, analysis)))
    }

    fn guesses(&self, prompt: &str, context: &Context) -> Result<Guesses, Error> {
        let state = self.state();
        let text = routing_text(prompt, &context.conversation);
        let readable =
            |model: &&dyn Embedder| !model.reads_latin_only() || latin_share(&text) >= READABLE;
        let Some(model) = state.embedder.as_deref().filter(readable) else {
            return Ok(Guesses::default());
        };
        let classifiers = self.classifiers(model)?;
        let embedded = model.embed(&[&text], Role::Query)?;
        let vector = embedded.vectors.as_slice().unwrap_or_default();
        Ok(Guesses {
            phase: Some(classifiers.phase.classify(vector)),
            task_type: Some(classifiers.task_type.classify(vector)),
        })
    }

    fn classifiers(&self, model: &dyn Embedder) -> Result<&Classifiers, Error> {
        if let Some(made) = self.classifiers.get() {
            return Ok(made);
        }
        let made = Classifiers {
            phase: classifier(phase_examples(), model)?,
            task_type: classifier(task_examples(), model)?,
        };
        // Where two threads were at it, they made the same.
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
