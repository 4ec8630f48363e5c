//! A reverse proxy for the API of a language model. It removes tools that the messages of a request
//! do not need, and forwards everything else unchanged. A client only has to set its base URL.
//!
//! The client's own key is sent only to the upstream that the user named: redirects are returned,
//! not followed. If tools cannot be removed, the request is forwarded with all of them: the proxy
//! may save tokens, but must never cost an answer.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, TRANSFER_ENCODING,
    UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::{self, StreamExt as _};
use reqwest::Url;
use tokio::net::TcpListener;
use toolroute_rank::engine::Engine;
use toolroute_run::execution::{names_loopback, prepare_tls};

use super::filter::{self, DEFAULT_KEEP, FilterReport, SkipReason};
use super::http::bodies::{BODY_BUDGET, BodyBudget, BodyFailure, Share};
use super::http::guard::{Guard, Token, WorkQueue, admit};
use super::http::health::{self, openmetrics};
use super::http::{ApiError, Limits, accept};
use super::{Error, Shutdown};

/// The header of the proxy's own token, because `Authorization` is for the upstream.
const TOKEN_HEADER: &str = "x-toolroute-token";

const REPORT_HEADER: &str = "x-toolroute-report";
const OURS: &str = "x-toolroute-";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the upstream may be silent. A model may think for minutes, but a dead connection is
/// silent too.
const SILENCE: Duration = Duration::from_secs(900);

/// Headers of a single connection (RFC 9110, 7.6.1), in addition to those that `Connection` names.
const HOP_BY_HOP: &str = "connection keep-alive proxy-authenticate proxy-authorization \
                          proxy-connection te trailer transfer-encoding upgrade";

/// Options of the proxy.
#[derive(Clone)]
pub struct ProxyOptions {
    /// The base URL of the API, such as `https://api.openai.com`.
    pub upstream: String,
    /// The number of tools to keep, in addition to those that must stay.
    pub keep: usize,
    /// The largest body in bytes that is read. Larger ones are forwarded with all tools.
    pub max_body: usize,
    /// The number of bodies that are filtered at the same time.
    pub workers: usize,
    /// The number of bodies that may wait for a worker. Further ones are forwarded with all tools.
    pub queue: usize,
    /// Host names of the proxy, in addition to the loopback ones.
    pub hosts: Vec<String>,
    /// The token that clients must send as `x-toolroute-token`. It is necessary if other machines
    /// can reach the proxy.
    pub token: Option<Token>,
    /// Limits of connections.
    pub connections: Limits,
}

impl ProxyOptions {
    /// The default options of a proxy for the API at this base URL.
    pub fn new(upstream: impl Into<String>) -> Self {
        let http = super::http::HttpOptions::default();
        Self {
            upstream: upstream.into(),
            keep: DEFAULT_KEEP,
            // Requests may contain images.
            max_body: 64 << 20,
            workers: http.workers,
            // As many as connections: a request that does not wait is forwarded with all its tools,
            // and waiting is short compared with the model's own time.
            queue: http.connections.connections,
            hosts: Vec::new(),
            token: None,
            connections: http.connections,
        }
    }
}

/// A proxy that is ready to serve.
pub struct Proxy {
    engine: Arc<Engine>,
    upstream: Url,
    client: reqwest::Client,
    queue: WorkQueue,
    bodies: BodyBudget,
    options: ProxyOptions,
}

impl Proxy {
    /// Creates a proxy.
    ///
    /// # Errors
    /// [`Error::Proxy`] if the upstream's URL is invalid or the system has no certificates.
    pub fn new(engine: Arc<Engine>, options: ProxyOptions) -> Result<Arc<Self>, Error> {
        let because = |because| Error::Proxy { because };
        let upstream = upstream(&options.upstream).map_err(because)?;
        prepare_tls();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(SILENCE)
            // The client's key is for this upstream alone.
            .redirect(reqwest::redirect::Policy::none());
        let client = if names_loopback(upstream.as_str()) { client.no_proxy() } else { client };
        let client = client.build();
        let client = client.map_err(|error| because(format!("no HTTP client: {error}")))?;
        let queue = WorkQueue::new(options.workers, options.queue);
        let bodies = BodyBudget::new(BODY_BUDGET.max(options.max_body));
        Ok(Arc::new(Self { engine, upstream, client, queue, bodies, options }))
    }

