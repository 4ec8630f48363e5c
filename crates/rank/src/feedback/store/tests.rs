//! Tests what the log on disk stores, rejects and forgets.

use std::fs;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::feedback::{CallAttempt, Choice, LoggedContext, PromptVector, ScoreWeights};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn full(n: i64) -> Execution {
    let context = LoggedContext {
        phase: Some("completion".into()),
        task_type: Some("deployment".into()),
        languages: vec!["rust".into(), "c++".into()],
        complexity: Some(0.5),
        structure: Some("modular".into()),
        testing: Some("no_tests".into()),
    };
    let choice = Choice {
        rank: Some(2),
        score: Some(0.75),
        parts: [("semantic".to_owned(), 0.5)].into(),
        offered: vec!["mail__send".into(), "chat__send".into()],
    };
    Execution {
        at: Some(now_ms() - DAY_MS + n),
        vector: Some(PromptVector {
            model: "m".into(),
            values: vec![0.25, -1.5, f32::MIN_POSITIVE],
        }),
        context,
        choice,
        duration_ms: Some(120),
        error_kind: Some("timeout".into()),
        cost: Some(0.25),
        feedback: Some("too late".into()),
        session: Some("s".into()),
        called: Some(CallAttempt {
            request: "r".into(),
            place: 1,
            tries: 2,
            estimated_ms: Some(100),
            estimated_chars: None,
            chars: Some(4_000),
            truncated: true,
        }),
        ..Execution::new("chat__send".into(), format!("the secret prompt {n}"), n % 2 == 0)
    }
}

fn open(folder: &TempDir, options: StoreOptions) -> ExecutionStore {
    ExecutionStore::open(folder.path().join("log.db"), options).unwrap()
}

fn all(store: &ExecutionStore) -> Vec<Execution> {
    let mut all = Vec::new();
    store.for_each(|execution| all.push(execution)).unwrap();
    all
}

fn keeping_prompts() -> StoreOptions {
    StoreOptions { keep_prompts: true, ..StoreOptions::default() }
}

#[test]
fn an_execution_comes_back_as_it_was_and_prompts_only_where_they_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, keeping_prompts());
    store.insert(&[full(1), full(0)]).unwrap();
    let hashed = |n| Execution { prompt_hash: full(n).hash(), ..full(n) };
    let found = all(&store);
    let times: Vec<_> = found.iter().map(|found| found.at).collect();
    assert!(times[0] < times[1], "by time: {times:?}");
    for (found, wanted) in found.into_iter().zip([hashed(0), hashed(1)]) {
        assert_eq!(Execution { at: None, ..found }, Execution { at: None, ..wanted });
    }
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions { keep_vectors: false, ..StoreOptions::default() };
    let mut store = open(&folder, options);
    store.insert(&[full(0)]).unwrap();
    let found = &all(&store)[0];
    assert_eq!((&found.prompt, &found.vector, found.hash()), (&None, &None, full(0).hash()));
    drop(store);
    assert!(!holds(&folder, "secret"), "no text of a prompt is in any of the files");
}

/// Whether any file of the folder contains a text.
fn holds(folder: &TempDir, text: &str) -> bool {
    let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut texts = files.map(|path| fs::read(path).unwrap());
    texts.any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[test]
fn what_is_forgotten_is_gone_from_disk_too() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, keeping_prompts());
    let mail = |n| Execution { tool: "mail__send".into(), prompt: Some("other".into()), ..full(n) };
    store.insert(&[full(0), full(1), mail(2)]).unwrap();
    assert!(holds(&folder, "secret"));
    let forgotten = store.forget(&ForgetScope::Tool("chat__send".into())).unwrap();
    assert_eq!(forgotten, ForgetReport { executions: 2, scrubbed: true });
    let left = all(&store);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].choice.offered, ["mail__send".into()], "nor was it ever offered");
    assert!(!holds(&folder, "secret") && !holds(&folder, "chat__send"));
    assert_eq!(store.forget(&ForgetScope::Before(left[0].at.unwrap())).unwrap().executions, 0);
    assert_eq!(store.forget(&ForgetScope::Before(left[0].at.unwrap() + 1)).unwrap().executions, 1);
    store.insert(&[full(0)]).unwrap();
    let weights = ScoreWeights::new(1.0, [("a", 0.1)]);
    store.apply_weights(&weights, (10, 0.5, 0.4)).unwrap();
    store.forget(&ForgetScope::All).unwrap();
    assert_eq!((store.count().unwrap(), store.current_weights().unwrap()), (0, None));
}

