//! `tools/call`: the three tools of ours, and all others under their ids.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use tokio::sync::mpsc;

use super::super::{CallTool, Error};
use super::answer::TooLong;
use super::arguments::{self, Called};
use super::definition::Definition;
use super::meta::Meta;
use super::{Gateway, answer, internal};
use crate::execution::{Arguments, Event, Session};

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
                let called = Called { tool: request.name.into(), arguments: given, confirmed };
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
                Ok(asked) => told(self.found(asked).await),
                Err(said) => Ok(answer::error(said)),
            },
            Meta::Describe => match arguments::describe(&given) {
                Ok(id) => told(self.described(&id)),
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
        Ok(CallToolResult::success(vec![ContentBlock::text(Definition(&tool).to_json())]))
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
        let session = Session::default();
        let call = service.call(CallTool {
            id: tool.id.as_str(),
            arguments: &called.arguments,
            session: &session,
            confirmed: called.confirmed,
            question: "",
            profile,
            alone: is_checked,
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

/// Passes a tool's word on how far it is on to the client, if that asked for it.
struct Telling<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    latest: f64,
}

impl<'a> Telling<'a> {
    fn new(context: &'a RequestContext<RoleServer>) -> Self {
        let token = context.meta.get_progress_token();
        Self { peer: &context.peer, token, latest: f64::NEG_INFINITY }
    }

    async fn tell(&mut self, event: Event) {
        let (Some(token), Event::Progress { progress, .. }) = (&self.token, event) else { return };
        // The protocol wants it to grow, also where another tool starts over.
        if progress.done <= self.latest {
            return;
        }
        self.latest = progress.done;
        let mut told = ProgressNotificationParam::new(token.clone(), progress.done);
        (told.total, told.message) = (progress.total, progress.message);
        self.peer.notify_progress(told).await.ok();
    }
}
