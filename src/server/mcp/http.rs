//! The gateway over Streamable HTTP: `/mcp`, and `/mcp/{profile}` for each profile.

use std::sync::Arc;

use axum::{Router, middleware};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::super::http::{Limits, accept};
use super::super::{Error, Service, Shutdown, Token, guard};
use super::{Gateway, GatewayOptions};

/// Who may reach a gateway, and how long.
#[derive(Clone, Default)]
pub struct McpHttpOptions {
    pub gateway: GatewayOptions,
    /// Names under which the server is reached, beside the loopback ones.
    pub hosts: Vec<String>,
    /// What clients must show. Where others can reach the server there must be one.
    pub token: Option<Token>,
    /// Ends all sessions.
    pub shutdown: Shutdown,
}

/// The routes of the gateway, to be served beside others that are guarded as they are.
///
/// By itself it answers to loopback hosts and to the names of the options, and to no web page: rmcp
/// looks at the origin only where it is told to, and the protocol demands it. Tokens are the guard's.
///
/// # Errors
/// What [`Gateway::new`] may raise.
pub fn mcp_router(service: &Arc<Service>, options: &McpHttpOptions) -> Result<Router, Error> {
    let default = StreamableHttpServerConfig::default();
    let hosts: Vec<String> = default.allowed_hosts.iter().chain(&options.hosts).cloned().collect();
    routes(service, options, &default.with_allowed_hosts(hosts).enforce_origin_validation())
}

fn routes(
    service: &Arc<Service>,
    options: &McpHttpOptions,
    config: &StreamableHttpServerConfig,
) -> Result<Router, Error> {
    let config = config.clone().with_cancellation_token(options.shutdown.token().child_token());
    let endpoint = |gateway: &GatewayOptions| {
        let gateway = Gateway::new(Arc::clone(service), gateway)?;
        let sessions = Arc::new(LocalSessionManager::default());
        let fresh = move || Ok(gateway.for_another());
        Ok::<_, Error>(StreamableHttpService::new(fresh, sessions, config.clone()))
    };
    let mut router = Router::new().route_service("/mcp", endpoint(&options.gateway)?);
    for name in service.profiles() {
        let profile = Some(name.to_owned());
        let gateway = GatewayOptions { profile, ..options.gateway.clone() };
        router = router.route_service(&format!("/mcp/{name}"), endpoint(&gateway)?);
    }
    Ok(router)
}

/// Serves the gateway alone until its shutdown begins.
///
/// # Errors
/// What [`Gateway::new`] may raise, and where the listener has no address.
pub async fn serve_mcp(
    listener: TcpListener,
    service: &Arc<Service>,
    options: &McpHttpOptions,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(|source| Error::Listen { source })?;
    let guard = Arc::new(guard::Guard {
        hosts: options.hosts.clone(),
        address: Some(address.ip()),
        token: options.token.clone(),
        token_header: None,
    });
    // The guard knows the address, and lets pages of this very server in: it decides.
    let config = StreamableHttpServerConfig::default();
    let config = config.disable_allowed_hosts().disable_allowed_origins();
    let router = routes(service, options, &config)?;
    let router = router.layer(middleware::from_fn_with_state(guard, guard::admit));
    accept(listener, router, Limits::default(), &options.shutdown).await;
    Ok(())
}