#[test]
fn no_more_is_kept_than_was_said() {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { rows: 10, days: 3 };
    let mut store = open(&folder, StoreOptions { retention, ..StoreOptions::default() });
    let rows: Vec<_> = (0..15).map(full).collect();
    assert_eq!(store.insert(&rows).unwrap(), InsertReport { added: 15, removed: 5 });
    let kept = all(&store);
    assert_eq!((kept.len(), kept[0].hash()), (10, full(5).hash()), "the oldest went");
    let old = Execution { at: Some(now_ms() - 4 * DAY_MS), ..full(99) };
    assert_eq!(store.insert(&[old]).unwrap(), InsertReport { added: 1, removed: 1 });
    assert!(all(&store).iter().all(|kept| kept.hash() != full(99).hash()));
}

#[test]
fn a_time_to_come_is_now_ms() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let rows = [Execution { at: Some(i64::MAX), ..full(0) }, Execution { at: None, ..full(1) }];
    store.insert(&rows).unwrap();
    assert!(
        all(&store)
            .iter()
            .all(|row| row.at.unwrap() <= now_ms() && row.at.unwrap() > now_ms() - 60_000)
    );
}

#[test]
fn one_bad_execution_keeps_the_others_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let bad = Execution { cost: Some(f64::NAN), ..full(1) };
    assert!(matches!(
        store.insert(&[full(0), bad]),
        Err(StoreError::Invalid { field: "cost", .. })
    ));
    assert_eq!(store.count().unwrap(), 0);
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "my notes, which are longer than a header").unwrap();
    let foreign = folder.path().join("browser.db");
    let other = Connection::open(&foreign).unwrap();
    other
        .execute_batch("CREATE TABLE history (url TEXT); INSERT INTO history VALUES ('x')")
        .unwrap();
    drop(other);
    let marked = folder.path().join("marked.db");
    Connection::open(&marked).unwrap().pragma_update(None, "application_id", 7).unwrap();
    for path in [text, foreign, marked] {
        let before = fs::read(&path).unwrap();
        let Err(error) = ExecutionStore::open(&path, StoreOptions::default()) else { panic!() };
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("left as it is"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before, "{}", path.display());
    }
    let of_folder = ExecutionStore::open(folder.path(), StoreOptions::default()).err().unwrap();
    assert!(matches!(of_folder, StoreError::Io { .. }), "{of_folder}");
}

#[test]
fn damage_is_told_and_not_mended_by_overwriting() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, keeping_prompts());
    store.insert(&(0..500).map(full).collect::<Vec<_>>()).unwrap();
    let path = store.path().to_owned();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    bytes[8_192..60_000].fill(0xA5);
    fs::write(&path, &bytes).unwrap();
    let read = ExecutionStore::open(&path, StoreOptions::default())
        .and_then(|store| store.for_each(|_| {}));
    let error = read.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
    // A log from which a column was removed.
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, StoreOptions::default());
    store.connection.execute_batch("ALTER TABLE executions DROP COLUMN feedback").unwrap();
    assert!(matches!(store.for_each(|_| {}), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_log_of_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, StoreOptions::default());
    for version in [3, 99] {
        store.connection.pragma_update(None, "user_version", version).unwrap();
        let path = folder.path().join("log.db");
        let error = ExecutionStore::open(&path, StoreOptions::default()).err().unwrap();
        let StoreError::Version { found, expected: 4, .. } = error else { panic!("{error}") };
        assert_eq!(found, version);
    }
}

