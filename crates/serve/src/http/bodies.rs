//! Limits the memory of all request bodies together, and the time that a body may take.
//!
//! A body is buffered until it is complete. A limit for a single body is not enough, because a
//! thousand connections may each send most of a body and then nothing more. So all bodies share one
//! budget, and a body that is too slow is dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::stream::{self, Stream, StreamExt as _};
use tokio::time::Instant;

use super::ApiError;

/// The default budget in bytes: four times the largest body that the proxy reads by default.
pub const BODY_BUDGET: usize = 256 << 20;

/// How long a body may pause: as long as the headers may take.
const STILL: Duration = Duration::from_secs(30);

/// The least average rate of a body in bytes per second. Without it, a body that sends a byte now
/// and then would hold its connection and its share forever.
const LEAST_RATE: u64 = 64 << 10;

/// The value of `Retry-After` in seconds.
const RETRY_AFTER: u64 = 1;

/// The budget of all bodies of a server. Clones share it.
#[derive(Clone)]
pub struct BodyBudget {
    taken: Arc<AtomicUsize>,
    budget: usize,
    still: Duration,
}

/// Why a body was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFailure {
    /// All bodies together exceed the budget.
    Budget,
    /// It paused for this long.
    Still(Duration),
    /// It was incomplete after this long.
    Slow(Duration),
}

impl From<BodyFailure> for ApiError {
    fn from(ended: BodyFailure) -> Self {
        let said = match ended {
            BodyFailure::Budget => return Self::busy(RETRY_AFTER),
            BodyFailure::Still(limit) => format!("brought nothing for {} s", limit.as_secs()),
            BodyFailure::Slow(limit) => format!("was not whole after {} s", limit.as_secs()),
        };
        Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", format!("the body {said}"))
    }
}

impl BodyBudget {
    pub fn new(budget: usize) -> Self {
        Self { taken: Arc::default(), budget, still: STILL }
    }

    pub fn share(&self) -> Share {
        Share { bodies: self.clone(), bytes: AtomicUsize::new(0) }
    }

    /// The chunks of a body, with time limits: 30 s for each chunk, and for the whole body 30 s
    /// plus one second for each 64 KiB of its length (of the bytes received so far, if the length
    /// is unknown). Time in which the stream is not polled does not count, because it is not the
    /// client's fault.
    pub fn parts(
        &self,
        body: Body,
    ) -> impl Stream<Item = Result<Result<Bytes, axum::Error>, BodyFailure>> + Send + use<> {
        let state = Some(BodyReader::new(self.still, body));
        let next = |state: Option<BodyReader>| async move {
            let mut reading = state?;
            match reading.next().await {
                Ok(Some(part)) => Some((Ok(part), Some(reading))),
                Ok(None) => None,
                Err(ended) => Some((Err(ended), None)),
            }
        };
        stream::unfold(state, next)
    }
}

/// Reads a body and measures its time.
struct BodyReader {
    parts: Box<BodyDataStream>,
    still: Duration,
    /// The declared length in bytes.
    length: Option<u64>,
    came: u64,
    waited: Duration,
}

impl BodyReader {
    fn new(still: Duration, body: Body) -> Self {
        let length = body.size_hint().exact();
        let parts = Box::new(body.into_data_stream());
        Self { parts, still, length, came: 0, waited: Duration::ZERO }
    }

    async fn next(&mut self) -> Result<Option<Result<Bytes, axum::Error>>, BodyFailure> {
        let bytes = self.length.unwrap_or(self.came);
        let most = self.still.saturating_add(Duration::from_secs(bytes / LEAST_RATE));
        let left = most.saturating_sub(self.waited);
        let start = Instant::now();
        let part = tokio::time::timeout(self.still.min(left), self.parts.next()).await;
        self.waited = self.waited.saturating_add(start.elapsed());
        let ended = if left < self.still {
            BodyFailure::Slow(most)
        } else {
            BodyFailure::Still(self.still)
        };
        let part = part.map_err(|_| ended)?;
        if let Some(Ok(bytes)) = &part {
            self.came += bytes.len() as u64;
        }
        Ok(part)
    }
}

