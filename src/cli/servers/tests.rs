use clap::Parser;

use super::*;

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    live: LiveArgs,
}

fn late(waited: Option<u64>) -> StoredList {
    let because = "no answer".to_owned();
    let failed = Failed { because, is_late: true, waited, ago: Duration::ZERO };
    let path = PathBuf::from("/nonexistent/b.jsonl");
    StoredList { name: "b".to_owned(), path, is_fresh: false, failed: Some(failed) }
}

#[test]
fn a_server_is_left_alone_only_by_commands_that_wait_no_longer() {
    let route = CommandLine::parse_from(["route"]).live;
    let mut call = CommandLine::parse_from(["call"]).live;
    call.called = Some("a".to_owned());
    for (waited, by_route, by_call) in [
        (Some(1), false, false),
        (Some(5), false, true),
        (Some(30), true, true),
        (None, true, true),
    ] {
        let server = late(waited);
        assert_eq!(server.silence(&route).is_some(), by_route, "{waited:?}");
        assert_eq!(server.silence(&call).is_some(), by_call, "{waited:?}");
    }
    // After a short wait, the server is as unknown as before.
    assert_eq!(late(Some(5)).wait(&route), Some(FOR_UNKNOWN));
    let mut old = late(Some(30));
    old.failed.as_mut().unwrap().ago = ASKED_AGAIN;
    assert!(old.silence(&route).is_none());
    assert_eq!(old.wait(&route), Some(FOR_KNOWN));
}