/// Retries while the log is busy, because the disk of the machine may be slow.
fn patiently<T>(mut work: impl FnMut() -> Result<T, StoreError>) -> T {
    loop {
        match work() {
            Err(StoreError::Busy { .. }) => {}
            done => return done.unwrap(),
        }
    }
}

#[test]
fn several_may_open_and_write_one_log_at_once() {
    // Each folder is new, because a file that was being created was once rejected as that of
    // another program.
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    let path = folder.path().join("log.db");
                    let open = || ExecutionStore::open(&path, StoreOptions::default());
                    let mut store = patiently(open);
                    for n in 0..5 {
                        patiently(|| store.insert(&[full(thread * 5 + n)]));
                    }
                });
            }
        });
        assert_eq!(open(&folder, StoreOptions::default()).count().unwrap(), 20);
    }
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_a_log() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    store.insert(&[full(0)]).unwrap();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let mode = entry.as_ref().unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?}", entry.unwrap().path());
    }
}

#[test]
fn weights_are_taken_back_one_by_one_to_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let weights = |a: f64| ScoreWeights::new(a, [("b", 0.1)]);
    assert!(matches!(store.revert_weights(), Err(StoreError::NothingToRevert)));
    store.apply_weights(&weights(0.6), (10, 0.5, 0.4)).unwrap();
    store.apply_weights(&weights(0.7), (20, 0.4, 0.3)).unwrap();
    assert_eq!(store.revert_weights().unwrap(), Some(weights(0.6)));
    assert_eq!(store.current_weights().unwrap(), Some(weights(0.6)));
    store.apply_weights(&weights(0.8), (30, 0.4, 0.2)).unwrap();
    assert_eq!(store.revert_weights().unwrap(), Some(weights(0.6)), "past what was taken back");
    assert_eq!(store.revert_weights().unwrap(), None);
    assert_eq!(store.current_weights().unwrap(), None);
    assert!(matches!(store.revert_weights(), Err(StoreError::NothingToRevert)));
    let actions: Vec<_> = store.weight_history().unwrap().into_iter().map(|r| r.action).collect();
    assert_eq!(actions, ["apply", "apply", "revert", "apply", "revert", "revert"]);
}

#[test]
fn dates_are_read_in_utc() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, StoreOptions::default());
    assert_eq!(store.date("2026-01-31").unwrap(), 1_769_817_600_000);
    assert_eq!(store.date("2026-01-31 14:05").unwrap(), 1_769_868_300_000);
    assert_eq!(store.time(1_769_868_300_000).unwrap(), "2026-01-31 14:05");
    for bad in ["", "now", "2026", "2026-02-31", "31.1.2026", "2460000", "2026-01-31 nonsense"] {
        assert!(matches!(store.date(bad), Err(StoreError::BadDate { .. })), "{bad}");
    }
}

#[test]
fn past_prompts_are_those_that_were_served() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let run = |prompt: &str, tool: &str, success| {
        let session = None;
        Execution { tool: tool.into(), prompt: Some(prompt.into()), success, session, ..full(0) }
    };
    let other = |run: Execution| {
        let values = vec![1.0];
        Execution { vector: Some(PromptVector { model: "other".into(), values }), ..run }
    };
    store
        .insert(&[
            run("served", "a", true),
            run("served", "a", true),
            run("served", "a", false),
            run("served", "b", true),
            run("wrong", "a", true),
            run("wrong", "a", false),
            other(run("elsewhere", "a", true)),
        ])
        .unwrap();
    let past = store.logged_prompts("m").unwrap();
    assert_eq!((past.queries.len(), past.unusable), (1, 1));
    let served = &past.queries[0];
    assert_eq!(served.hash, run("served", "a", true).hash().unwrap());
    assert_eq!(served.served, [("a".into(), 1.0 / 3.0), ("b".into(), 1.0)]);
    assert_eq!(served.vector.as_ref().unwrap().len(), 3);
    let lies: Vec<_> = (0..100)
        .map(|n| Execution { session: Some("x".into()), ..run(&format!("lie {n}"), "c", true) })
        .collect();
    store.insert(&lies).unwrap();
    let past = store.logged_prompts("m").unwrap();
    let of_c = past.queries.iter().filter(|query| query.served[0].0.as_str() == "c").count();
    assert_eq!(of_c, 20, "a session is believed so often");
}

