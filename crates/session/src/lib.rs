//! Conversations with one client: its prompts, the tools that were offered for them, the calls and
//! their results. A plan makes several calls for one prompt.
//!
//! The engine ranks tools and the executor calls them. This crate connects the two: a [`Session`]
//! gives the engine the earlier prompts, gives the executor a loop guard, and logs each call with
//! the prompt that it was made for. The crate never opens a connection or a file itself.
//!
//! ```
//! use toolroute_catalog::{Catalog, Tool};
//! use toolroute_session::Session;
//! use toolroute_rank::engine::{Engine, SelectRequest};
//!
//! let tools = vec![Tool::new(Some("mail"), "send_email", "Sends an email to a person")];
//! let engine = Engine::builder(Catalog::from_tools(tools).catalog).build()?;
//! let session = Session::new("tuesday");
//!
//! let request = session.request(SelectRequest::new("send an email to Dana"));
//! let selection = engine.select(&request)?;
//! session.note_selection(&request.prompt, &selection);
//! assert_eq!(session.prompts(), ["send an email to Dana"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "execution")]
mod back_reference;
#[cfg(feature = "execution")]
mod calls;
#[cfg(feature = "execution")]
mod doubt;
#[cfg(feature = "execution")]
mod lost;
#[cfg(feature = "execution")]
mod object;
#[cfg(feature = "execution")]
mod outlook;
#[cfg(feature = "execution")]
mod plan;
#[cfg(feature = "execution")]
mod settle;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[cfg(feature = "execution")]
use toolroute_catalog::Tool;
use toolroute_catalog::ToolId;
use toolroute_rank::engine::{Offer, SelectRequest, Selection, Speaker, Turn};
use toolroute_rank::query::acts_on_it;
#[cfg(feature = "execution")]
use toolroute_run::execution::{
    ArgumentSources, CallHistory, CallLimits, LoopGuard, Outcome, PreparedArguments, Report,
    prepare_arguments,
};

#[cfg(feature = "execution")]
pub use calls::{join, name_others, neighbors};
#[cfg(feature = "execution")]
pub use doubt::{does_another, doubt};
#[cfg(feature = "execution")]
pub use lost::partial;
#[cfg(feature = "execution")]
pub use plan::{Plan, PlanReport, PlannedCall, Step, StepState};
#[cfg(feature = "execution")]
pub use settle::{CONSIDERED, settle};

/// The maximum number of prompts that a session remembers, each with the tools offered for it.
const OFFERS: usize = 16;

/// The maximum number of characters of a result that are remembered.
#[cfg(feature = "execution")]
const MOST_CHARS: usize = 16_384;

/// One conversation with one client. Every interface creates or finds one: an MCP connection, a
/// value of `session` over HTTP, `--session NAME` on the command line. Share it with an `Arc`.
#[derive(Debug, Default)]
pub struct Session {
    name: Option<String>,
    memory: Mutex<Memory>,
    /// What the client was told last of the servers that it cannot reach.
    told: Mutex<String>,
    #[cfg(feature = "execution")]
    guard: LoopGuard,
}

/// The state of a session, which programs store as JSON between two runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionRecord {
    #[serde(flatten)]
    memory: Memory,
    #[cfg(feature = "execution")]
    calls: CallHistory,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Memory {
    /// The offers, the latest last.
    offers: VecDeque<Offer>,
    last_tool: Option<ToolId>,
    last_result: Option<Value>,
    /// How many of the offers came after that result.
    newer: usize,
    /// What the last prompt's call made or changed: "pick list".
    #[serde(skip_serializing_if = "Option::is_none")]
    last_object: Option<String>,
}

impl Session {
    /// Creates a session with a name, which identifies it in the log.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Creates a session for one connection, with a unique name.
    #[cfg(feature = "execution")]
    pub fn of_connection() -> Self {
        Self::new(calls::request_id())
    }

    /// Sets the limits of the session's calls.
    #[cfg(feature = "execution")]
    #[must_use]
    pub fn with_limits(mut self, limits: CallLimits) -> Self {
        self.guard = LoopGuard::restore(limits, self.guard.history());
        self
    }

