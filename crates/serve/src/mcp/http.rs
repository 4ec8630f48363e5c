//! The gateway over Streamable HTTP: `/mcp`, and `/mcp/{profile}` for each profile.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{Router, middleware};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::sessions::BoundedSessions;
use super::{Gateway, GatewayOptions};
use crate::bodies::{self, BODY_BUDGET, BodyBudget};
use crate::http::{Limits, accept};
use crate::{Error, Service, Shutdown, Token, guard};

/// How long a session may be silent. Agents pause while people think, and not every client begins
/// anew where its session is gone.
const IDLE: Duration = Duration::from_secs(3_600);

/// Who may reach a gateway, and how long.
#[derive(Clone, Default)]
pub struct McpHttpOptions {
    pub gateway: GatewayOptions,
    /// Names under which the server is reached, beside the loopback ones.
    pub hosts: Vec<String>,
    /// What clients must show. Where others can reach the server there must be one.
    pub token: Option<Token>,
    /// Requests come through the guard of a server around it, which knows hosts and pages.
    pub guarded: bool,
    /// Ends all sessions.
    pub shutdown: Shutdown,
}

/// Gives the service as it is now: a server may come to have another.
pub type CurrentService = Arc<dyn Fn() -> Arc<Service> + Send + Sync>;

/// The routes of the gateway, to be served beside others. A session stays with the service that it
/// began with; the profiles are those of the first.
///
/// By itself it answers to loopback hosts and to the names of the options, and to no web page: rmcp
/// looks at the origin only where it is told to, and the protocol demands it. Tokens are the guard's.
///
/// # Errors
/// What [`Gateway::new`] may raise.
pub fn mcp_router(present: &CurrentService, options: &McpHttpOptions) -> Result<Router, Error> {
    let config = StreamableHttpServerConfig::default();
    let config = if options.guarded {
        config.disable_allowed_hosts().disable_allowed_origins()
    } else {
        let hosts = config.allowed_hosts.iter().chain(&options.hosts).cloned();
        let hosts: Vec<String> = hosts.collect();
        config.with_allowed_hosts(hosts).enforce_origin_validation()
    };
    let config = config.with_cancellation_token(options.shutdown.token().child_token());
    let endpoint = |gateway: GatewayOptions| {
        let gateways = Gateways::new(Arc::clone(present), gateway)?;
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(IDLE);
        let fresh = move || gateways.fresh().map_err(std::io::Error::other);
        Ok::<_, Error>(StreamableHttpService::new(
            fresh,
            Arc::new(BoundedSessions::new(sessions)),
            config.clone(),
        ))
    };
    let mut router = Router::new().route_service("/mcp", endpoint(options.gateway.clone())?);
    for name in present().profiles() {
        let profile = Some(name.to_owned());
        let gateway = GatewayOptions { profile, ..options.gateway.clone() };
        router = router.route_service(&format!("/mcp/{name}"), endpoint(gateway)?);
    }
    Ok(router)
}

/// Gateways of one profile: what they share is made once a service.
struct Gateways {
    present: CurrentService,
    options: GatewayOptions,
    latest: Mutex<(Arc<Service>, Gateway)>,
}

impl Gateways {
    fn new(present: CurrentService, options: GatewayOptions) -> Result<Self, Error> {
        let service = present();
        let gateway = Gateway::new(Arc::clone(&service), &options)?;
        Ok(Self { present, options, latest: Mutex::new((service, gateway)) })
    }

    fn fresh(&self) -> Result<Gateway, Error> {
        let service = (self.present)();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&latest.0, &service) {
            *latest = (Arc::clone(&service), Gateway::new(service, &self.options)?);
        }
        Ok(latest.1.for_another())
    }
}

/// Serves the gateway alone until its shutdown begins.
///
/// # Errors
/// What [`Gateway::new`] may raise, and where the listener has no address.
pub async fn serve_mcp(
    listener: TcpListener,
    service: &Arc<Service>,
    options: McpHttpOptions,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(|source| Error::Listen { source })?;
    let guard = Arc::new(guard::Guard {
        hosts: options.hosts.clone(),
        address: Some(address.ip()),
        token: options.token.clone(),
        token_header: None,
        refused: Arc::default(),
    });
    let options = McpHttpOptions { guarded: true, ..options };
    let service = Arc::clone(service);
    let router = mcp_router(&(Arc::new(move || Arc::clone(&service)) as CurrentService), &options)?;
    let router = router
        .layer(middleware::from_fn_with_state(BodyBudget::new(BODY_BUDGET), bodies::bounded))
        .layer(middleware::from_fn_with_state(guard, guard::admit));
    accept(listener, router, Limits::default(), &options.shutdown).await;
    Ok(())
}
