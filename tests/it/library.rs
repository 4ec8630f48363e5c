//! What a program that embeds the crate sees: errors instead of panics, the same checks at every
//! door, and values that can be printed.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolroute::catalog::LoadOptions;
use toolroute::conductor::Ledger;
use toolroute::embedding::{self, Embedded, ModelIdentity, Role};
use toolroute::engine::parts::{Fusion, IndexKind};
use toolroute::engine::{PastPrompt, UsageVectors};
use toolroute::execution::{
    Blocking, Candidate, Closures, Executor, ExecutorOptions, Order, Output, Servers, ServersFile,
};
use toolroute::server::http::HttpOptions;
use toolroute::server::{Assembly, Token, Upstreams};
use toolroute::{
    BertEmbedder, Catalog, Context, Embedder, Engine, EngineConfig, SelectRequest, Tool, engine,
};

use crate::support::{Sandbox, samples};

/// An embedder of a program: each text gets the same row.
struct Own {
    identity: ModelIdentity,
    row: Result<Vec<f32>, &'static str>,
}

impl Own {
    fn new(row: Result<Vec<f32>, &'static str>) -> Arc<Self> {
        let (name, fingerprint) = ("own".to_owned(), "1".to_owned());
        Arc::new(Self { identity: ModelIdentity { name, fingerprint, dimension: 2 }, row })
    }
}

impl Embedder for Own {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn embed(&self, texts: &[&str], _: Role) -> Result<Embedded, embedding::Error> {
        let row = self.row.clone().map_err(embedding::Error::other)?;
        Embedded::from_rows(&vec![row; texts.len()])
    }
}

fn catalog() -> Catalog {
    let tools = [("read_file", "Reads a file"), ("send_mail", "Sends a mail to a person")];
    let tools = tools.map(|(name, text)| Tool::new(Some("s"), name, text));
    Catalog::from_tools(tools.to_vec()).catalog
}

#[test]
fn vectors_of_an_own_embedder_are_checked_and_its_errors_are_passed_on() {
    let build = |row| Engine::builder(catalog()).embedder(Own::new(row)).build();
    assert!(build(Ok(vec![0.6, 0.8])).unwrap().select(&SelectRequest::new("read")).is_ok());
    for (row, expected) in [
        (Ok(vec![1.0, 0.0, 0.0]), "gave 2 vectors of 3 numbers for 2 texts; expected"),
        (Ok(vec![14.0, 0.0]), "length 14 for text 0 of the batch; expected length 1: divide"),
        (Ok(vec![0.0, 0.0]), "length 0 for text 0"),
        (Ok(vec![f32::NAN, 0.0]), "length NaN for text 0"),
        (Err("the quota is used up"), "the embedder failed: the quota is used up"),
    ] {
        let said = build(row).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let unequal = Embedded::from_rows(&[vec![1.0], vec![0.6, 0.8]]).unwrap_err().to_string();
    assert_eq!(unequal, "row 1 has 2 numbers, expected 1 as in the first row");
}

#[test]
fn a_selection_refuses_what_an_analysis_refuses() {
    let engine = Engine::builder(catalog()).build().unwrap();
    let none = Context::default;
    let cases = [
        ("read", Context { max_tools: Some(0), ..none() }, "0 tools at most"),
        (
            "read",
            Context { planned_tools: vec!["x".into(); 1_001], ..none() },
            "1001 planned tools",
        ),
        ("read", Context { prompt: Some("send".into()), ..none() }, "two prompts"),
        ("read", none().file("a", "").file("a", ""), "a twice"),
        (" ?", none(), "the prompt is empty"),
    ];
    for (prompt, context, expected) in cases {
        let request = SelectRequest::new(prompt).context(context.clone());
        let many = engine.select_many(&[SelectRequest::new("read"), request.clone()]);
        assert!(many[0].is_ok());
        let said = engine.select(&request).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert_eq!(many[1].as_ref().unwrap_err().to_string(), said);
        assert_eq!(engine.analyze(prompt, &context).unwrap_err().to_string(), said);
    }
    assert!(matches!(engine.select(&SelectRequest::new("")), Err(engine::Error::EmptyPrompt)));
    // Of a long prompt the ends are read, also where the context has it, too.
    let long = format!("read {}", "x ".repeat(2 << 20));
    let both = Context { prompt: Some(long.clone()), ..none() };
    let ends = engine.select(&SelectRequest::new(long.clone()).context(both)).unwrap();
    assert!(ends.left_out[0].words > 1_000_000, "{:?}", ends.left_out);
    let refused = engine.analyze(&long, &none()).unwrap_err().to_string();
    assert!(refused.contains("at most 1048576"), "{refused}");
}

fn blocking(closures: Closures) -> Blocking {
    let servers = Servers::new().with("s", closures);
    Blocking::with_threads(Arc::new(Executor::new(servers, ExecutorOptions::default()))).unwrap()
}

#[test]
fn a_closure_that_panics_answers_with_an_error() {
    let (plain, later) = (Tool::new(Some("s"), "plain", ""), Tool::new(Some("s"), "later", ""));
    let early = Tool::new(Some("s"), "early", "");
    let fails = |given: Map<String, Value>| -> Result<Value, String> { panic!("boom {given:?}") };
    let closures = Closures::new()
        .with(plain.clone(), fails)
        .with_async(later.clone(), |_| async {
            tokio::task::yield_now().await;
            panic!("boom")
        })
        .with_async(early.clone(), |given| {
            assert!(!given.is_empty(), "boom");
            std::future::ready(Ok(Output::text("never")))
        });
    assert_eq!(format!("{closures:?}"), r#"["plain", "later", "early"]"#);
    let calls = blocking(closures);
    for tool in [plain, later, early] {
        let candidates = vec![Candidate::asked(Arc::new(tool))];
        let report = calls.call(Order { candidates, ..Order::default() }).unwrap();
        let said = serde_json::to_string(&report).unwrap();
        assert!(said.contains("the tool's function panicked: boom"), "{said}");
        assert!(!said.contains("task "), "{said}");
    }
}

#[test]
fn a_blocking_executor_may_be_dropped_inside_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { drop(blocking(Closures::new())) });
}

