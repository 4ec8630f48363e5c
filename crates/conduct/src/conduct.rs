//! The top-level loop from a document to an answer. One request may span several processes.

use super::Error;
use super::answer::Answer;
use super::facts::Scope;
use super::ledger::{Ledger, RequestRow, RequestStatus};
use super::obligation::Request;
use super::reply::Reply;
use super::runner::Runner;
use super::translate::{Document, is_utterance, read_request, tell};
use toolroute_rank::engine::Engine;

/// How to handle a document that is already in the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// Start a new request. An unfinished request with the same document is an error.
    #[default]
    Anew,
    /// Continue the request. If it is finished, return its answer and run nothing.
    Resume,
}

/// Discharges obligations with the tools of an engine, and records each step in a ledger.
pub struct Conductor<'a> {
    pub(super) engine: &'a Engine,
    pub(super) runner: &'a dyn Runner,
    pub(super) ledger: &'a mut Ledger,
    pub(super) scope: Scope,
    replies: Vec<Reply>,
}

impl<'a> Conductor<'a> {
    /// Creates a conductor. The engine finds the tools, the runner runs them, and the ledger keeps
    /// each step.
    pub fn new(engine: &'a Engine, runner: &'a dyn Runner, ledger: &'a mut Ledger) -> Self {
        Self { engine, runner, ledger, scope: Scope::default(), replies: Vec::new() }
    }

    /// Sets which requests facts are taken from.
    #[must_use]
    #[doc(hidden)] // For our own crates.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Adds replies to the questions of a resumed request, in addition to those in its document.
    #[must_use]
    #[doc(hidden)] // For our own crates.
    pub fn replies(mut self, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.replies.extend(replies);
        self
    }

    /// Discharges the obligations of a document and returns the answer. The document is JSON with
    /// obligations, or with an utterance from which the router derives them. When resuming, an
    /// empty object means the latest request of the ledger.
    ///
    /// # Errors
    /// Returns an error if the document is not a request ([`Error::NotJson`], [`Error::Schema`] and
    /// others), if a request with the same document is unfinished ([`Error::Unfinished`]), if a
    /// reply matches no open question ([`Error::NoSuchQuestion`] and others), or if the ledger
    /// cannot be written. A tool that fails is not an error: the answer reports it.
    pub fn conduct(&mut self, document: &str, begin: Begin) -> Result<Answer, Error> {
        let document = Document::read(document);
        let mut replies = document.replies;
        replies.append(&mut self.replies);
        if begin == Begin::Anew && !replies.is_empty() {
            return Err(Error::RepliesAnew);
        }
        let known = match (document.is_empty, begin) {
            (true, Begin::Resume) => self.ledger.latest_of_all()?,
            _ => self.ledger.latest(&document.digests)?,
        };
        let known = known.filter(|row| row.status != RequestStatus::Refused);
        match (known, begin) {
            (Some(row), Begin::Resume) => self.resume(row, &replies),
            (Some(row), Begin::Anew) if row.status != RequestStatus::Answered => {
                Err(Error::Unfinished { path: self.ledger.path().to_owned() })
            }
            (None, Begin::Resume) if document.is_empty || !replies.is_empty() => {
                Err(Error::NothingToResume { path: self.ledger.path().to_owned() })
            }
            _ => {
                let request = self.ledger.receive(&document.digests[0], &document.text)?;
                self.go_on(request)
            }
        }
    }

    /// Finishes an interrupted request, applies the replies, and continues every obligation that
    /// can continue.
    fn resume(&mut self, row: RequestRow, replies: &[Reply]) -> Result<Answer, Error> {
        let request = row.id;
        let answer = match row.status {
            RequestStatus::Answered => self.kept(row)?,
            _ => self.go_on(request)?,
        };
        let changes = self.take(request, replies)?;
        if changes.is_empty() && self.continuations(request)?.is_empty() {
            return Ok(answer);
        }
        self.ledger.reopen(request, &changes)?;
        self.go_on(request)
    }

    fn kept(&self, row: RequestRow) -> Result<Answer, Error> {
        let read = serde_json::from_value(row.answer.unwrap_or_default());
        read.map_err(|error| Error::Ledger { action: "give an answer", said: error.to_string() })
    }

    fn go_on(&mut self, request: i64) -> Result<Answer, Error> {
        let row = self.ledger.request(request)?;
        if row.status == RequestStatus::Received {
            match self.translate(&row.document) {
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
            if let Some(found) = self.ledger.next_unverified(request)? {
                self.verify(request, &found)?;
                continue;
            }
            let next = self.continuations(request)?;
            if next.is_empty() {
                break;
            }
            self.ledger.commit(request, &next)?;
        }
        let mut answer = Answer::gather(self.ledger, request)?;
        answer.text = tell(&answer);
        let kept = serde_json::to_value(&answer);
        let kept = kept.map_err(|error| Error::Ledger {
            action: "take the answer",
            said: error.to_string(),
        })?;
        self.ledger.answer(request, &kept)?;
        Ok(answer)
    }

    fn translate(&self, document: &str) -> Result<Request, Error> {
        match is_utterance(document) {
            true => self.translate_utterance(document),
            false => read_request(document),
        }
    }
}
