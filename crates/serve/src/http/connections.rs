//! Accepts a limited number of connections, and closes them in an orderly way.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use crate::Shutdown;

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The limit of open connections. Further ones wait to be accepted.
    pub connections: usize,
    /// The time limit for the headers of a request. It also closes idle connections.
    pub headers: Duration,
    /// How long a shutdown waits for requests in progress.
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

/// The client's address.
#[derive(Clone, Copy, Debug)]
pub struct Client(pub IpAddr);

impl std::fmt::Display for Client {
    /// The address; for IPv6 the /64 network, because a host may use any address in it.
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

/// Serves until the shutdown begins. Then it accepts no new connections, and open ones finish their
/// requests.
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
                // The usual cause is too many open files, and an immediate retry would fail as
                // well.
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
    // Each answer is written at once; delaying its packets only costs time.
    stream.set_nodelay(true).ok();
    let service = router.map_request(move |mut request: Request<_>| {
        request.extensions_mut().insert(client);
        request.map(Body::new)
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.headers);
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
