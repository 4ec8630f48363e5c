//! Answers to clients that want to hear what happens on the way: server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use serde_json::json;
use tokio::sync::mpsc;
use toolroute_run::execution::Event as Happened;

use super::{ApiError, json as whole};
use crate::Error;

/// Who is told what happens.
pub type Tell = Arc<dyn Fn(Happened) + Send + Sync>;

/// What comes of `work`: as JSON, or for `Accept: text/event-stream` as the last of the events
/// (`working`, `progress`, `fell_back`, then `report` or `error`). Who goes away ends the work.
pub async fn answer<T: Serialize + Send + 'static>(
    headers: &HeaderMap,
    work: impl FnOnce(Tell) -> Work<T>,
) -> Result<Response, ApiError> {
    if !wants_events(headers) {
        return Ok(whole(work(Arc::new(|_| {})).await?));
    }
    let (tell, heard) = mpsc::unbounded_channel();
    let told = tell.clone();
    let work = work(Arc::new(move |event: Happened| {
        // A client that has gone hears nothing, which is fine.
        told.send(named(&event)).ok();
    }));
    let last = async move {
        let last = match work.await {
            Ok(report) => Event::default().event("report").json_data(report),
            Err(error) => {
                let said = json!({"message": error.to_string()});
                Event::default().event("error").json_data(said)
            }
        };
        tell.send(last.unwrap_or_default()).ok();
    };
    let state = (heard, Some(Box::pin(last)));
    let events = stream::unfold(state, async |(mut heard, mut work)| {
        let next = match &mut work {
            // The work is done by whoever reads its events, and ends with the connection.
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

/// Work under way.
pub type Work<T> = std::pin::Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/event-stream"))
}

/// `working`, `progress` or `fell_back`, with what it says.
fn named(event: &Happened) -> Event {
    let name = match event {
        Happened::Working { .. } => "working",
        Happened::Progress { .. } => "progress",
        Happened::FellBack { .. } => "fell_back",
    };
    Event::default().event(name).json_data(event).unwrap_or_default()
}