#[test]
fn a_clock_that_jumps_ahead_for_some_commands_erases_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let rows: Vec<Execution> = (0..40).map(full).collect();
    store.insert(&rows).unwrap();
    let (options, ahead) = (StoreOptions::default(), now_ms() + 50 * 365 * DAY_MS);
    let mut insert_at = |at: i64| {
        let one = Execution { at: Some(at), ..full(0) };
        insert_at(&mut store.connection, &[one], &options, at).unwrap().removed
    };
    assert_eq!([insert_at(ahead), insert_at(ahead + 1), insert_at(now_ms())], [0, 0, 0]);
    // A pause of 200 days is plausible. A time far ahead is accepted once enough executions confirm
    // it.
    assert_eq!(insert_at(now_ms() + 200 * DAY_MS), 41);
    let mut insert_more = |from: i64| (from..from + 10).map(|n| insert_at(ahead + n)).sum::<u64>();
    assert_eq!([insert_more(10), insert_more(20)], [0, 1]);
}

#[test]
fn no_row_that_was_changed_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, keeping_prompts());
    store.insert(&[full(0), full(1)]).unwrap();
    store.forget(&ForgetScope::Tool("mail__send".into())).unwrap();
    assert_eq!(all(&store).len(), 2, "what is offered is sealed again");
    let columns = store.connection.prepare("SELECT * FROM executions").unwrap();
    let columns: Vec<String> = columns.column_names().map(str::to_owned).collect();
    assert_eq!(columns.len(), 32);
    for column in columns.iter().filter(|column| *column != "id") {
        let change = |sql: &str| {
            let set = format!("UPDATE executions SET {column} = {sql} WHERE id = 1");
            store.connection.execute_batch(&set).unwrap();
        };
        let kept = format!(
            "CREATE TEMP TABLE kept AS SELECT {column} AS value FROM executions WHERE id = 1"
        );
        store.connection.execute_batch(&kept).unwrap();
        let blob = ["prompt_hash", "vector"].contains(&column.as_str());
        change(match column.as_str() {
            _ if blob => "randomblob(length(prompt_hash))",
            "success" | "truncated" => "0",
            "complexity" | "score" | "cost" => "0.125",
            "at" | "rank" | "duration_ms" | "place" | "tries" | "estimated_ms" | "chars" => "7",
            "estimated_chars" | "facts_sum" | "rest_sum" => "9",
            _ => "'[]'",
        });
        let read = store.for_each(drop);
        assert!(matches!(read, Err(StoreError::Damaged { .. })), "{column}: {read:?}");
        let long = ["prompt", "model", "vector", "feedback", "rest_sum"];
        assert_eq!(store.facts().is_ok(), long.contains(&column.as_str()), "{column}");
        change("(SELECT value FROM kept)");
        store.connection.execute_batch("DROP TABLE kept").unwrap();
        assert_eq!(all(&store).len(), 2, "{column}");
    }
}

#[test]
fn invented_sessions_teach_no_more_than_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(&folder, StoreOptions::default());
    let run = |session: String, n: u32| Execution {
        tool: "c".into(),
        prompt: Some(format!("{n} in {session}")),
        success: true,
        at: Some(now_ms() - DAY_MS),
        session: Some(session),
        ..full(0)
    };
    let names = (0..25).map(|name| format!("s{name}"));
    let lies: Vec<_> = names.flat_map(|name| (0..20).map(move |n| run(name.clone(), n))).collect();
    store.insert(&lies).unwrap();
    assert_eq!(store.logged_prompts("m").unwrap().queries.len(), 20);
    // Reports without a session are counted by client, separately from those of named sessions.
    let own: Vec<_> =
        (0..30).map(|n| run(crate::feedback::client_session("10.0.0.1"), n)).collect();
    store.insert(&own).unwrap();
    assert_eq!(store.logged_prompts("m").unwrap().queries.len(), 40);
}
