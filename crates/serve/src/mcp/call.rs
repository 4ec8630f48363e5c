//! `tools/call`: the gateway's own four tools, and all other tools under their ids.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::mpsc;
use toolroute_run::execution::{Arguments, Event, User};
use toolroute_session::Session;

use super::answer::TooLong;
use super::arguments::{self, ToolCall};
use super::definition::{Definition, to_json};
use super::meta::Meta;
use super::{Gateway, answer, internal};
use crate::http::SESSION_HEADER;
use crate::service::off_thread;
use crate::{CallRequest, Error};

/// How the client named the tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// As an argument of `call_tool`.
    Meta,
    /// As the tool of `tools/call`.
    Direct,
}

impl Gateway {
    /// Answers `tools/call`.
    pub(super) async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        match Meta::of(&request.name) {
            Some(meta) => self.meta(meta, given, context).await,
            None => {
                self.shared.service.catch_up().await;
                // A client that got the tool in `tools/list` knows its hints and asks its user. A
                // client that only found the tool knows no more than its id.
                let confirmed = self.listed().await.is_ok_and(|listed| listed.has(&request.name));
                let call = ToolCall {
                    tool: request.name.into(),
                    arguments: given,
                    confirmed,
                    budget_tokens: None,
                };
                self.run(call, Naming::Direct, context).await
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
        self.shared.service.catch_up().await;
        match meta {
            Meta::Find => match arguments::find(&given, profile) {
                Ok(mut call) => {
                    call.find.session = match self.session(&context) {
                        Ok(session) => session,
                        Err(error) => return to_protocol(Err(error)),
                    };
                    to_protocol(self.find_tools(call).await)
                }
                Err(said) => Ok(answer::error(said)),
            },
            Meta::Describe => match arguments::describe(&given) {
                Ok(id) => to_protocol(self.describe(id).await),
                Err(said) => Ok(answer::error(said)),
            },
            Meta::ReadMore => match arguments::read_more(&given) {
                Ok(page) => to_protocol(self.read_more(page)),
                Err(said) => Ok(answer::error(said)),
            },
            Meta::Call => match arguments::call(given) {
                Ok(call) => match Meta::of(&call.tool) {
                    // Some agents call one of the four tools through `call_tool`.
                    Some(inner) if inner != Meta::Call => {
                        Box::pin(self.meta(inner, call.arguments, context)).await
                    }
                    _ => self.run(call, Naming::Meta, context).await,
                },
                Err(said) => Ok(answer::error(said)),
            },
        }
    }

    /// The definition of one tool. A schema may be large, so it is read on the runtime's blocking
    /// pool.
    async fn describe(&self, id: String) -> Result<CallToolResult, Error> {
        let shared = Arc::clone(&self.shared);
        off_thread(move || {
            let tool = shared.service.describe(&id, shared.profile.as_deref())?;
            let ids = shared.service.needs(&tool, shared.profile.as_deref())?;
            let about = Some(shared.service.about(&tool, ids));
            let definition = to_json(&Definition { tool: &tool, about });
            Ok(CallToolResult::success(vec![ContentBlock::text(definition)]))
        })
        .await?
    }

    /// A page of an answer that was truncated, and where the next page begins.
    fn read_more(
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

    /// The session that the request names in a header, or that of the connection.
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

    /// Calls a tool, forwards its progress to the client, and cancels the call when the client
    /// does.
    async fn run(
        &self,
        asked: ToolCall,
        naming: Naming,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let (service, profile) = (&self.shared.service, self.shared.profile.as_deref());
        let tool = match service.describe(&asked.tool, profile) {
            Ok(tool) => tool,
            Err(error) => return to_protocol(Err(error)),
        };
        let (sender, mut events) = mpsc::unbounded_channel();
        let on_event = move |event: Event| {
            sender.send(event).ok();
        };
        // The client checks the answer against the tool's output schema, and the answer of another
        // tool would not match it.
        let is_checked = naming == Naming::Direct && has_output_schema(&tool);
        let session = match self.session(&context) {
            Ok(session) => session,
            Err(error) => return to_protocol(Err(error)),
        };
        let user = self.user(&context);
        let call = service.call(CallRequest {
            id: tool.id.as_str(),
            arguments: &asked.arguments,
            session: &session,
            confirmed: asked.confirmed,
            question: "",
            profile,
            alone: is_checked,
            budget_tokens: asked.budget_tokens,
            user: Some(&user),
            on_event: &on_event,
        });
        tokio::pin!(call);
        let mut progress = ProgressForwarder::new(&context);
        let report = loop {
            tokio::select! {
                biased;
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("the call was cancelled", None));
                }
                Some(event) = events.recv() => progress.forward(event).await,
                report = &mut call => break report,
            }
        };
        // Events of the last step, which ended the call.
        while let Ok(event) = events.try_recv() {
            progress.forward(event).await;
        }
        match report {
            Ok(report) => {
                let too_long = if is_checked { TooLong::Whole } else { TooLong::AsText };
                Ok(with_unasked(answer::result(&tool, &report, too_long), &user))
            }
            Err(error) => to_protocol(Err(error)),
        }
    }
}

/// Adds which questions of servers were not put to the user.
fn with_unasked(mut result: CallToolResult, user: &User) -> CallToolResult {
    let unasked = user.unasked().into_iter();
    result.content.extend(unasked.map(|said| ContentBlock::text(format!("[{said}]"))));
    result
}

fn has_output_schema(tool: &toolroute_catalog::Tool) -> bool {
    tool.mcp.as_ref().is_some_and(|members| members.as_str().contains("\"outputSchema\""))
}

/// An error that the agent can correct becomes an answer that explains it. Any other error is an
/// error of the protocol.
fn to_protocol(done: Result<CallToolResult, Error>) -> Result<CallToolResult, ErrorData> {
    match done {
        Ok(result) => Ok(result),
        Err(error @ Error::Unfinished) => Err(internal(&error)),
        Err(ref error @ Error::UnknownTool { ref near, .. }) if near.is_empty() => {
            Ok(answer::error(format!("{error}; find_tools finds the ids of tools")))
        }
        Err(error) => Ok(answer::error(error.to_string())),
    }
}

/// The increase of progress for a message without a number: less than any tool's own step.
const STEP: f64 = 1e-6;

/// The progress of a tool that has not begun, below 0.
const BEFORE: f64 = -STEP;

/// Forwards the progress of a tool to the client, if the client asked for it.
struct ProgressForwarder<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    latest: f64,
}

impl<'a> ProgressForwarder<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { peer: &context.peer, token, latest: BEFORE }
    }

    async fn forward(&mut self, event: Event) {
        let Some(token) = self.token.clone() else { return };
        let (done, total, message) = match event {
            // In the protocol progress only grows, even if a fallback starts from 0.
            Event::Progress { progress, .. } if progress.done <= self.latest => return,
            Event::Progress { progress, .. } => (progress.done, progress.total, progress.message),
            Event::Working { said, .. } => (self.latest + STEP, None, Some(said)),
            Event::FellBack { from, to } => {
                let said = format!("{from} gave no answer; trying {to}");
                (self.latest + STEP, None, Some(said))
            }
        };
        self.latest = done;
        let mut notification = ProgressNotificationParam::new(token, done);
        (notification.total, notification.message) = (total, message);
        self.peer.notify_progress(notification).await.ok();
    }
}