#[test]
fn requests_and_past_prompts_are_read_from_json() {
    let request = SelectRequest::new("read").limit(3).context(Context::default().file("a", "b"));
    let json = serde_json::to_string(&request).unwrap();
    assert_eq!(serde_json::from_str::<SelectRequest>(&json).unwrap(), request);
    let short: SelectRequest = serde_json::from_str(r#"{"prompt": "read", "limit": 3}"#).unwrap();
    assert_eq!(short, SelectRequest::new("read").limit(3));
    assert!(serde_json::from_str::<SelectRequest>(r#"{"promt": "read"}"#).is_err());
    let row = r#"{"query": "read", "tools": ["s__read_file"], "id": 3}"#;
    let past: PastPrompt = serde_json::from_str(row).unwrap();
    assert_eq!(serde_json::to_value(&past).unwrap()["prompt"], "read");
}

#[test]
fn values_are_printed_shortly_and_without_secrets() {
    let file = json!({"mcpServers": {
        "local": {"command": "server", "args": ["--key", "s3cret-key"], "env": {"KEY": "s3cret-key"}},
        "remote": {"url": "https://u:s3cret-key@h.example/?k=s3cret-key",
            "headers": {"Authorization": "s3cret-key"}},
    }});
    let file = ServersFile::parse(&file.to_string(), &|_| None).unwrap();
    let token = Some(Token::new("s3cret-key-of-a-client").unwrap());
    let model: Arc<dyn Embedder> = Arc::new(BertEmbedder::built_in().unwrap());
    let assembly = Assembly {
        catalog: catalog(),
        model: Some(Arc::clone(&model)),
        servers: Some(Upstreams::new(file.clone())),
        ..Assembly::default()
    };
    let engine = Engine::builder(catalog()).embedder(model).build().unwrap();
    let calls = blocking(Closures::new().with(Tool::new(Some("s"), "read", ""), |_| Ok(json!(1))));
    let printed = [
        format!("{file:?}"),
        format!("{assembly:?}"),
        format!("{engine:?}"),
        format!("{calls:?}"),
        format!("{:?}", HttpOptions { token, ..HttpOptions::default() }),
        format!("{:?}", BertEmbedder::built_in().unwrap()),
    ];
    for printed in printed {
        assert!(!printed.contains("s3cret"), "{printed}");
        assert!(printed.len() < 1_500, "{printed}");
    }
    let served = format!("{:?}", assembly.engine().unwrap());
    assert!(served.contains("tools: 2, version: 0, model: Some("), "{served}");
}

#[test]
fn what_the_library_says_is_for_every_caller() {
    let engine = Engine::builder(catalog()).build().unwrap();
    let run = engine::Execution::new("s__read_file".into(), "read", true);
    let said = [
        engine.record(run).unwrap_err().to_string(),
        engine.empty_usage().unwrap_err().to_string(),
        UsageVectors::load("/no/such/usage").unwrap_err().to_string(),
        Ledger::open_read_only("/no/such/ledger").map(drop).unwrap_err().to_string(),
    ];
    for said in said {
        let is_of_the_command_line =
            ["--", "`toolroute", "strategy"].map(|word| said.contains(word));
        assert_eq!(is_of_the_command_line, [false; 3], "{said}");
    }
}

#[test]
fn paths_are_of_any_kind_and_the_configuration_is_set_in_code() {
    let sandbox = Sandbox::new();
    let options = LoadOptions::default();
    let loaded = Catalog::load(&[samples()], &options).unwrap();
    assert_eq!(
        loaded.catalog.len(),
        Catalog::load(&[Path::new(&samples())], &options).unwrap().catalog.len()
    );
    let config =
        EngineConfig { fusion: Fusion::Plain, index: IndexKind::Exact, ..EngineConfig::default() };
    let (snapshot, log) = (sandbox.path("s"), sandbox.path("log.db"));
    let builder = Engine::builder(loaded.catalog).config(config).snapshot(&snapshot);
    let engine = builder.feedback(log.to_str().unwrap(), Default::default()).build().unwrap();
    assert!(log.exists() && engine.select(&SelectRequest::new("rain")).is_ok());
    assert_eq!(engine.change(Vec::new()).unwrap().version, 0, "nothing has changed");
    // A missing folder is a mistyped one, here as on the command line.
    let lost = sandbox.path("typo/log.db");
    let built = Engine::builder(catalog()).feedback(&lost, Default::default()).build();
    let said = built.unwrap_err().to_string();
    assert!(said.contains("there is no folder") && said.contains("make it"), "{said}");
    assert!(!sandbox.path("typo").exists());
}
