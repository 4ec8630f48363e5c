//! Refuses requests for unknown hosts and from other pages, checks the token, and limits the load.
//!
//! Every web page that the user has open can reach a server on the loopback address: a page may
//! resolve its own name to 127.0.0.1 (DNS rebinding) and read the answers. So a request must name a
//! known host, and requests from pages other than this server's own are refused.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{ApiError, Client, LogLimit};
use crate::Error;
use crate::error::cut;

/// The secret that clients must send. Only its hash is stored.
#[derive(Clone)]
pub struct Token {
    digest: [u8; 32],
}

/// The least length of a token in characters. Shorter ones could be guessed.
const LEAST_TOKEN: usize = 16;

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").finish_non_exhaustive()
    }
}

impl Token {
    /// Creates a token from its text. White space around the text is ignored.
    ///
    /// # Errors
    /// [`Error::BadToken`] if the token is too short or not valid in a header.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let found = text.chars().count();
        if found < LEAST_TOKEN {
            return Err(Error::BadToken {
                because: format!(
                    "expected a token of at least {LEAST_TOKEN} characters, found {found}; \
                     `openssl rand -hex 32` makes a good one"
                ),
            });
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let because = "expected a token of visible ASCII characters without spaces".to_owned();
            return Err(Error::BadToken { because });
        }
        Ok(Self { digest: Sha256::digest(text.as_bytes()).into() })
    }

    /// Whether the text is the token. The comparison takes the same time for any text, because it
    /// compares all bytes of the hashes.
    pub fn matches(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        self.digest.ct_eq(&given).into()
    }
}

/// The checks that each request must pass first.
#[derive(Clone, Default)]
pub struct Guard {
    /// Host names of this server, in addition to the loopback ones and bare addresses.
    pub hosts: Vec<String>,
    /// The address that the server listens on.
    pub address: Option<IpAddr>,
    pub token: Option<Token>,
    /// The header of the token, instead of `Authorization`. The proxy needs its own header, because
    /// `Authorization` is for the upstream.
    pub token_header: Option<&'static str>,
    /// Limits log lines about refused requests, which need no token.
    pub(crate) refused: Arc<LogLimit>,
}

/// Whether a path needs no token. Monitors have none, and the page that asks the user for the token
/// must load first.
fn is_open(path: &str) -> bool {
    matches!(path, "/" | "/page.css" | "/page.js" | "/healthz" | "/readyz" | "/favicon.ico")
}

impl Guard {
    /// Checks the host, the origin and the token of a request.
    pub fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = host_of(uri, headers)?;
        if !self.knows(&host) {
            let host = cut(&host);
            let name = without_port(&host);
            let cure = match name.is_empty() {
                true => String::new(),
                false => format!("; start it with `--allowed-host {name}` for that"),
            };
            let said = format!("this server does not answer to the host `{host}`{cure}");
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden_host", said));
        }
        if let Some(origin) = headers.get(ORIGIN)
            && !is_same_origin(origin.as_bytes(), uri, headers)
        {
            let said = "requests of pages other than this server's own are refused";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden_origin", said));
        }
        match &self.token {
            // A guard with its own header protects a proxy, whose paths belong to the upstream.
            Some(token) if self.token_header.is_some() || !is_open(uri.path()) => {
                self.check(token, headers)
            }
            _ => Ok(()),
        }
    }

    fn check(&self, token: &Token, headers: &HeaderMap) -> Result<(), ApiError> {
        let given = match self.token_header {
            Some(name) => headers.get(name).and_then(|value| value.to_str().ok()),
            None => headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()),
        };
        // The scheme's name is case-insensitive (RFC 9110, 11.1).
        let bare = given.map(|given| match given.split_once(' ') {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => rest.trim(),
            _ if self.token_header.is_some() => given,
            _ => "",
        });
        if bare.is_some_and(|given| token.matches(given)) {
            return Ok(());
        }
        let header = self.token_header.unwrap_or("Authorization");
        let said = format!("expected the token of this server as `{header}: Bearer TOKEN`");
        Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", said))
    }

    /// Whether this server answers to the host. A bare address is safe, because it is not resolved.
    fn knows(&self, host: &str) -> bool {
        let name = without_port(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        if let Ok(address) = without_brackets(name).parse::<IpAddr>() {
            // A server that listens on all addresses answers to each of them.
            let listens = |own: IpAddr| own == address || own.is_unspecified();
            if address.is_loopback() || self.address.is_some_and(listens) {
                return true;
            }
        }
        let name = without_brackets(name);
        self.hosts.iter().any(|known| without_brackets(known).eq_ignore_ascii_case(name))
    }
}

