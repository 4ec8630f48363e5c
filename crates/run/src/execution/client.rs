//! The HTTP client for MCP servers and API operations.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::address::{Reach, literal};
use super::error::Error;
use super::servers::Remote;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The error of a request that got no response.
pub(super) type HttpError = reqwest::Error;

/// Installs `ring` as the TLS crypto provider, unless the program has installed another.
pub fn prepare_tls() {
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// Builds a client that sends the entry's headers only to the entry's own host. It does not follow
/// redirects to another host, because the headers contain credentials. It rejects forbidden IP
/// addresses both in URLs and in the results of name resolution.
pub(super) fn for_remote(remote: &Remote) -> Result<reqwest::Client, Error> {
    prepare_tls();
    let failed = |because: String| Error::HttpClient { because };
    let reach = Reach::of(remote);
    if let Ok(url) = reqwest::Url::parse(&remote.url) {
        check(&url, reach).map_err(|because| Error::PrivateAddress { because })?;
    }
    let mut headers = HeaderMap::new();
    for (name, value) in &remote.headers {
        let bad = |what: &str| failed(format!("header `{name}` has a {what} that HTTP forbids"));
        let name = HeaderName::try_from(name).map_err(|_| bad("name"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let client = reqwest::Client::builder();
    // Plain HTTP needs no certificates, which a small container may not have.
    let client = match remote.url.starts_with("http://") {
        true => client.tls_certs_only([]),
        false => client,
    };
    // The headers are for this machine, and not for a proxy of the system.
    let client = if names_loopback(&remote.url) { client.no_proxy() } else { client };
    let client = client
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(same_host_only(reach))
        .dns_resolver(Arc::new(ReachResolver(reach)))
        .user_agent(concat!("toolroute/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| failed(error.to_string()))
}

fn same_host_only(reach: Reach) -> reqwest::redirect::Policy {
    const MOST: usize = 5;
    reqwest::redirect::Policy::custom(move |attempt| {
        let origin = |url: &reqwest::Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port())
        };
        let same =
            attempt.previous().last().is_some_and(|from| origin(from) == origin(attempt.url()));
        let may = check(attempt.url(), reach).is_ok();
        if same && may && attempt.previous().len() <= MOST {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Rejects a URL whose host is an IP address that the entry may not reach.
pub(super) fn check(url: &reqwest::Url, reach: Reach) -> Result<(), String> {
    url.host_str().map_or(Ok(()), |host| reach.check_host(host))
}

/// Whether a URL names this machine: `localhost`, or a loopback address.
pub fn names_loopback(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || literal(host).is_some_and(|address| address.is_loopback())
}

/// Whether a URL names a private host: an IP address of this machine or its network, or a name such
/// as `localhost`. Other names are checked when they are resolved.
pub fn names_private_address(url: &str) -> bool {
    const LOCAL: [&str; 5] = ["localhost", "local", "internal", "lan", "home.arpa"];
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let is_local = |end: &str| name == end || name.ends_with(&format!(".{end}"));
    Reach::PublicOnly.check_host(host).is_err() || LOCAL.into_iter().any(is_local)
}

/// Resolves names as the system does, and keeps the addresses that may be called. It runs for every
/// connection, so that an address that changes later is checked too.
struct ReachResolver(Reach);

impl reqwest::dns::Resolve for ReachResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        let (reach, host) = (self.0, name.as_str().to_owned());
        Box::pin(async move {
            // The system's resolver blocks.
            let found = tokio::task::spawn_blocking(move || reach.resolve(&host)).await?;
            let found: Vec<SocketAddr> = found?.into_iter().map(|ip| (ip, 0).into()).collect();
            Ok(Box::new(found.into_iter()) as reqwest::dns::Addrs)
        })
    }
}