    /// Serves until the shutdown begins, then finishes requests in progress.
    ///
    /// # Errors
    /// The listener has no address.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        shutdown: &Shutdown,
    ) -> std::io::Result<()> {
        let address = listener.local_addr()?.ip();
        let limits = self.options.connections;
        accept(listener, self.router(Some(address)), limits, shutdown).await;
        Ok(())
    }

    /// The routes of the proxy, for a server of your own. `address` is the one that it listens on;
    /// requests that name it as their host are answered, beside those for loopback hosts.
    pub fn router(self: Arc<Self>, address: Option<IpAddr>) -> Router {
        let guard = Arc::new(Guard {
            hosts: self.options.hosts.clone(),
            address,
            token: self.options.token.clone(),
            token_header: Some(TOKEN_HEADER),
            ..Guard::default()
        });
        Router::new()
            .route("/toolroute/healthz", get(health::alive))
            .route("/toolroute/metrics", get(metrics))
            .fallback(forward)
            .layer(middleware::from_fn_with_state(guard, admit))
            .layer(middleware::from_fn_with_state(Arc::clone(&self), counted))
            .with_state(self)
    }

    /// The upstream's URL for a path. A base `…/v1` and a path `/v1/…` are joined with a single
    /// `/v1`.
    fn url(&self, uri: &Uri) -> Result<Url, ApiError> {
        let mut url = self.upstream.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        let path = uri.path();
        let joined = match base.strip_suffix("/v1") {
            Some(root) if path == "/v1" || path.starts_with("/v1/") => format!("{root}{path}"),
            _ => format!("{base}{path}"),
        };
        url.set_path(&joined);
        url.set_query(uri.query());
        // The path must not lead out of the upstream's base, however the upstream may parse it.
        if climbs(path) || url.path().matches('/').count() != joined.matches('/').count() {
            let said = "expected a path without `.` and `..`, in whatever spelling";
            return Err(ApiError::bad_request(said));
        }
        Ok(url)
    }

    /// The body to forward, and the result of filtering. `share` must be held until the body is
    /// sent.
    async fn body(
        self: &Arc<Self>,
        parts: &Parts,
        body: Body,
        share: &Share,
    ) -> Result<(reqwest::Body, FilterResult), ApiError> {
        let keep = super::http::limit_of(&parts.headers)?.unwrap_or(self.options.keep);
        let mut rest = Box::pin(self.bodies.parts(body));
        if let Some(tools) = unread(parts, self.options.max_body) {
            return Ok((reqwest::Body::wrap_stream(rest.map(passed_on)), tools));
        }
        let mut read = Vec::new();
        while let Some(chunk) = rest.next().await {
            let chunk =
                chunk?.map_err(|_| ApiError::bad_request("the body ended before it was whole"))?;
            read.extend_from_slice(&chunk);
            let has_room = share.take(chunk.len()).is_ok();
            // A body without a declared length may turn out to be too large.
            if read.len() > self.options.max_body || !has_room {
                let because = if has_room { SkipReason::TooLarge } else { SkipReason::NoRoom };
                let read = stream::once(std::future::ready(Ok(Bytes::from(read))));
                let all = read.chain(rest.map(passed_on));
                return Ok((reqwest::Body::wrap_stream(all), FilterResult::Uncut(because)));
            }
        }
        let bytes = Bytes::from(read);
        match self.cut(bytes.clone(), keep).await {
            Ok((cut, report)) => Ok((cut.into(), FilterResult::Read(report))),
            Err(because) => Ok((bytes.into(), FilterResult::Uncut(because))),
        }
    }

    /// The filtered body, or the reason why it keeps all tools.
    async fn cut(
        self: &Arc<Self>,
        body: Bytes,
        keep: usize,
    ) -> Result<(Vec<u8>, FilterReport), SkipReason> {
        let permit = self.queue.enter().await.map_err(|_| SkipReason::Busy)?;
        let engine = Arc::clone(&self.engine);
        let cutting = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let filtered = filter::filter(&engine, &body, keep)?;
            Ok::<_, filter::FilterError>((filtered.body.into_owned(), filtered.report))
        });
        match cutting.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(filter::FilterError::NotARequest(_))) => Err(SkipReason::NotJson),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the tools of a request could not be ranked");
                Err(SkipReason::Failed)
            }
            // The panic is logged where it happened.
            Err(_) => Err(SkipReason::Failed),
        }
    }

    /// Counts the result of filtering, and logs the reason if no tool was removed. Each request is
    /// logged, because a user looks for the reason of one request.
    fn note(&self, tools: &FilterResult) {
        let Some(result) = tools.result() else { return };
        self.engine.metrics().count_proxied(result.map_or_else(SkipReason::label, |()| "cut"));
        let Err(because) = result else { return };
        let reason = because.label();
        if because.is_loss() {
            tracing::warn!(reason, "a request goes on uncut: {because}");
        } else {
            tracing::info!(reason, "a request goes on uncut: {because}");
        }
    }
}

