//! Answers as server-sent events, for clients that want to follow the progress of a call.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::sync::mpsc;
use toolroute_run::execution::Event as ProgressEvent;

use super::{ApiError, json as whole};
use crate::Error;

/// Receives the events of a call.
pub type Tell = Arc<dyn Fn(ProgressEvent) + Send + Sync>;

/// Answers with the result of `work` as JSON. With `Accept: text/event-stream`, it answers with
/// events (`working`, `progress`, `fell_back`) of which the last is the result (`report` or
/// `error`). A client that disconnects cancels the work.
pub async fn answer<T: Serialize + Send + 'static>(
    headers: &HeaderMap,
    work: impl FnOnce(Tell) -> Work<T>,
) -> Result<Response, ApiError> {
    if !wants_events(headers) {
        return Ok(whole(work(Arc::new(|_| {})).await?));
    }
    let (tell, heard) = mpsc::unbounded_channel();
    let sender = tell.clone();
    let work = work(Arc::new(move |event: ProgressEvent| {
        // An error means that the client has disconnected.
        sender.send(to_sse(&event)).ok();
    }));
    let last = async move {
        let last = match work.await {
            Ok(report) => Event::default().event("report").json_data(report),
            Err(error) => {
                let error = ApiError::from(error).into_detail();
                Event::default().event("error").json_data(error)
            }
        };
        tell.send(last.unwrap_or_default()).ok();
    };
    let state = (heard, Some(Box::pin(last)));
    let events = stream::unfold(state, async |(mut heard, mut work)| {
        let next = match &mut work {
            // The stream polls the work, so that the work ends with the connection.
            Some(under_way) => tokio::select! {
                biased;
                event = heard.recv() => event,
                () = under_way => {
                    work = None;
                    heard.recv().await
                }
            },
            None => heard.recv().await,
        };
        next.map(|event| (Ok::<_, Infallible>(event), (heard, work)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// A call in progress.
pub type Work<T> = std::pin::Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}

/// Converts an event, with the name `working`, `progress` or `fell_back`.
fn to_sse(event: &ProgressEvent) -> Event {
    let name = match event {
        ProgressEvent::Working { .. } => "working",
        ProgressEvent::Progress { .. } => "progress",
        ProgressEvent::FellBack { .. } => "fell_back",
    };
    Event::default().event(name).json_data(event).unwrap_or_default()
}
