//! Finds the user whom a server's question is for.
//!
//! All clients share a connection, and over stdin and stdout a question does not say during which
//! call it is asked. A question that may belong to calls of several clients is put to none of them:
//! it may contain what one of them sent.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{RequestId, ServerRequest};
use rmcp::service::InboundStreamOrigin;
use serde_json::Value;
use tokio::sync::watch;

use super::super::elicitation::{Elicitation, User, cancelled};

/// The method of a question.
pub(super) const METHOD: &str = "elicitation/create";

/// Whether a request of the server is a question to the user.
pub(super) fn is_question(request: &ServerRequest) -> bool {
    match request {
        ServerRequest::ElicitRequest(_) => true,
        // One that rmcp cannot read.
        ServerRequest::CustomRequest(request) => request.method == METHOD,
        _ => false,
    }
}

/// The running calls and the open questions of a connection.
#[derive(Clone)]
pub(super) struct Questions {
    server: Arc<str>,
    state: Arc<watch::Sender<State>>,
}

#[derive(Default)]
struct State {
    calls: Vec<RunningCall>,
    begun: u64,
    /// Questions that the server has neither withdrawn nor got an answer to.
    open: HashSet<RequestId>,
}

struct RunningCall {
    number: u64,
    /// The id of its request, once it is sent.
    id: Option<RequestId>,
    user: Option<User>,
}

impl Questions {
    pub fn new(server: &str) -> Self {
        Self { server: Arc::from(server), state: Arc::default() }
    }

    /// Records a call before it is sent, because the server may ask immediately.
    pub fn begin(&self, user: Option<&User>) -> Running<'_> {
        let mut number = 0;
        self.state.send_modify(|state| {
            state.begun += 1;
            number = state.begun;
            state.calls.push(RunningCall { number, id: None, user: user.cloned() });
        });
        Running { questions: self, number }
    }

    /// Records a question when it arrives.
    pub fn open(&self, id: &RequestId) {
        self.state.send_if_modified(|state| state.open.insert(id.clone()));
    }

    /// Records that the server withdraws a question, or that any request of it is answered.
    pub fn close(&self, id: &RequestId) {
        self.state.send_if_modified(|state| state.open.remove(id));
    }

    /// The answer to a question. It is `cancel` as soon as the calls of its client have ended or the
    /// server has withdrawn it, and if there is nobody to ask.
    pub async fn answer(
        &self,
        id: &RequestId,
        origin: Option<&InboundStreamOrigin>,
        sent: Value,
    ) -> Value {
        match self.user(origin) {
            Some(user) => match Elicitation::read(&self.server, sent) {
                Ok(question) => self.ask(id, &user, question).await,
                Err(because) => {
                    user.note(&self.server, &because);
                    cancelled()
                }
            },
            None => cancelled(),
        }
    }

    async fn ask(&self, id: &RequestId, user: &User, question: Elicitation) -> Value {
        let mut state = self.state.subscribe();
        let is_moot = |state: &State| {
            let of_client =
                |call: &RunningCall| call.user.as_ref().is_some_and(|u| u.is_of_client_of(user));
            !state.open.contains(id) || !state.calls.iter().any(of_client)
        };
        tokio::select! {
            biased;
            _ = async { state.wait_for(is_moot).await.map(drop) } => cancelled(),
            answered = user.ask(question) => answered,
        }
    }

    /// The user of the call on whose stream a question came, or of the only client whose calls are
    /// running.
    fn user(&self, origin: Option<&InboundStreamOrigin>) -> Option<User> {
        let state = self.state.borrow();
        let named = match origin {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            _ => None,
        };
        let is_named = |call: &&RunningCall| named.is_some() && call.id.as_ref() == named;
        let may_be = |call: &&RunningCall| named.is_none() || call.id.is_none();
        let calls: Vec<&RunningCall> = match state.calls.iter().find(is_named) {
            Some(call) => vec![call],
            None => state.calls.iter().filter(may_be).collect(),
        };
        let user = calls.iter().find_map(|call| call.user.as_ref())?;
        let is_its = |call: &&RunningCall| {
            call.user.as_ref().is_some_and(|other| other.is_of_client_of(user))
        };
        if calls.iter().all(is_its) {
            return Some(user.clone());
        }
        let users = calls.iter().filter_map(|call| call.user.as_ref());
        let because = match calls.iter().all(|call| call.user.is_some()) {
            true => "several clients call it at the same time",
            false => "it works at the same time on a request during which nobody is asked",
        };
        users.for_each(|user| user.note(&self.server, because));
        None
    }
}

