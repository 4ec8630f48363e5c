//! `tools/call`: the four tools of ours, and all others under their ids.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::mpsc;

use super::super::http::SESSION_HEADER;
use super::super::{CallTool, Error};
use super::answer::TooLong;
use super::arguments::{self, Called};
use super::definition::Described;
use super::meta::Meta;
use super::{Gateway, answer, internal};
use crate::execution::{Arguments, Event};
use crate::session::Session;

/// How a tool was named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Within `call_tool`.
    Meta,
    /// By itself.
    Direct,
}

impl Gateway {
    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        match Meta::of(&request.name) {
            Some(meta) => self.meta(meta, given, context).await,
            None => {
                self.shared.service.first_lists().await;
                // Who was listed a tool knows its hints; who only found it was told its id.
                let confirmed = self.listed().await.is_ok_and(|listed| listed.has(&request.name));
                let called = Called {
                    tool: request.name.into(),
                    arguments: given,
                    confirmed,
                    budget_tokens: None,
                };
                self.run(called, Way::Direct, context).await
            }
        }
    }

    async fn meta(
        &self,
        meta: Meta,
        given: Arguments,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let profile = self.shared.profile.as_deref();
        self.shared.service.first_lists().await;
        match meta {
            Meta::Find => match arguments::find(&given, profile) {
                Ok(mut asked) => {
                    asked.find.session = match self.session(&context) {
                        Ok(session) => session,
                        Err(error) => return told(Err(error)),
                    };
                    told(self.found(asked).await)
                }
                Err(said) => Ok(answer::error(said)),
            },
            Meta::Describe => match arguments::describe(&given) {
                Ok(id) => told(self.described(&id)),
                Err(said) => Ok(answer::error(said)),
            },
            Meta::ReadMore => match arguments::read_more(&given) {
                Ok(asked) => told(self.more(asked)),
                Err(said) => Ok(answer::error(said)),
            },
            Meta::Call => match arguments::call(given) {
                Ok(called) => match Meta::of(&called.tool) {
                    // An agent that puts a tool of ours into another means the inner one.
                    Some(inner) if inner != Meta::Call => {
                        Box::pin(self.meta(inner, called.arguments, context)).await
                    }
                    _ => self.run(called, Way::Meta, context).await,
                },
                Err(said) => Ok(answer::error(said)),
            },
        }
    }

    fn described(&self, id: &str) -> Result<CallToolResult, Error> {
        let tool = self.shared.service.describe(id, self.shared.profile.as_deref())?;
        let described = Described { tool: &tool, about: self.shared.service.about(&tool) };
        Ok(CallToolResult::success(vec![ContentBlock::text(described.to_json())]))
    }

    /// A part of an answer that was cut, and where the next begins.
    fn more(
        &self,
        (handle, offset, most): (String, usize, usize),
    ) -> Result<CallToolResult, Error> {
        let page = self.shared.service.read_more(&handle, offset, most)?;
        let rest = match page.next_offset {
            Some(next) => format!("; read_more with \"offset\": {next} gives the next"),
            None => String::new(),
        };
        let end = page.offset + page.text.chars().count();
        let place = format!("[characters {} to {end} of {}{rest}]", page.offset, page.of_chars);
        Ok(CallToolResult::success(vec![ContentBlock::text(page.text), ContentBlock::text(place)]))
    }

    /// The client's own session, or the one that its request names in a header.
    fn session(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, Error> {
        let parts = context.extensions.get::<axum::http::request::Parts>();
        let named = parts.and_then(|parts| parts.headers.get(SESSION_HEADER));
        match named {
            Some(name) => {
                let profile = self.shared.profile.as_deref();
                let name = String::from_utf8_lossy(name.as_bytes());
                self.shared.service.sessions().named(profile, &name)
            }
            None => Ok(Arc::clone(&self.session)),
        }
    }

    /// Calls a tool, tells the client how far it is, and stops where the client no longer waits.
    async fn run(
        &self,
        called: Called,
        way: Way,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        let tool = match service.describe(&called.tool, profile) {
            Ok(tool) => tool,
            Err(error) => return told(Err(error)),
        };
        let (tell, mut events) = mpsc::unbounded_channel();
        let on_event = move |event: Event| {
            tell.send(event).ok();
        };
        // A client that knows a tool's output schema takes nothing that has another shape, so no
        // other tool's answer either.
        let is_checked = way == Way::Direct && has_output_schema(&tool);
        let session = match self.session(&context) {
            Ok(session) => session,
            Err(error) => return told(Err(error)),
        };
        let call = service.call(CallTool {
            id: tool.id.as_str(),
            arguments: &called.arguments,
            session: &session,
            confirmed: called.confirmed,
            question: "",
            profile,
            alone: is_checked,
            budget_tokens: called.budget_tokens,
            on_event: &on_event,
        });
        tokio::pin!(call);
        let mut telling = Telling::new(&context);
        let report = loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
                Some(event) = events.recv() => telling.tell(event).await,
                report = &mut call => break report,
            }
        };
        // What happened in the very step that ended the call.
        while let Ok(event) = events.try_recv() {
            telling.tell(event).await;
        }
        match report {
            Ok(report) => {
                let too_long = if is_checked { TooLong::Whole } else { TooLong::AsText };
                Ok(answer::result(&tool, &report, too_long))
            }
            Err(error) => told(Err(error)),
        }
    }
}

fn has_output_schema(tool: &crate::catalog::Tool) -> bool {
    tool.mcp.as_ref().is_some_and(|members| members.as_str().contains("\"outputSchema\""))
}

/// What the agent can put right is an answer that says so; all else is an error of the protocol.
fn told(done: Result<CallToolResult, Error>) -> Result<CallToolResult, ErrorData> {
    match done {
        Ok(result) => Ok(result),
        Err(error @ Error::Unfinished) => Err(internal(&error)),
        Err(error) => Ok(answer::error(error.to_string())),
    }
}

/// How much a word without a number makes progress grow: less than any tool's own step.
const STEP: f64 = 1e-6;

/// Less than the progress of a tool that has done nothing yet.
const BEFORE: f64 = -STEP;

/// Passes a tool's word on how far it is on to the client, if that asked for it.
struct Telling<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    latest: f64,
}

impl<'a> Telling<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { peer: &context.peer, token, latest: BEFORE }
    }

    async fn tell(&mut self, event: Event) {
        let Some(token) = self.token.clone() else { return };
        let (done, total, message) = match event {
            // The protocol wants it to grow, also where another tool starts over.
            Event::Progress { progress, .. } if progress.done <= self.latest => return,
            Event::Progress { progress, .. } => (progress.done, progress.total, progress.message),
            Event::Working { said, .. } => (self.latest + STEP, None, Some(said)),
            Event::FellBack { from, to } => {
                let said = format!("{from} gave no answer; trying {to}");
                (self.latest + STEP, None, Some(said))
            }
        };
        self.latest = done;
        let mut told = ProgressNotificationParam::new(token, done);
        (told.total, told.message) = (total, message);
        self.peer.notify_progress(told).await.ok();
    }
}
