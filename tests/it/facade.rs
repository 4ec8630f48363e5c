//! What a program that embeds the crate writes, by the names of the facade alone.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use toolroute::engine::parts::{ContextError, Signal};
use toolroute::engine::{Error, Exclusion, NoTools, Observations, RunCounts, SignalWeights};
use toolroute::engine::{Speaker, Turn};
use toolroute::execution::invoker::{Call, Fault, FaultKind, Invoker, Pending};
use toolroute::execution::parts::{Ending, LoopGuard, Origin, Patterns, Permissions};
use toolroute::execution::{
    Blocking, Candidate, Closures, Executor, ExecutorOptions, Fallbacks, Order, Outcome, Output,
    Request, Servers, candidates,
};
use toolroute::server::parts::Status;
use toolroute::server::{self, Assembly, Service, Shutdown, Token, http, mcp, proxy};
use toolroute::{Catalog, Context, Engine, SelectRequest, Tool};

/// Answers no call.
struct Refusing;

impl Invoker for Refusing {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        let said = format!("{} has its day off", call.tool.name);
        Box::pin(async { Err(Fault::before(FaultKind::Unreachable, said)) })
    }
}

fn double(given: Map<String, Value>) -> Result<Value, String> {
    let number = given["n"].as_i64().ok_or("expected a whole number")?;
    Ok(json!({"result": 2 * number}))
}

fn tools() -> [Tool; 2] {
    [("math", "double"), ("off", "twice")]
        .map(|(server, name)| Tool::new(Some(server), name, "Doubles a number"))
}

fn own_servers() -> Servers {
    let [double_tool, _] = tools();
    Servers::new().with("math", Closures::new().with(double_tool, double)).with("off", Refusing)
}

fn service(executor: ExecutorOptions) -> Arc<Service> {
    let catalog = Catalog::from_tools(tools().to_vec()).catalog;
    let own_servers = own_servers();
    Assembly { catalog, own_servers, executor, ..Assembly::default() }.build().unwrap()
}

#[test]
fn a_chain_of_fallbacks_goes_on_from_an_own_invoker_to_a_closure() {
    let [twice_by_closure, twice] = tools().map(Arc::new);
    let catalog = Catalog::from_tools(tools().to_vec()).catalog;
    let named = std::slice::from_ref(&twice_by_closure);
    let chain = candidates(&twice, &catalog, Fallbacks { named, ..Fallbacks::default() });
    assert_eq!(
        chain.iter().map(|one| one.origin).collect::<Vec<_>>(),
        [Origin::Asked, Origin::Declared]
    );
    let executor = Arc::new(Executor::new(own_servers(), ExecutorOptions::default()));
    let calls = Blocking::with_threads(executor).unwrap();
    let arguments: Map<_, _> = [("n".to_owned(), json!(21))].into_iter().collect();
    let order = Order { candidates: chain, arguments, ..Order::default() };
    let report = calls.call(order).unwrap();
    assert_eq!(report.attempts[0].ending, Ending::Failed { fault: FaultKind::Unreachable });
    let Outcome::Answered(answer) = report.outcome else { panic!("{report:?}") };
    assert_eq!(answer.output.data, Some(json!({"result": 42})));
}

