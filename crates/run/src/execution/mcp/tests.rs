use super::*;

fn program(args: &[&str]) -> Program {
    let args = args.iter().map(|&arg| arg.to_owned()).collect();
    Program { command: "/bin/sh".into(), args, env: [].into(), cwd: None }
}

#[test]
fn a_server_that_is_still_starting_is_closed_at_once() {
    let options = McpOptions { start_timeout: Duration::from_secs(3_600), ..McpOptions::default() };
    let silent = program(&["-c", "sleep 3600"]);
    let server = McpServer::stdio("silent", silent, options);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let starting = tokio::spawn({
            let server = server.clone();
            async move { server.prepare().await }
        });
        while server.shared.state.try_lock().is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.close().await;
        let fault = starting.await.unwrap().unwrap_err();
        assert_eq!(fault.detail, "it is being closed");
        assert!(server.prepare().await.is_err(), "closed for good");
    });
}

#[tokio::test]
async fn a_server_with_one_call_at_a_time_ends_only_after_the_calls_of_others() {
    let script = tempfile::NamedTempFile::new().unwrap();
    let tools = r#"[{"name": "slow", "does": {"sleep": 1.5}}, {"name": "save", "does": {"answer": "saved"}}]"#;
    std::fs::write(script.path(), tools).unwrap();
    let scripted = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/servers/scripted.py");
    let script = script.path().to_str().unwrap();
    let program = program(&["-c", "exec python3 \"$0\" one \"$1\"", scripted, script]);
    let options = McpOptions { check_timeout: Duration::from_millis(100), ..McpOptions::default() };
    let server = McpServer::stdio("one", program, options);
    let tools = ["slow", "save"].map(|name| Tool::new(Some("one"), name, ""));
    let none = serde_json::Map::new();
    let call = |tool| Call { tool, arguments: &none, key: None, on_progress: &|_| {}, user: None };
    server.prepare().await.unwrap();
    let first = server.shared.connection().await.unwrap();
    let abandoned = server.invoke(call(&tools[0]));
    assert!(tokio::time::timeout(Duration::from_millis(50), abandoned).await.is_err());
    let saved = server.invoke(call(&tools[1])).await.unwrap();
    assert_eq!(saved.text, "saved");
    while first.is_open() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.close().await;
}

#[tokio::test]
async fn a_start_that_fails_after_the_pause_is_not_told_as_a_flood() {
    let gone = Program { command: "/nonexistent/server".into(), ..program(&[]) };
    let server = McpServer::stdio("gone", gone, McpOptions::default());
    {
        let mut state = server.shared.state.lock().await;
        pause_after_drop(&mut state, "it sent too much");
    }
    let flooding = server.prepare().await.unwrap_err();
    assert_eq!(flooding.kind, FaultKind::Flooding);
    server.shared.state.lock().await.not_before = None;
    for start in 0..=FREE_STARTS + 1 {
        let fault = server.prepare().await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unreachable, "{start}: {}", fault.detail);
    }
    assert!(server.shared.state.lock().await.not_before.is_some(), "it waits by now");
    let waiting = server.prepare().await.unwrap_err();
    assert!(waiting.detail.contains("next start"), "{}", waiting.detail);
    let told = waiting.public_message();
    assert!(told.contains("/nonexistent/server"), "it still says why: {told}");
}
