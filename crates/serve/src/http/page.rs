//! The page: three files within the program, which load nothing from anywhere else.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse, Response};

/// Whatever a tool's text says, nothing of it is run and nothing is fetched elsewhere.
const POLICY: &str = "default-src 'self'; img-src data:; style-src 'self'; script-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub async fn index() -> Response {
    file("text/html; charset=utf-8", include_str!("../page/index.html"))
}

pub async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("../page/page.css"))
}

pub async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("../page/page.js"))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "no-referrer"),
        // Another version of the program has another page.
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