#[test]
fn every_reason_of_an_answer_can_be_matched() {
    let engine = Engine::builder(Catalog::from_tools(tools().to_vec()).catalog).build().unwrap();
    let asked = Turn { role: Speaker::User, text: "Which number?".to_owned() };
    let context = Context { conversation: vec![asked], ..Context::default() };
    let context = context.turn(Speaker::Assistant, "Any.");
    assert_eq!(context.conversation.len(), 2);
    let request = |prompt: &str| SelectRequest::new(prompt).context(context.clone());
    assert_eq!(engine.select(&request("double a number")).unwrap().no_tools, None);
    let nothing = engine.select(&request("paint the fence")).unwrap().no_tools;
    assert_eq!(nothing, Some(NoTools::NothingFits));
    let without = Context { excluded_tools: vec!["math__*".to_owned()], ..Context::default() };
    let selection = engine.select(&SelectRequest::new("double a number").context(without)).unwrap();
    assert!(matches!(selection.excluded[0].because, Exclusion::ByPattern { .. }));
    assert!(matches!(Context::from_json(r#"{"fiels": []}"#), Err(ContextError::BadJson { .. })));
    assert!(matches!(engine.select(&SelectRequest::new("")), Err(Error::EmptyPrompt)));

    let weights = SignalWeights::OFF.with(Signal::History, 0.5).unwrap();
    engine.set_weights(weights);
    let counts = r#"{"tools": {"math__double": {"runs": 50, "successes": 45}}}"#;
    engine.observe(Observations::from(serde_json::from_str::<RunCounts>(counts).unwrap()));
    assert_eq!(engine.observed().tool("math__double").unwrap().successes, 45);
}

#[test]
fn refused_options_of_servers_are_errors_of_the_server() {
    assert!(matches!(Token::new("short"), Err(server::Error::BadToken { .. })));
    let engine = Arc::new(Engine::builder(Catalog::default()).build().unwrap());
    let refused = proxy::Proxy::new(engine, proxy::ProxyOptions::new("no address"));
    let said = refused.err().unwrap().to_string();
    assert!(said.starts_with("expected an address such as https://api.openai.com"), "{said}");
}

#[test]
fn permissions_apply_to_the_servers_of_a_program() {
    let deny = Patterns::new(["math__*"]).unwrap();
    let permissions = Permissions { deny, ..Permissions::default() };
    let service = service(ExecutorOptions { permissions, ..ExecutorOptions::default() });
    let forbidden = service.describe("math__double", None);
    assert!(matches!(forbidden, Err(server::Error::Forbidden { .. })), "{forbidden:?}");
    assert!(service.describe("off__twice", None).is_ok());
}

/// Sends a request to a server that names `host`, and returns status line and body.
async fn post(to: SocketAddr, (host, path): (&str, &str), body: Value) -> (String, String) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(to).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

async fn served(routes: axum::Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

#[tokio::test]
async fn own_tools_are_served_by_the_routes_in_a_server_of_ones_own() {
    let service = service(ExecutorOptions::default());
    service.start().await;
    // The start has not asked the program for its own tools.
    assert_eq!(service.catalog().len(), 2);
    assert!(service.servers().iter().all(|server| server.status == Status::Ready));

    let shutdown = Shutdown::default();
    let app = http::App::new(Arc::clone(&service), http::HttpOptions::default());
    let page = axum::routing::get(async || "a page of the program");
    let routes = axum::Router::new().route("/own", page);
    let api = served(routes.merge(http::router(&app, &shutdown).unwrap())).await;
    let call = json!({"tool": "math__double", "arguments": {"n": 21}});
    let (status, body) = post(api, ("localhost", "/v1/call"), call.clone()).await;
    assert!(status.contains("200") && body.contains(r#""result":42"#), "{status} {body}");
    let (status, _) = post(api, ("evil.example", "/v1/call"), call).await;
    assert!(status.contains("403"), "{status}");

    let token = Some(Token::new("0123456789abcdef").unwrap());
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"},
    }});
    for (token, expected) in [(None, "200"), (token, "401")] {
        let options = mcp::McpHttpOptions { token, ..mcp::McpHttpOptions::default() };
        let gateway = served(mcp::router(&service, &options).unwrap()).await;
        let mut stream = TcpStream::connect(gateway).await.unwrap();
        let body = hello.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut first = [0; 16];
        stream.read_exact(&mut first).await.unwrap();
        assert!(String::from_utf8_lossy(&first).contains(expected), "{first:?}");
    }
    shutdown.begin();
}

#[tokio::test]
async fn an_own_invoker_is_called_with_the_usual_request() {
    let executor = Executor::new(own_servers(), ExecutorOptions::default());
    let [double_tool, _] = tools();
    let (asked, guard) = ([Candidate::asked(Arc::new(double_tool))], LoopGuard::default());
    let arguments = [("n".to_owned(), json!(4))].into_iter().collect();
    let request = Request { confirmed: true, ..Request::new(&asked, &arguments, &guard) };
    let report = executor.call(&request).await;
    assert!(matches!(report.outcome, Outcome::Answered(_)), "{report:?}");
}
