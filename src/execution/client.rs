//! The HTTP client that MCP servers and API operations are called with.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::error::Error;
use super::servers::Remote;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Chooses who does the cryptography of TLS; a program that has chosen already keeps its choice.
pub fn prepare_tls() {
    rustls::crypto::ring::default_provider().install_default().ok();
}

/// A client that sends the headers of the entry, to the entry's own host only: an answer that
/// points elsewhere is not followed, because the headers hold credentials.
pub(super) fn for_remote(remote: &Remote) -> Result<reqwest::Client, Error> {
    prepare_tls();
    let failed = |because: String| Error::HttpClient { because };
    let mut headers = HeaderMap::new();
    for (name, value) in &remote.headers {
        let bad = |what: &str| failed(format!("header `{name}` has a {what} that HTTP forbids"));
        let name = HeaderName::try_from(name).map_err(|_| bad("name"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad("value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    let client = reqwest::Client::builder()
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(same_host_only())
        .user_agent(concat!("toolroute/", env!("CARGO_PKG_VERSION")));
    client.build().map_err(|error| failed(error.to_string()))
}

fn same_host_only() -> reqwest::redirect::Policy {
    const MOST: usize = 5;
    reqwest::redirect::Policy::custom(|attempt| {
        let origin = |url: &reqwest::Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port())
        };
        let same =
            attempt.previous().last().is_some_and(|from| origin(from) == origin(attempt.url()));
        if same && attempt.previous().len() <= MOST { attempt.follow() } else { attempt.stop() }
    })
}