/// A middleware for [`axum::middleware::from_fn_with_state`] that refuses what [`Guard::admit`]
/// refuses.
pub async fn admit(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    if let Err(refused) = guard.admit(request.uri(), request.headers()) {
        if let Some(count) = guard.refused.count(refused.kind) {
            let client = request.extensions().get::<Client>().map(Client::to_string);
            let (status, said) = (refused.status.as_u16(), &refused.message);
            tracing::warn!(status, client, count, "a request is refused: {said}");
        }
        return Err(refused);
    }
    Ok(next.run(request).await)
}

/// The host that a request names.
fn host_of(uri: &Uri, headers: &HeaderMap) -> Result<String, ApiError> {
    let mut named = headers.get_all(HOST).iter();
    let first = named.next().and_then(|host| host.to_str().ok());
    let of_uri = uri.authority().map(|authority| authority.as_str());
    match (first, of_uri, named.next()) {
        (Some(host), None, None) => Ok(host.to_owned()),
        // A target in absolute form. Both hosts must be equal, because only one of them is checked.
        (Some(host), Some(same), None) if host == same => Ok(host.to_owned()),
        (None, Some(host), None) if !headers.contains_key(HOST) => Ok(host.to_owned()),
        _ => {
            let said = "expected one `Host` header that names this server";
            Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden_host", said))
        }
    }
}

/// Whether the origin is this server.
fn is_same_origin(origin: &[u8], uri: &Uri, headers: &HeaderMap) -> bool {
    let Ok(origin) = std::str::from_utf8(origin) else { return false };
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let default = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let Ok(host) = host_of(uri, headers) else { return false };
    let bare = |text: &str| text.strip_suffix(default).unwrap_or(text).to_ascii_lowercase();
    bare(authority) == bare(&host)
}

fn without_port(host: &str) -> &str {
    match host.rfind(':') {
        // The colons of a bare IPv6 address do not start a port.
        Some(at) if host[at..].len() > 1 && !host[at..].contains(']') => &host[..at],
        _ => host,
    }
}