/// A chunk of a body that is forwarded unread.
fn passed_on(part: Result<Result<Bytes, axum::Error>, BodyFailure>) -> std::io::Result<Bytes> {
    match part {
        Ok(part) => part.map_err(std::io::Error::other),
        Err(_) => Err(std::io::ErrorKind::TimedOut.into()),
    }
}

fn upstream(text: &str) -> Result<Url, String> {
    let expected = "expected an address such as https://api.openai.com";
    let url = Url::parse(text).map_err(|error| format!("{expected}: {error}"))?;
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    match matches!(url.scheme(), "http" | "https") && url.has_host() && is_plain {
        true => Ok(url),
        false => Err(format!("{expected}, without a user, a query or a fragment")),
    }
}

/// Whether a path contains `.` or `..` as a segment, literally or escaped.
fn climbs(path: &str) -> bool {
    let mut plain = path.to_ascii_lowercase();
    for (escape, read) in [("%2e", "."), ("%2f", "/"), ("%5c", "/"), ("\\", "/")] {
        plain = plain.replace(escape, read);
    }
    plain.split('/').any(|segment| matches!(segment, "." | ".."))
}

/// The result of filtering a request.
enum FilterResult {
    /// The request is not to a model.
    Elsewhere,
    Uncut(SkipReason),
    Read(FilterReport),
}

impl FilterResult {
    /// Whether tools were removed, or the reason; `None` if the request is not to a model.
    fn result(&self) -> Option<Result<(), SkipReason>> {
        match self {
            Self::Elsewhere => None,
            Self::Uncut(because) => Some(Err(*because)),
            Self::Read(report) => Some(report.untouched.map_or(Ok(()), Err)),
        }
    }

    /// Adds the reason to the headers, and the counts if the client asked for them.
    fn add_headers(&self, headers: &mut HeaderMap, is_asked: bool) {
        match self {
            Self::Read(report) if is_asked => super::http::add_counts(headers, report),
            _ => {
                if let Some(Err(because)) = self.result() {
                    super::http::add_reason(headers, because);
                }
            }
        }
    }
}

/// The result for a request whose body is not read: it is not to a model, or cannot be filtered.
fn unread(parts: &Parts, most: usize) -> Option<FilterResult> {
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let path = parts.uri.path().trim_end_matches('/');
    let paths = ["/chat/completions", "/responses", "/messages"];
    let is_json = header(CONTENT_TYPE).is_none_or(|kind| kind.contains("json"));
    let fits = header(CONTENT_LENGTH)
        .and_then(|length| length.parse::<usize>().ok())
        .is_none_or(|length| length <= most);
    let is_bare = header(CONTENT_ENCODING).is_none_or(|encoding| encoding == "identity");
    let is_to_a_model = parts.method == Method::POST && paths.iter().any(|end| path.ends_with(end));
    match is_to_a_model {
        false => Some(FilterResult::Elsewhere),
        true if !is_json => Some(FilterResult::Uncut(SkipReason::Unlabelled)),
        true if !is_bare => Some(FilterResult::Uncut(SkipReason::Encoded)),
        true if !fits => Some(FilterResult::Uncut(SkipReason::TooLarge)),
        true => None,
    }
}

async fn forward(State(proxy): State<Arc<Proxy>>, request: Request) -> Result<Response, ApiError> {
    let start = Instant::now();
    let (parts, body) = request.into_parts();
    if parts.headers.contains_key(UPGRADE) || parts.method == Method::CONNECT {
        let said = "this proxy passes on requests and answers; connections that change their \
                    protocol go to the upstream directly";
        return Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "no_upgrade", said));
    }
    let url = proxy.url(&parts.uri)?;
    let share = proxy.bodies.share();
    let (body, tools) = proxy.body(&parts, body, &share).await?;
    proxy.note(&tools);
    let headers = upstream_headers(&parts.headers, matches!(tools, FilterResult::Read(_)));
    let outgoing = proxy.client.request(parts.method.clone(), url).headers(headers).body(body);
    let answered = outgoing.send().await.map_err(|error| unreachable_upstream(&error))?;
    drop(share);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answered.status();
    *response.headers_mut() = without_hops(answered.headers());
    tools.add_headers(response.headers_mut(), parts.headers.contains_key(REPORT_HEADER));
    *response.body_mut() = Body::from_stream(answered.bytes_stream());
    let micros = start.elapsed().as_micros() as u64;
    tracing::info!(status = response.status().as_u16(), micros, "passed on");
    Ok(response)
}

