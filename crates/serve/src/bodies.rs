//! What the bodies of all requests may take together, and how long one may stand still.
//!
//! A body is kept until it is whole. Each has a limit of its own, but a thousand connections may each
//! send the most of it and then nothing more: so all of them share one budget, and one that stands
//! still is given up.

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

use super::http::ApiError;

/// Bytes of all bodies that are being read, where nothing else is said: four of the largest that the
/// proxy looks into.
pub const BODY_BUDGET: usize = 256 << 20;

/// How long a body may bring nothing: as long as headers may take to come.
const STILL: Duration = Duration::from_secs(30);

/// Bytes a second that a body must bring beside that, all in all: one that brings a byte now and then
/// would keep its connection and its share for ever.
const LEAST_RATE: u64 = 64 << 10;

/// Seconds after which a client that was turned away may ask again.
const RETRY_AFTER: u64 = 1;

/// The budget of a server. Cloning shares it.
#[derive(Clone)]
pub struct BodyBudget {
    taken: Arc<AtomicUsize>,
    budget: usize,
    still: Duration,
}

/// Why a body came to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFailure {
    /// All bodies together are larger than is taken.
    Budget,
    /// It brought nothing for so long.
    Still(Duration),
    /// It was not whole after so long.
    Slow(Duration),
}

impl From<BodyFailure> for ApiError {
    fn from(ended: BodyFailure) -> Self {
        match ended {
            BodyFailure::Budget => Self::busy(RETRY_AFTER),
            BodyFailure::Still(limit) => {
                let said = format!("the body brought nothing for {} s", limit.as_secs());
                Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", said)
            }
            BodyFailure::Slow(limit) => {
                let said = format!("the body was not whole after {} s", limit.as_secs());
                Self::new(StatusCode::REQUEST_TIMEOUT, "timeout", said)
            }
        }
    }
}

impl BodyBudget {
    /// All bodies together may have so many bytes.
    pub fn new(budget: usize) -> Self {
        Self { taken: Arc::default(), budget, still: STILL }
    }

    #[cfg(test)]
    fn still_for(self, still: Duration) -> Self {
        Self { still, ..self }
    }

    /// A share of the budget, of nothing yet.
    pub fn share(&self) -> Share {
        Share { bodies: self.clone(), bytes: AtomicUsize::new(0) }
    }

    /// A body's parts, each waited for so long and no longer, and so all of them together: 30 s, and one
    /// for each 64 KiB of its length, or of what has come where it does not say how long it is. Time in
    /// which nobody asks for a part does not count: the client cannot help it.
    pub fn parts(
        &self,
        body: Body,
    ) -> impl Stream<Item = Result<Result<Bytes, axum::Error>, BodyFailure>> + Send + use<> {
        let state = Some(Reading::new(self.still, body));
        let next = |state: Option<Reading>| async move {
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

/// A body that is being read.
struct Reading {
    parts: Box<BodyDataStream>,
    still: Duration,
    /// Where it said so.
    length: Option<u64>,
    came: u64,
    waited: Duration,
}

impl Reading {
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

/// What one body takes of the budget; it is given back when this is dropped.
pub struct Share {
    bodies: BodyBudget,
    bytes: AtomicUsize,
}

impl Share {
    /// # Errors
    /// [`BodyFailure::Budget`], and then nothing more was taken.
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

/// For [`axum::middleware::from_fn_with_state`]: whoever reads the request's body reads no more than
/// there is room for.
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
    // Until here the bytes are kept by who read them.
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
        let bodies = BodyBudget::new(1_000).still_for(Duration::from_millis(20));
        let first = stream::once(std::future::ready(Ok::<_, axum::Error>(Bytes::from("x"))));
        let body = Body::from_stream(first.chain(stream::pending()));
        assert_eq!(sent(&bodies, body).await, StatusCode::REQUEST_TIMEOUT);
        assert_eq!(bodies.taken.load(Ordering::Relaxed), 0);
    }

    /// A part now and then, for ever.
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
        let bodies = BodyBudget::new(1_000).still_for(still);
        let body = drops(Bytes::from("x"), Duration::from_millis(20));
        let parts: Vec<_> = bodies.parts(body).collect().await;
        assert!(parts.len() > 1);
        assert_eq!(parts.last().unwrap().as_ref().unwrap_err(), &BodyFailure::Slow(still));
    }
}
