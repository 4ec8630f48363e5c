//! Serves tools of this program over HTTP and MCP: `cargo run --example own_tools`.
//!
//! `double` is a closure; `clock` runs in an invoker of its own. Both are found by
//! `POST /v1/select`, called by `POST /v1/call`, and offered to agents at `/mcp`. The example asks
//! for them once by HTTP, prints the answer, and ends; with an address as its argument
//! (`127.0.0.1:8080`) it serves until Ctrl-C.

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolroute::catalog::Schema;
use toolroute::execution::invoker::{Call, Fault, Invoker, Pending};
use toolroute::execution::{Closures, Output, Servers};
use toolroute::server::http::{App, HttpOptions, serve};
use toolroute::server::{Assembly, Shutdown};
use toolroute::{Catalog, Tool};

/// Tells the time. An invoker can hold connections, and report progress and faults.
struct Clock;

impl Invoker for Clock {
    fn invoke<'a>(&'a self, _: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(async {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Ok(Output::data(json!({"seconds_since_1970": now.as_secs()})))
        })
    }
}

fn double(given: Map<String, Value>) -> Result<Value, String> {
    let number = given["n"].as_i64().ok_or("expected a whole number")?;
    number.checked_mul(2).map(|twice| json!({"result": twice})).ok_or("too large".to_owned())
}

fn assembly() -> Result<Assembly, Box<dyn Error>> {
    let mut twice = Tool::new(Some("math"), "double", "Doubles a number");
    let schema =
        r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#;
    twice.input_schema = Some(Schema::new(serde_json::from_str(schema)?));
    let clock = Tool::new(Some("clock"), "now", "Tells the time");
    let servers = Servers::new()
        .with("math", Closures::new().with(twice.clone(), double))
        .with("clock", Clock);
    let catalog = Catalog::from_tools(vec![twice, clock]).catalog;
    Ok(Assembly { catalog, own_servers: servers, ..Assembly::default() })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0")).await?;
    let own = listener.local_addr()?;
    // Without a model, tools are found by their words alone. Building with one computes vectors, so
    // it is done beside the runtime's own threads.
    let service = tokio::task::spawn_blocking(|| {
        let assembly = assembly().map_err(|error| error.to_string())?;
        assembly.build().map_err(|error| error.to_string())
    });
    let app = App::new(service.await??, HttpOptions::default());
    tokio::spawn(app.service().start());
    let shutdown = Shutdown::default();
    shutdown.on_signals();
    let serving = tokio::spawn({
        let (app, shutdown) = (app.clone(), shutdown.clone());
        async move { serve(listener, app, &shutdown).await }
    });
    if address.is_none() {
        println!("{}", post(own, "/v1/select", &json!({"prompt": "double a number"})).await?);
        let call = json!({"tool": "math__double", "arguments": {"n": 21}});
        println!("{}", post(own, "/v1/call", &call).await?);
        shutdown.begin();
    }
    serving.await??;
    app.service().close().await;
    Ok(())
}

/// What a client of the API does, with no crate for HTTP.
async fn post(to: std::net::SocketAddr, path: &str, body: &Value) -> std::io::Result<String> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to).await?;
    let head = format!("POST {path} HTTP/1.1\r\nhost: {to}\r\ncontent-type: application/json\r\n");
    let rest = format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(format!("{head}{rest}").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.split_once("\r\n\r\n").map_or(answer.clone(), |(_, body)| body.to_owned()))
}