/// A call that is running until this is dropped.
pub(super) struct Running<'a> {
    questions: &'a Questions,
    number: u64,
}

impl Running<'_> {
    pub fn sent(&self, id: &RequestId) {
        self.questions.state.send_modify(|state| {
            let call = state.calls.iter_mut().find(|call| call.number == self.number);
            call.into_iter().for_each(|call| call.id = Some(id.clone()));
        });
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let number = self.number;
        self.questions.state.send_modify(|state| state.calls.retain(|call| call.number != number));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    const ACCEPTED: &str = r#"{"action":"accept"}"#;

    fn user(client: usize) -> User {
        User::new(client, |_| Box::pin(async { Ok(serde_json::from_str(ACCEPTED).unwrap()) }))
    }

    async fn answer(questions: &Questions, origin: Option<i64>) -> String {
        let number = |id: i64| RequestId::Number(id);
        let origin = origin.map(|id| InboundStreamOrigin::OutboundRequest(number(id)));
        questions.open(&number(9));
        let sent = json!({"message": "?", "requestedSchema": {}});
        questions.answer(&number(9), origin.as_ref(), sent).await.to_string()
    }

    #[tokio::test]
    async fn a_question_goes_to_the_client_that_calls_and_to_no_other() {
        let questions = Questions::new("s");
        assert_eq!(answer(&questions, None).await, cancelled().to_string(), "no call");
        let (first, second) = (user(1), user(2));
        let call = questions.begin(Some(&first));
        assert_eq!(answer(&questions, None).await, ACCEPTED);
        let again = questions.begin(Some(&first));
        assert_eq!(answer(&questions, None).await, ACCEPTED, "two calls of one client");
        let other = questions.begin(Some(&second));
        assert_eq!(answer(&questions, None).await, cancelled().to_string());
        assert_eq!((first.unasked().len(), second.unasked().len()), (1, 1));
        for (call, id) in [(&call, 1), (&again, 2), (&other, 3)] {
            call.sent(&RequestId::Number(id));
        }
        assert_eq!(answer(&questions, Some(3)).await, ACCEPTED, "its stream says which");
        assert_eq!(answer(&questions, Some(4)).await, cancelled().to_string());
        let unsent = questions.begin(Some(&second));
        assert_eq!(answer(&questions, Some(1)).await, ACCEPTED, "one that is not sent yet");
        drop((again, other, unsent));
        let nobody = questions.begin(None);
        assert_eq!(answer(&questions, None).await, cancelled().to_string());
        assert!(first.unasked()[1].ends_with("during which nobody is asked"));
        drop((call, nobody));
        assert!(questions.state.borrow().calls.is_empty());
    }

    #[tokio::test]
    async fn a_question_ends_with_its_call_and_when_it_is_withdrawn() {
        let questions = Questions::new("s");
        let silent = User::new(1, |_| Box::pin(std::future::pending()));
        let call = questions.begin(Some(&silent));
        let withdraw = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            questions.close(&RequestId::Number(9));
        };
        let (answered, ()) = tokio::join!(answer(&questions, None), withdraw);
        assert_eq!(answered, cancelled().to_string());
        let end = async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            drop(call);
        };
        let (answered, ()) = tokio::join!(answer(&questions, None), end);
        assert_eq!(answered, cancelled().to_string());
        assert!(silent.unasked().is_empty());
    }
}