/// The part of the budget that one body takes, released on drop.
pub struct Share {
    bodies: BodyBudget,
    bytes: AtomicUsize,
}

impl Share {
    /// Takes bytes from the budget.
    pub fn take(&self, bytes: usize) -> Result<(), BodyFailure> {
        let more = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.bodies.budget);
        let taken = self.bodies.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.map_err(|_| BodyFailure::Budget)?;
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.bodies.taken.fetch_sub(*self.bytes.get_mut(), Ordering::AcqRel);
    }
}

/// A middleware for [`axum::middleware::from_fn_with_state`] that limits the body which the inner
/// handlers read.
pub async fn bounded(
    State(bodies): State<BodyBudget>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if request.body().is_end_stream() {
        return Ok(next.run(request).await);
    }
    let (share, ended) = (Arc::new(bodies.share()), Arc::new(OnceLock::new()));
    let (sharing, telling) = (Arc::clone(&share), Arc::clone(&ended));
    let request = request.map(|body| {
        Body::from_stream(bodies.parts(body).map(move |part| {
            let part = part.and_then(|part| match part {
                Ok(bytes) => sharing.take(bytes.len()).map(|()| Ok(bytes)),
                error => Ok(error),
            });
            part.unwrap_or_else(|why| {
                telling.set(why).ok();
                Err(axum::Error::new(std::io::Error::other("the body was given up")))
            })
        }))
    });
    let response = next.run(request).await;
    // The handlers hold the bytes until this point.
    drop(share);
    match ended.get() {
        Some(ended) => {
            tracing::info!(?ended, "a body was given up");
            Err((*ended).into())
        }
        None => Ok(response),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn_with_state;
    use axum::routing::post;
    use tower::ServiceExt as _;

    use super::*;

    async fn sent(bodies: &BodyBudget, body: Body) -> StatusCode {
        let reads = async |body: Bytes| body.len().to_string();
        let router = Router::new().route("/", post(reads));
        let router = router.layer(from_fn_with_state(bodies.clone(), bounded));
        router.oneshot(Request::post("/").body(body).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn bodies_share_one_budget_and_give_it_back() {
        let bodies = BodyBudget::new(1_000);
        assert_eq!(sent(&bodies, Body::from(vec![0; 1_000])).await, StatusCode::OK);
        assert_eq!(
            sent(&bodies, Body::from(vec![0; 1_001])).await,
            StatusCode::SERVICE_UNAVAILABLE
        );
        let held = bodies.share();
        held.take(400).unwrap();
        assert_eq!(sent(&bodies, Body::from(vec![0; 601])).await, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(sent(&bodies, Body::from(vec![0; 600])).await, StatusCode::OK);
        drop(held);
        assert_eq!(bodies.taken.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_body_that_stands_still_is_given_up() {
        let bodies = BodyBudget { still: Duration::from_millis(20), ..BodyBudget::new(1_000) };
        let first = stream::once(std::future::ready(Ok::<_, axum::Error>(Bytes::from("x"))));
        let body = Body::from_stream(first.chain(stream::pending()));
        assert_eq!(sent(&bodies, body).await, StatusCode::REQUEST_TIMEOUT);
        assert_eq!(bodies.taken.load(Ordering::Relaxed), 0);
    }

    /// A body that sends a chunk at intervals, without end.
    fn drops(part: Bytes, every: Duration) -> Body {
        Body::from_stream(stream::unfold((), move |()| {
            let part = part.clone();
            async move {
                tokio::time::sleep(every).await;
                Some((Ok::<_, axum::Error>(part), ()))
            }
        }))
    }

    #[tokio::test]
    async fn a_body_that_comes_in_drops_is_given_up() {
        let still = Duration::from_millis(500);
        let bodies = BodyBudget { still, ..BodyBudget::new(1_000) };
        let body = drops(Bytes::from("x"), Duration::from_millis(20));
        let parts: Vec<_> = bodies.parts(body).collect().await;
        assert!(parts.len() > 1);
        assert_eq!(parts.last().unwrap().as_ref().unwrap_err(), &BodyFailure::Slow(still));
    }
}
