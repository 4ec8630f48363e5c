//! The gateway over Streamable HTTP: `/mcp`, and `/mcp/{profile}` for each profile.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::{Json, Router};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::malformed::{refused_body, refused_handshake};
use super::sessions::BoundedSessions;
use super::{Gateway, GatewayOptions};
use crate::http::bodies::{self, BODY_BUDGET, BodyBudget};
use crate::http::guard;
use crate::http::health;
use crate::http::reload::reload_on_change;
use crate::http::{App, Limits, accept};
use crate::{Error, Service, Shutdown, Token};

/// How long a session may be idle. Agents pause while people think, and not every client starts a
/// new session when its own is gone.
const IDLE: Duration = Duration::from_secs(3_600);

/// The longest handshake in bytes that is told what is wrong with it. One has less than a thousand.
const LONGEST_HANDSHAKE: usize = 64 << 10;

/// Options of a gateway over HTTP.
#[derive(Clone, Debug, Default)]
pub struct McpHttpOptions {
    /// What the gateway offers to its clients.
    pub gateway: GatewayOptions,
    /// Host names of the server, in addition to the loopback ones.
    pub hosts: Vec<String>,
    /// The token that clients must send. It is necessary if other machines can reach the server.
    pub token: Option<Token>,
    /// Whether a guard around the routes already checks hosts and origins.
    #[doc(hidden)] // For our own crates.
    pub guarded: bool,
    /// Ends all sessions.
    pub shutdown: Shutdown,
}

/// Returns the current service, which a reload may replace.
pub type CurrentService = Arc<dyn Fn() -> Arc<Service> + Send + Sync>;

/// The routes of the gateway. A session keeps the service with which it began. The profiles are
/// those of the first service.
///
/// Unless they are guarded, the routes answer only to loopback hosts and `hosts`, and to no web
/// page. They do not check the token, which is the guard's task.
pub fn mcp_router(current: &CurrentService, options: &McpHttpOptions) -> Result<Router, Error> {
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
        let gateways = GatewayFactory::new(Arc::clone(current), gateway)?;
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
    for name in current().profiles() {
        let profile = Some(name.to_owned());
        let gateway = GatewayOptions { profile, ..options.gateway.clone() };
        router = router.route_service(&format!("/mcp/{name}"), endpoint(gateway)?);
    }
    let current = Arc::clone(current);
    let unknown = async move |Path(name): Path<String>| {
        let error = current().profile(Some(&name)).err();
        (StatusCode::NOT_FOUND, error.map_or(String::new(), |error| error.to_string()))
    };
    let router = router.route("/mcp/{name}", any(unknown));
    let router = router.layer(middleware::from_fn(tell_of_unreadable));
    Ok(router.layer(middleware::from_fn(end_without_content)))
}

/// Says what is wrong with a message that cannot be read, as over stdio. rmcp takes an `initialize` of another form for a
/// request of another method, and answers that it lacks a session; of a body that is no message it says that its type is not
/// supported.
async fn tell_of_unreadable(request: Request, next: Next) -> Response {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    let is_json = request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.to_str().is_ok_and(|kind| kind.starts_with("application/json")));
    let is_message = request.method() == Method::POST && is_json;
    if !is_message || length.is_none_or(|length| length > LONGEST_HANDSHAKE) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match to_bytes(body, LONGEST_HANDSHAKE).await {
        Ok(body) => body,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let response = next.run(Request::from_parts(parts, Body::from(body.clone()))).await;
    let refused = match response.status() {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Some(refused_body(&body)),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
            serde_json::from_slice(&body).ok().and_then(|message| refused_handshake(&message))
        }
        _ => None,
    };
    match refused {
        Some(refused) => (StatusCode::BAD_REQUEST, Json(refused)).into_response(),
        None => response,
    }
}

/// Answers the end of a session with 204 instead of 202, which the SDK of Python takes for a failure.
async fn end_without_content(request: Request, next: Next) -> Response {
    let is_end = request.method() == Method::DELETE;
    let mut response = next.run(request).await;
    if is_end && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Creates the gateways of one profile. Their shared state is created once for each service.
struct GatewayFactory {
    current: CurrentService,
    options: GatewayOptions,
    latest: Mutex<(Arc<Service>, Gateway)>,
}

impl GatewayFactory {
    fn new(current: CurrentService, options: GatewayOptions) -> Result<Self, Error> {
        let service = current();
        let gateway = Gateway::new(Arc::clone(&service), &options)?;
        Ok(Self { current, options, latest: Mutex::new((service, gateway)) })
    }

    fn fresh(&self) -> Result<Gateway, Error> {
        let service = (self.current)();
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&latest.0, &service) {
            // A service that replaces another has other servers or profiles, and so another hint.
            let options = GatewayOptions { hints: BTreeMap::new(), ..self.options.clone() };
            *latest = (Arc::clone(&service), Gateway::new(service, &options)?);
        }
        Ok(Gateway::of(Arc::clone(&latest.1.shared)))
    }
}

/// The gateway as routes, for a server of your own: `/mcp`, and `/mcp/{profile}` for each profile.
/// Every request passes the checks of [`serve_mcp`] for hosts, origins, the token and sizes, for
/// loopback hosts and [`McpHttpOptions::hosts`]; the limits of connections are up to your server.
///
/// # Errors
/// Those of [`Gateway::new`].
pub fn gateway_router(service: &Arc<Service>, options: &McpHttpOptions) -> Result<Router, Error> {
    let service = Arc::clone(service);
    let router =
        mcp_router(&(Arc::new(move || Arc::clone(&service)) as CurrentService), &behind(options))?;
    Ok(guarded(router, options, None))
}

/// Serves only the gateway of an app, with `/healthz`, `/readyz` and `/metrics`, until the shutdown
/// begins. The app's sources are read again as by [`serve`](crate::http::serve).
///
/// # Errors
/// Those of [`Gateway::new`], and [`Error::Listen`] for a listener without an address.
pub async fn serve_mcp(
    listener: TcpListener,
    app: Arc<App>,
    options: McpHttpOptions,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(|source| Error::Listen { source })?;
    let reloading = tokio::spawn(reload_on_change(Arc::clone(&app), options.shutdown.clone()));
    let router =
        mcp_router(&app.current(), &behind(&options))?.merge(health::routes().with_state(app));
    let router = guarded(router, &options, Some(address.ip()));
    accept(listener, router, Limits::default(), &options.shutdown).await;
    reloading.abort();
    Ok(())
}

/// The options of routes whose requests a guard has checked.
fn behind(options: &McpHttpOptions) -> McpHttpOptions {
    McpHttpOptions { guarded: true, ..options.clone() }
}

/// Routes inside a guard, which also answers to the address that the server listens on.
fn guarded(router: Router, options: &McpHttpOptions, address: Option<IpAddr>) -> Router {
    let guard = Arc::new(guard::Guard {
        hosts: options.hosts.clone(),
        address,
        token: options.token.clone(),
        ..guard::Guard::default()
    });
    router
        .layer(middleware::from_fn_with_state(BodyBudget::new(BODY_BUDGET), bodies::bounded))
        .layer(middleware::from_fn_with_state(guard, guard::admit))
}
