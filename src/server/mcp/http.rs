//! The gateway over Streamable HTTP: `/mcp`, and `/mcp/{profile}` for each profile.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::super::{Error, Service};
use super::{Gateway, GatewayOptions};

/// Where a gateway may be reached from.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    pub gateway: GatewayOptions,
    /// Names that a request may call this host by, beside those of the loopback: what a page
    /// reaches by a name of its own that leads here is refused.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages that may ask, such as `https://app.example.com:443`. A request without an
    /// origin comes from no page, and passes.
    pub allowed_origins: Vec<String>,
    /// Ends all sessions.
    pub end: CancellationToken,
}

/// The routes of the gateway, to be served alone or beside others.
///
/// # Errors
/// What [`Gateway::new`] may raise.
pub fn mcp_router(service: &Arc<Service>, options: &HttpOptions) -> Result<Router, Error> {
    let mut router = Router::new().route_service("/mcp", endpoint(service, options)?);
    for profile in service.profiles() {
        let gateway =
            GatewayOptions { profile: Some(profile.to_owned()), ..options.gateway.clone() };
        let options = HttpOptions { gateway, ..options.clone() };
        router = router.route_service(&format!("/mcp/{profile}"), endpoint(service, &options)?);
    }
    Ok(router)
}

fn endpoint(
    service: &Arc<Service>,
    options: &HttpOptions,
) -> Result<StreamableHttpService<Gateway, LocalSessionManager>, Error> {
    let gateway = Gateway::new(Arc::clone(service), &options.gateway)?;
    let own = StreamableHttpServerConfig::default();
    let hosts: Vec<String> =
        own.allowed_hosts.iter().chain(&options.allowed_hosts).cloned().collect();
    let config = own
        .with_allowed_hosts(hosts)
        .with_allowed_origins(options.allowed_origins.clone())
        // It is off where nobody asks for it, and the protocol demands it.
        .enforce_origin_validation()
        .with_cancellation_token(options.end.child_token());
    let sessions = Arc::new(LocalSessionManager::default());
    Ok(StreamableHttpService::new(move || Ok(gateway.for_another()), sessions, config))
}

/// Serves routes on an address until `end` comes; `bound` is told where, as soon as it listens.
///
/// # Errors
/// [`Error::Listen`] where the address cannot be had.
pub async fn serve_http(
    address: SocketAddr,
    router: Router,
    end: CancellationToken,
    bound: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let failed = |source| Error::Listen { address, source };
    let listener = tokio::net::TcpListener::bind(address).await.map_err(failed)?;
    bound(listener.local_addr().map_err(failed)?);
    let ended = async move { end.cancelled().await };
    axum::serve(listener, router).with_graceful_shutdown(ended).await.map_err(failed)
}