/// The client's headers, without those of its connection and those for the proxy.
fn upstream_headers(headers: &HeaderMap, is_read: bool) -> HeaderMap {
    let mut sent = without_hops(headers);
    sent.remove(HOST);
    // The proxy answers `Expect` itself.
    sent.remove(EXPECT);
    if is_read || headers.contains_key(TRANSFER_ENCODING) {
        sent.remove(CONTENT_LENGTH);
    }
    let ours: Vec<HeaderName> =
        sent.keys().filter(|name| name.as_str().starts_with(OURS)).cloned().collect();
    ours.iter().for_each(|name| _ = sent.remove(name));
    sent
}

fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let hops: Vec<&str> = named
        .flat_map(|value| value.split(','))
        .chain(HOP_BY_HOP.split(' '))
        .map(str::trim)
        .collect();
    let stays = |name: &HeaderName| !hops.iter().any(|hop| name.as_str().eq_ignore_ascii_case(hop));
    headers.iter().filter(|(name, _)| stays(name)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

fn unreachable_upstream(error: &reqwest::Error) -> ApiError {
    // Without the URL, which may contain secrets.
    let what = match error {
        error if error.is_timeout() => "did not answer in time",
        error if error.is_connect() => "cannot be reached",
        _ => "broke the connection",
    };
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    tracing::warn!(%cause, "the upstream {what}");
    let status =
        if error.is_timeout() { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
    ApiError::new(status, "upstream", format!("the upstream {what}"))
}

/// Counts each request by the status of its answer, including refused requests.
async fn counted(State(proxy): State<Arc<Proxy>>, request: Request, next: Next) -> Response {
    let is_own = request.uri().path().starts_with("/toolroute/");
    let route = if is_own { "own" } else { "upstream" };
    let start = Instant::now();
    let response = next.run(request).await;
    proxy.engine.metrics().count_request(route, response.status().as_u16(), start.elapsed());
    response
}

async fn metrics(State(proxy): State<Arc<Proxy>>) -> Response {
    openmetrics(&proxy.engine, (proxy.queue.working(), proxy.queue.waiting()))
}

#[cfg(test)]
mod tests {
    use toolroute_catalog::Catalog;

    use super::*;

    fn url(base: &str, path: &str) -> String {
        let engine = Arc::new(Engine::builder(Catalog::default()).build().unwrap());
        let proxy = Proxy::new(engine, ProxyOptions::new(base)).unwrap();
        proxy.url(&path.parse().unwrap()).map_or_else(|_| "refused".to_owned(), String::from)
    }

    #[test]
    fn paths_are_put_behind_the_base_once() {
        let api = "https://api.openai.com";
        assert_eq!(url(api, "/v1/models?a=b%20c"), "https://api.openai.com/v1/models?a=b%20c");
        assert_eq!(url("http://x:1/v1", "/v1/responses"), "http://x:1/v1/responses");
        assert_eq!(url("http://x/api/v1/", "/v1/messages"), "http://x/api/v1/messages");
        assert_eq!(url("http://x/v1", "/chat/completions"), "http://x/v1/chat/completions");
        assert_eq!(url("http://x", "/a%2Fb/"), "http://x/a%2Fb/");
        for climbing in
            ["/v1/%2e%2e/admin", "/v1/.%2E/x", "/v1/..", "/v1/..\\x", "/a/..%2fb", "/./a", "/%2E"]
        {
            assert_eq!(url("http://x/v1", climbing), "refused", "{climbing}");
        }
        assert_eq!(url("http://x", "/v1/a..b/...?q=/../"), "http://x/v1/a..b/...?q=/../");
        for wrong in ["api.openai.com", "ftp://x", "http://user@x", "http://x?y=z"] {
            assert!(upstream(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_of_the_connection_and_ours_stay_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "127.0.0.1"),
            ("connection", "keep-alive, X-Secret-Hop"),
            ("x-secret-hop", "1"),
            ("authorization", "Bearer key"),
            ("x-toolroute-token", "ours"),
            ("proxy-authorization", "Basic x"),
            ("content-length", "12"),
            ("accept", "text/event-stream"),
        ] {
            headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        }
        let sent = upstream_headers(&headers, true);
        let mut names: Vec<&str> = sent.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["accept", "authorization"]);
        assert!(upstream_headers(&headers, false).contains_key(CONTENT_LENGTH));
    }
}
