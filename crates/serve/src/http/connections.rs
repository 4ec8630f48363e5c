//! Takes connections, so many and no more, and ends them in good order.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::Shutdown;

/// What connections may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open at a time; more wait to be taken.
    pub connections: usize,
    /// How long the headers of a request may take to come. It also ends idle connections.
    pub headers: Duration,
    /// How long the end waits for what is under way.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1_024,
            headers: Duration::from_secs(30),
            drain: Duration::from_secs(10),
        }
    }
}

/// Who sent a request: the other end of its connection.
#[derive(Clone, Copy, Debug)]
pub struct Client(pub IpAddr);

impl std::fmt::Display for Client {
    /// The address; of IPv6 the network, since a host may take any address in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let [a, b, c, d, ..] = address.segments();
                write!(f, "{}/64", Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
            address => write!(f, "{address}"),
        }
    }
}

/// Serves until the shutdown begins, then no new connection is taken and those that are open finish
/// what they are at.
pub async fn accept(listener: TcpListener, router: Router, limits: Limits, shutdown: &Shutdown) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.begun() => break,
            (stream, place) = next(&listener, &places) => {
                open.spawn(connection(stream, place, router.clone(), limits, shutdown.clone()));
            }
            Some(_) = open.join_next(), if !open.is_empty() => {}
        }
    }
    drop(listener);
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.drain, all).await.is_err() {
        tracing::warn!("connections were cut that did not end in time");
    }
}

async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> ((TcpStream, Client), Option<OwnedSemaphorePermit>) {
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, from)) => return ((stream, Client(from.ip())), place),
            Err(error) => {
                // Most often there are too many open files; trying at once would only turn in circles.
                tracing::warn!(%error, "a connection was not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(
    (stream, client): (TcpStream, Client),
    place: Option<OwnedSemaphorePermit>,
    router: Router,
    limits: Limits,
    shutdown: Shutdown,
) {
    let _place = place;
    // An answer is written as a whole; waiting for more of it only costs time.
    stream.set_nodelay(true).ok();
    let service = router.map_request(move |mut request: Request<_>| {
        request.extensions_mut().insert(client);
        request.map(Body::new)
    });
    let mut builder = auto::Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.headers);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        ended = serving.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke");
            }
            return;
        }
        () = shutdown.begun() => serving.as_mut().graceful_shutdown(),
    }
    serving.await.ok();
}
