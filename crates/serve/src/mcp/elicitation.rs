//! Passes questions of servers to the client whose call is running (`elicitation/create`).

use std::sync::Arc;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, CustomRequest, ProtocolVersion, RequestId,
    RequestMetaObject, ServerRequest,
};
use rmcp::service::{OriginatingRequestId, Peer, PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Map, Value};
use tokio::task::JoinSet;
use toolroute_run::execution::{Elicitation, User};

use super::Gateway;

/// The member of `_meta` that names the server that asks.
const SERVER: &str = "toolroute/server";

impl Gateway {
    /// The user of the client, whom servers may ask while its request is answered.
    pub(super) fn user(&self, context: &RequestContext<RoleServer>) -> User {
        let (peer, request) = (context.peer.clone(), context.id.clone());
        // In that protocol a server asks by its result.
        let is_newest =
            context.protocol_version().is_some_and(|v| v >= ProtocolVersion::V_2026_07_28);
        User::new(Arc::as_ptr(&self.subscriptions).addr(), move |question| {
            let (peer, request) = (peer.clone(), request.clone());
            Box::pin(async move {
                if is_newest {
                    return Err("clients of the protocol of 2026-07-28 are not asked".to_owned());
                }
                check_client(&peer, &question)?;
                // In a task of its own: what is sent within a task of rmcp goes on the stream of the
                // request that the task answers, which here is one of the server's. The task ends
                // when this is dropped.
                let mut asking = JoinSet::new();
                asking.spawn(ask(peer, request, question));
                let asked = asking.join_next().await;
                asked.and_then(Result::ok).unwrap_or_else(|| Err("toolroute is ending".to_owned()))
            })
        })
    }
}

/// Checks that the client offers to ask its user.
fn check_client(peer: &Peer<RoleServer>, question: &Elicitation) -> Result<(), String> {
    let offers = peer.peer_info().and_then(|client| client.capabilities.elicitation.clone());
    let Some(offers) = offers else {
        return Err("the client does not offer to ask its user (elicitation)".to_owned());
    };
    let is_offered = match question.has_url() {
        true => offers.url.is_some(),
        // Clients of the protocol of 2025-06-18 know forms only, and do not say so.
        false => offers.form.is_some() || offers.url.is_none(),
    };
    match is_offered {
        true => Ok(()),
        false if question.has_url() => Err("the client does not open addresses".to_owned()),
        false => Err("the client does not show forms".to_owned()),
    }
}

/// Sends a question on the stream of the client's request, and waits for the answer.
async fn ask(
    peer: Peer<RoleServer>,
    request: RequestId,
    question: Elicitation,
) -> Result<Value, String> {
    let mut asked = CustomRequest::new("elicitation/create", Some(Value::Object(question.params)));
    asked.extensions.insert(OriginatingRequestId(request));
    let meta = Map::from_iter([(SERVER.to_owned(), Value::from(question.server))]);
    let options = PeerRequestOptions::no_options().with_meta(RequestMetaObject::from(meta));
    let sent = peer.send_cancellable_request(ServerRequest::CustomRequest(asked), options).await;
    let mut handle = sent.map_err(|_| "the client cannot be asked".to_owned())?;
    let mut withdrawal = Withdrawal { peer: &peer, id: Some(handle.id.clone()) };
    let answered = (&mut handle.rx).await;
    withdrawal.id = None;
    let Ok(Ok(answered)) = answered else {
        return Err("the client refused to ask its user".to_owned());
    };
    let answered = serde_json::to_value(answered).unwrap_or_default();
    match answered["action"].as_str() {
        Some("accept" | "decline" | "cancel") => Ok(answered),
        _ => Err("the client's answer was not understood".to_owned()),
    }
}

/// Tells the client that a question needs no answer any longer, when it is dropped.
struct Withdrawal<'a> {
    peer: &'a Peer<RoleServer>,
    id: Option<RequestId>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let why = "the call has ended, or the server withdrew its question".to_owned();
            let params = CancelledNotificationParam::new(Some(id), Some(why));
            peer.send_notification(CancelledNotification::new(params).into()).await.ok();
        });
    }
}