    /// Returns the name; `None` for a session of one request.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the loop guard, which counts the session's calls.
    #[cfg(feature = "execution")]
    pub fn guard(&self) -> &LoopGuard {
        &self.guard
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the latest prompts, oldest first.
    pub fn prompts(&self) -> Vec<String> {
        self.memory().offers.iter().map(|offer| offer.prompt.clone()).collect()
    }

    /// Records what the client is told of the servers that it cannot reach, and returns whether it
    /// is other than what it was told before. At first it was told of none.
    #[doc(hidden)] // For our own crates.
    pub fn is_news(&self, said: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *told != said;
        if is_news {
            said.clone_into(&mut told);
        }
        is_news
    }

    /// Returns the tool that answered last.
    pub fn last_tool(&self) -> Option<ToolId> {
        self.memory().last_tool.clone()
    }

    /// Returns the result of that tool: its structured content, or its text.
    pub fn last_result(&self) -> Option<Value> {
        self.memory().last_result.clone()
    }

    /// Adds what the session knows to a request: the earlier prompts as the conversation, and the
    /// last tool. It does not replace what the request already has.
    #[must_use]
    pub fn request(&self, mut request: SelectRequest) -> SelectRequest {
        let memory = self.memory();
        if memory.offers.is_empty() && memory.last_tool.is_none() {
            return request;
        }
        let context = request.context.get_or_insert_default();
        if context.conversation.is_empty() {
            let turn = |offer: &Offer| Turn { role: Speaker::User, text: offer.prompt.clone() };
            context.conversation = memory.offers.iter().map(turn).collect();
            // "Confirm it" is about the object of the last call, and not that call once more.
            let object = memory.last_object.as_ref().filter(|_| acts_on_it(&request.prompt));
            if let (Some(object), Some(last)) = (object, context.conversation.last_mut()) {
                last.text.clone_from(object);
            }
        }
        if context.last_tool.is_none() {
            context.last_tool = memory.last_tool.as_ref().map(ToString::to_string);
        }
        request
    }

    /// Remembers the tools that were offered for a prompt.
    pub fn note_selection(&self, prompt: &str, selection: &Selection) {
        let mut memory = self.memory();
        if memory.offers.len() == OFFERS {
            memory.offers.pop_front();
        }
        if !acts_on_it(prompt) {
            memory.last_object = None;
        }
        memory.offers.push_back(selection.offer(prompt));
        memory.newer = memory.offers.len().min(memory.newer + 1);
    }

    /// Returns the latest offer that contains the tool. A call of the tool serves the prompt of
    /// that offer.
    pub fn offer_with_tool(&self, tool: &ToolId) -> Option<Offer> {
        let has = |offer: &&Offer| offer.tools.iter().any(|offered| offered.id == *tool);
        self.memory().offers.iter().rev().find(has).cloned()
    }

    /// Returns the latest offer for a prompt, or an empty offer if nothing was offered for it.
    pub fn offer_for_prompt(&self, prompt: &str) -> Offer {
        let (memory, empty) = (self.memory(), Offer::new(prompt));
        let found = memory.offers.iter().rev().find(|offer| offer.prompt == empty.prompt).cloned();
        found.unwrap_or(empty)
    }

    /// Remembers the tool and the result of a call that was answered.
    #[cfg(feature = "execution")]
    pub fn note_report(&self, report: &Report) {
        let Outcome::Answered(answer) = &report.outcome else { return };
        let text = || Value::String(answer.output.text.chars().take(MOST_CHARS).collect());
        let data = answer.output.data.as_ref().filter(|data| {
            answer.output.text.len() <= MOST_CHARS && data.to_string().len() <= MOST_CHARS
        });
        let mut memory = self.memory();
        memory.last_tool = Some(answer.tool.clone());
        memory.last_result = Some(data.cloned().unwrap_or_else(text));
        memory.newer = 0;
    }

    /// Reads a tool's arguments from a prompt. Uses the session's earlier prompts and its last
    /// result if `sources` has none.
    #[cfg(feature = "execution")]
    pub fn prepare_arguments(
        &self,
        tool: &Tool,
        sources: &ArgumentSources<'_>,
    ) -> PreparedArguments {
        let prompts = self.prompts();
        // The prompt itself may already be among the session's prompts.
        let is_earlier = |prompt: &&str| *prompt != sources.prompt;
        let earlier: Vec<&str> = prompts.iter().map(String::as_str).filter(is_earlier).collect();
        let after = prompts.len().saturating_sub(self.memory().newer);
        let newer = prompts[after..].iter().map(String::as_str).filter(is_earlier).count();
        let (result, last_result) = (sources.last_result, self.last_result());
        // A result that the caller has is not older than the session's prompts.
        let newer = if result.is_none() { newer } else { sources.newer };
        let (earlier, newer) = match sources.earlier {
            [] => (&earlier[..], newer),
            earlier => (earlier, sources.newer),
        };
        let last_result = result.or(last_result.as_ref());
        prepare_arguments(tool, &ArgumentSources { earlier, newer, last_result, ..*sources })
    }

    /// Returns the state of the session, for storage.
    pub fn to_record(&self) -> SessionRecord {
        SessionRecord {
            memory: self.memory().clone(),
            #[cfg(feature = "execution")]
            calls: self.guard.history(),
        }
    }

    /// Creates a session from a state that another program stored.
    pub fn restore(name: impl Into<String>, record: SessionRecord) -> Self {
        Self {
            name: Some(name.into()),
            memory: Mutex::new(record.memory),
            told: Mutex::default(),
            #[cfg(feature = "execution")]
            guard: LoopGuard::restore(CallLimits::default(), record.calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::{Catalog, Tool};
    use toolroute_rank::engine::{Context, Engine};

    fn engine() -> Engine {
        let names = [("mail", "send_email"), ("mail", "read_email"), ("files", "read_file")];
        let tools = names.map(|(server, name)| Tool::new(Some(server), name, "Does it"));
        Engine::builder(Catalog::from_tools(tools.to_vec()).catalog).build().unwrap()
    }

    #[test]
    fn a_call_is_for_the_latest_prompt_that_offered_its_tool() {
        let (engine, session) = (engine(), Session::new("s"));
        for prompt in ["send email", "read email", "read file"] {
            let selection = engine.select(&SelectRequest::new(prompt).limit(1)).unwrap();
            session.note_selection(prompt, &selection);
        }
        let offer = session.offer_with_tool(&"mail__read_email".into()).unwrap();
        assert_eq!(offer.prompt, "read email");
        let execution = offer.execution(&"mail__read_email".into(), true);
        assert_eq!((execution.choice.rank, execution.choice.offered.len()), (Some(1), 1));
        assert!(execution.choice.parts.contains_key("keyword"));
        assert_eq!(session.offer_with_tool(&"none__such".into()), None);
    }

    #[test]
    fn a_request_gets_what_the_session_knows_and_keeps_what_it_says() {
        let (engine, session) = (engine(), Session::new("s"));
        let request = session.request(SelectRequest::new("send email"));
        assert_eq!(request.context, None, "nothing is known yet");
        session.note_selection("send email", &engine.select(&request).unwrap());
        let request = session.request(SelectRequest::new("and once more"));
        assert_eq!(request.context.unwrap().conversation[0].text, "send email");
        let said = Turn { role: Speaker::User, text: "said".into() };
        let own = Context { conversation: vec![said], ..Context::default() };
        let request = session.request(SelectRequest::new("again").context(own));
        assert_eq!(request.context.unwrap().conversation[0].text, "said");
    }

    #[test]
    fn it_is_kept_as_json() {
        let (engine, session) = (engine(), Session::new("s"));
        let selection = engine.select(&SelectRequest::new("send email")).unwrap();
        (0..OFFERS + 3).for_each(|n| session.note_selection(&n.to_string(), &selection));
        let json = serde_json::to_string(&session.to_record()).unwrap();
        let again = Session::restore("s", serde_json::from_str(&json).unwrap());
        assert_eq!(again.prompts().len(), OFFERS);
        assert_eq!(again.prompts()[0], "3", "the oldest are forgotten");
        assert_eq!(serde_json::to_string(&again.to_record()).unwrap(), json);
    }

    #[cfg(feature = "execution")]
    #[test]
    fn a_prompt_after_the_last_result_makes_it_unclear() {
        use toolroute_run::execution::LocalTime;
        let (engine, session) = (engine(), Session::new("s"));
        let close = r#"[{"name": "close_file", "description": "Closes a file", "inputSchema": {
            "type": "object", "required": ["file_id"], "properties": {"file_id": {"type": "string"}}}}]"#;
        let tools = Catalog::read(close).unwrap().catalog;
        let now: LocalTime = "2026-04-20T10:30:00+02:00".parse().unwrap();
        let selection = engine.select(&SelectRequest::new("read file")).unwrap();
        let read = || {
            session.note_selection("close it", &selection);
            let sources = ArgumentSources::new("close it", &now);
            session.prepare_arguments(&tools.tools()[0], &sources)
        };
        session.note_selection("create a file", &selection);
        session.memory().last_result = Some(serde_json::json!({"file_id": "F-1"}));
        session.memory().newer = 0;
        assert_eq!(read().arguments["file_id"], "F-1");
        session.note_selection("close file F-7 if it is old", &selection);
        assert_eq!(read().missing[0].candidates, ["F-1", "F-7"]);
    }
}