/// A host without the brackets that stand around an IPv6 address.
pub(crate) fn without_brackets(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Limits the requests in progress and the requests that wait.
pub struct WorkQueue {
    work: Arc<Semaphore>,
    workers: usize,
    places: Semaphore,
    queue: usize,
}

/// The value of `Retry-After` in seconds.
pub(crate) const RETRY_AFTER: u64 = 1;

impl WorkQueue {
    pub fn new(workers: usize, queue: usize) -> Self {
        let queue = queue.min(Semaphore::MAX_PERMITS);
        let (work, places) = (Arc::new(Semaphore::new(workers)), Semaphore::new(queue));
        Self { work, workers, places, queue }
    }

    /// Waits for a worker, which is occupied until the permit is dropped. 503 if the queue is full,
    /// because a late answer is useless.
    pub async fn enter(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        if let Ok(permit) = self.work.clone().try_acquire_owned() {
            return Ok(permit);
        }
        // Released even if the client disconnects.
        let _place = self.places.try_acquire().map_err(|_| ApiError::busy(RETRY_AFTER))?;
        let permit = self.work.clone().acquire_owned().await;
        permit.map_err(|_| ApiError::busy(RETRY_AFTER))
    }

    pub fn waiting(&self) -> usize {
        self.queue.saturating_sub(self.places.available_permits())
    }

    pub fn working(&self) -> usize {
        self.workers.saturating_sub(self.work.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(guard: &Guard, path: &str, headers: &[(&str, &str)]) -> Result<(), u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(axum::http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        guard.admit(&path.parse().unwrap(), &map).map_err(|error| error.status.as_u16())
    }

    #[test]
    fn only_known_hosts_and_the_servers_own_pages_are_admitted() {
        let hosts = vec!["tools.lan".into(), "10.0.0.2".into(), "fd00::2".into()];
        let guard = Guard { hosts, ..Guard::default() };
        for host in [
            "localhost",
            "localhost:8765",
            "127.0.0.1:1",
            "[::1]:9",
            "127.0.0.9",
            "TOOLS.lan:80",
            "10.0.0.2:80",
            "[fd00::2]:80",
        ] {
            assert_eq!(admitted(&guard, "/v1/select", &[("host", host)]), Ok(()), "{host}");
        }
        for host in ["evil.example", "evil.example:8765", "10.0.0.1", "localhost.evil.example", ""]
        {
            assert_eq!(admitted(&guard, "/", &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(admitted(&guard, "/", &[]), Err(403));
        assert_eq!(admitted(&guard, "/", &[("host", "localhost"), ("host", "evil")]), Err(403));
        let from =
            |origin| admitted(&guard, "/", &[("host", "localhost:8765"), ("origin", origin)]);
        assert_eq!(from("http://localhost:8765"), Ok(()));
        for origin in [
            "http://localhost:3000",
            "http://evil.example",
            "null",
            "file://",
            "http://127.0.0.1:8765",
        ] {
            assert_eq!(from(origin), Err(403), "{origin}");
        }
    }

    #[test]
    fn a_server_on_all_addresses_answers_to_addresses_but_not_to_names() {
        let address = Some("0.0.0.0".parse().unwrap());
        let guard = Guard { address, ..Guard::default() };
        assert_eq!(admitted(&guard, "/", &[("host", "192.168.1.5:80")]), Ok(()));
        assert_eq!(admitted(&guard, "/", &[("host", "evil.example")]), Err(403));
    }

    #[test]
    fn a_token_is_required_where_there_is_one() {
        assert!(Token::new("short").is_err() && Token::new("with a space in the midst").is_err());
        let token = Some(Token::new("0123456789abcdef\n").unwrap());
        let guard = Guard { token, ..Guard::default() };
        let with = |value| {
            admitted(&guard, "/v1/select", &[("host", "localhost"), ("authorization", value)])
        };
        assert_eq!(with("Bearer 0123456789abcdef"), Ok(()));
        assert_eq!(with("bearer 0123456789abcdef"), Ok(()));
        for wrong in ["Bearer 0123456789abcdeF", "0123456789abcdef", "Basic 0123456789abcdef", ""] {
            assert_eq!(with(wrong), Err(401), "{wrong}");
        }
        assert_eq!(admitted(&guard, "/v1/select", &[("host", "localhost")]), Err(401));
        for path in ["/healthz", "/readyz"] {
            assert_eq!(admitted(&guard, path, &[("host", "localhost")]), Ok(()), "{path}");
        }
        assert_eq!(admitted(&guard, "/metrics", &[("host", "localhost")]), Err(401));
        let proxy = Guard { token_header: Some("x-token"), ..guard };
        for path in ["/", "/healthz", "/page.js"] {
            assert_eq!(admitted(&proxy, path, &[("host", "localhost")]), Err(401), "{path}");
        }
        let given = [("host", "localhost"), ("x-token", "0123456789abcdef")];
        assert_eq!(admitted(&proxy, "/healthz", &given), Ok(()));
    }

    #[tokio::test]
    async fn a_request_beyond_the_queue_is_refused_and_places_are_released() {
        let queue = Arc::new(WorkQueue::new(1, 1));
        let first = queue.enter().await.unwrap();
        let second = tokio::spawn({
            let queue = queue.clone();
            async move { queue.enter().await.map(drop) }
        });
        while queue.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        let third = queue.enter().await.map(drop).unwrap_err();
        assert_eq!(third.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!((queue.working(), queue.waiting()), (1, 1));
        drop(first);
        second.await.unwrap().unwrap();
        assert_eq!((queue.working(), queue.waiting()), (0, 0));
    }
}
