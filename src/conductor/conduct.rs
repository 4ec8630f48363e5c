//! The top-level loop: from a document to an answer, over as many processes as it takes.

use super::Error;
use super::answer::Answer;
use super::ledger::{Ledger, RequestRow, RequestStatus};
use super::runner::Runner;
use super::translate::{JsonTranslator, Templates, TranslatorIn, TranslatorOut};
use crate::engine::{Engine, fingerprint};

/// What to do with a document that the ledger knows already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// A new request; one of the same document that is not finished is an error.
    #[default]
    Anew,
    /// Go on with it where it stopped; where it is finished, give its answer and run nothing.
    Resume,
}

/// Discharges obligations with the tools of an engine, and keeps what it does in a ledger.
pub struct Conductor<'a> {
    pub(super) engine: &'a Engine,
    pub(super) runner: &'a dyn Runner,
    pub(super) ledger: &'a mut Ledger,
    reading: &'a dyn TranslatorIn,
    telling: &'a dyn TranslatorOut,
}

impl<'a> Conductor<'a> {
    /// One that reads JSON and tells by templates.
    pub fn new(engine: &'a Engine, runner: &'a dyn Runner, ledger: &'a mut Ledger) -> Self {
        Self { engine, runner, ledger, reading: &JsonTranslator, telling: &Templates }
    }

    /// Other translators: a language model, say.
    #[must_use]
    pub fn translators(
        mut self,
        reading: &'a dyn TranslatorIn,
        telling: &'a dyn TranslatorOut,
    ) -> Self {
        (self.reading, self.telling) = (reading, telling);
        self
    }

    /// Does what a document asks for, and answers.
    ///
    /// # Errors
    /// Where the document is no request ([`Error::NotJson`], [`Error::Schema`] and others),
    /// [`Error::Unfinished`], or the ledger cannot be written. A tool that fails is no error: the
    /// answer says so.
    pub fn conduct(&mut self, document: &str, begin: Begin) -> Result<Answer, Error> {
        let digest = fingerprint(&[document]);
        let known = self.ledger.latest(&digest)?;
        let unfinished = |row: &RequestRow| {
            matches!(row.status, RequestStatus::Received | RequestStatus::Planned)
        };
        let request = match (known, begin) {
            (Some(row), Begin::Resume) if row.status == RequestStatus::Answered => {
                return self.kept(row);
            }
            (Some(row), Begin::Resume) if unfinished(&row) => row.id,
            (Some(row), Begin::Anew) if unfinished(&row) => {
                return Err(Error::Unfinished { path: self.ledger.path().to_owned() });
            }
            _ => self.ledger.receive(&digest, document)?,
        };
        self.go_on(request)
    }

    fn kept(&self, row: RequestRow) -> Result<Answer, Error> {
        let read = serde_json::from_value(row.answer.unwrap_or_default());
        read.map_err(|error| Error::Ledger { action: "give an answer", said: error.to_string() })
    }

    fn go_on(&mut self, request: i64) -> Result<Answer, Error> {
        let row = self.ledger.request(request)?;
        if row.status == RequestStatus::Received {
            match self.reading.translate(&row.document) {
                Ok(wanted) => self.ledger.plan(request, &wanted)?,
                Err(error) => {
                    self.ledger.refuse(request, &error.to_string())?;
                    return Err(error);
                }
            }
        }
        loop {
            while let Some(obligation) = self.ledger.next_active(request)? {
                self.satisfy(&obligation)?;
            }
            match self.ledger.next_unverified(request)? {
                Some(found) => self.verify(request, &found)?,
                None => break,
            }
        }
        let mut answer = Answer::gather(self.ledger, request)?;
        answer.text = self.telling.tell(&answer);
        let kept = serde_json::to_value(&answer);
        let kept = kept.map_err(|error| Error::Ledger {
            action: "take the answer",
            said: error.to_string(),
        })?;
        self.ledger.answer(request, &kept)?;
        Ok(answer)
    }
}
