use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::execution::{
    Arguments, Attempt, Call, Candidate, Ending, Fault, FaultKind, Invoker, Origin, Outcome,
    Pending, Progress, Retries, Skip,
};

type Script = Box<dyn Fn(&str) -> Result<Output, Fault> + Send + Sync>;

/// Answers by a script, and records the called tools and the keys of the calls.
struct Scripted {
    script: Script,
    calls: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<Option<String>>>>,
    delay: Duration,
}

impl Invoker for Scripted {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            self.calls.lock().unwrap().push(call.tool.name.clone());
            self.keys.lock().unwrap().push(call.key.map(str::to_owned));
            (self.script)(&call.tool.name)
        })
    }
}

struct Setup {
    executor: Executor,
    calls: Arc<Mutex<Vec<String>>>,
    keys: Arc<Mutex<Vec<Option<String>>>>,
}

fn setup(script: impl Fn(&str) -> Result<Output, Fault> + Send + Sync + 'static) -> Setup {
    setup_with(Box::new(script), Duration::ZERO, |_| {})
}

/// The tool `a` gives this answer, and all others a text.
fn setup_of_a(answer: Result<Output, Fault>, others: &'static str) -> Setup {
    setup(move |name| if name == "a" { answer.clone() } else { Ok(Output::text(others)) })
}

fn setup_with(script: Script, delay: Duration, change: impl FnOnce(&mut ExecutorOptions)) -> Setup {
    let (calls, keys) = (Arc::default(), Arc::default());
    let scripted = Scripted { script, calls: Arc::clone(&calls), keys: Arc::clone(&keys), delay };
    let servers = Servers::new().with("s", scripted);
    let mut options = ExecutorOptions::default();
    options.timing.retries =
        Retries { first_pause: Duration::from_millis(1), ..Retries::default() };
    change(&mut options);
    Setup { executor: Executor::new(servers, options), calls, keys }
}

fn tool(name: &str, reads: bool) -> Candidate {
    let mut tool = Tool::new(Some("s"), name, "");
    tool.hints.read_only = Some(reads);
    let origin = if name == "a" { Origin::Asked } else { Origin::Declared };
    Candidate { origin, ..Candidate::asked(Arc::new(tool)) }
}

fn call(setup: &Setup, candidates: &[Candidate]) -> Report {
    call_with(setup, candidates, (json!({}), None), &|_| {})
}

fn call_with(
    setup: &Setup,
    candidates: &[Candidate],
    (arguments, key): (Value, Option<&str>),
    on_event: &(dyn Fn(Event) + Send + Sync),
) -> Report {
    let arguments: Arguments = arguments.as_object().unwrap().clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let request = Request {
        candidates,
        arguments: &arguments,
        guard: &LoopGuard::default(),
        confirmed: false,
        question: "",
        budget_tokens: None,
        user: None,
        on_event,
    };
    runtime.block_on(setup.executor.call_with_key(&request, key))
}

fn broken(reached: bool) -> Fault {
    Fault { reached, ..Fault::before(FaultKind::Broken, "SECRET-RAW at line 1") }
}

#[test]
fn a_read_that_fails_is_tried_again_and_then_elsewhere() {
    let setup = setup_of_a(Err(broken(true)), "found");
    let report = call(&setup, &[tool("a", true), tool("b", true)]);
    let Outcome::Answered(answer) = &report.outcome else { panic!("{report:?}") };
    assert_eq!((answer.tool.as_str(), &*answer.output.text), ("s__b", "found"));
    assert_eq!(*setup.calls.lock().unwrap(), ["a", "a", "b"]);
    assert_eq!((report.attempts[0].tries, report.attempts[0].error_ids.len()), (2, 2));
}

#[test]
fn a_write_that_may_have_happened_is_never_sent_again() {
    let setup = setup(|_| Err(broken(true)));
    let events = Mutex::new(Vec::new());
    let record = |event: Event| events.lock().unwrap().push(event);
    let candidates = [tool("a", false), tool("b", false)];
    let report = call_with(&setup, &candidates, (json!({}), None), &record);
    assert_eq!(*setup.calls.lock().unwrap(), ["a"]);
    assert_eq!(report.attempts[1].ending, Ending::Skipped { because: Skip::WriteElsewhere });
    assert!(events.lock().unwrap().is_empty(), "nothing else is tried: {events:?}");
    let message = report.outcome.message().unwrap();
    assert!(message.contains("before you try again") && !message.contains("SECRET"), "{message}");
}

#[test]
fn an_invoker_that_panics_fails_and_may_have_written() {
    let setup = setup(|name| panic!("SECRET-RAW of {name}"));
    let report = call(&setup, &[tool("a", false), tool("b", false)]);
    assert_eq!(*setup.calls.lock().unwrap(), ["a"]);
    assert_eq!(report.attempts[0].ending, Ending::Failed { fault: FaultKind::Broken });
    assert!(report.reached());
    let message = report.outcome.message().unwrap();
    assert!(message.contains("before you try again") && !message.contains("SECRET"), "{message}");
}

#[test]
fn a_write_marked_safe_or_never_sent_goes_on() {
    let setup_sent = setup_of_a(Err(broken(true)), "ok");
    let safe = Candidate { safe_after_write: true, ..tool("b", false) };
    assert!(matches!(call(&setup_sent, &[tool("a", false), safe]).outcome, Outcome::Answered(_)));
    let unsent = setup_of_a(Err(broken(false)), "ok");
    let report = call(&unsent, &[tool("a", false), tool("b", false)]);
    assert!(matches!(report.outcome, Outcome::Answered(_)), "{report:?}");
}

#[test]
fn what_was_only_guessed_to_do_the_same_is_not_asked_after_an_answer() {
    let guess = || Candidate { origin: Origin::ByMeaning, ..tool("b", true) };
    let failed = Output { is_error: true, ..Output::text("no customer with id 4711") };
    for answer in [failed, Output::text("")] {
        let setup = setup_of_a(Ok(answer), "another record");
        let report = call(&setup, &[tool("a", true), guess()]);
        assert_eq!(*setup.calls.lock().unwrap(), ["a"], "{report:?}");
        let told = format!("{:?}", report.outcome);
        assert!(!told.contains("another record"), "{told}");
    }
    let setup = setup_of_a(Err(broken(false)), "found");
    let report = call(&setup, &[tool("a", true), guess()]);
    assert!(matches!(report.outcome, Outcome::Answered(_)), "{report:?}");
}

#[test]
fn nothing_found_is_an_answer_where_no_other_has_more() {
    let setup_one = setup_of_a(Ok(Output::text("[]")), "more");
    let report = call(&setup_one, &[tool("a", true), tool("b", true)]);
    assert_eq!(report.attempts[0].ending, Ending::Empty);
    let Outcome::Answered(answer) = report.outcome else { panic!() };
    assert_eq!(answer.output.text, "more");
    let none = setup(|_| Ok(Output::text("[]")));
    let Outcome::Answered(answer) = call(&none, &[tool("a", true), tool("b", true)]).outcome else {
        panic!()
    };
    assert_eq!((answer.tool.as_str(), &*answer.output.text), ("s__a", "[]"));
}

#[test]
fn a_timeout_goes_elsewhere_and_opens_the_breaker_in_the_end() {
    let setup =
        setup_with(Box::new(|_| Ok(Output::text("late"))), Duration::from_secs(5), |options| {
            options.timing.default_timeout = Duration::from_millis(200);
            options.timing.feedback_delay = Duration::from_millis(5);
        });
    let told = Mutex::new(Vec::new());
    for turn in 0..4 {
        let report =
            call_with(&setup, &[tool("a", true)], (json!({ "turn": turn }), None), &|event| {
                told.lock().unwrap().push(event);
            });
        let expected = match turn {
            0..3 => {
                matches!(report.attempts[0].ending, Ending::Failed { fault: FaultKind::Timeout })
            }
            _ => matches!(
                report.attempts[0].ending,
                Ending::Skipped { because: Skip::BreakerOpen { .. } }
            ),
        };
        assert!(expected, "{turn}: {report:?}");
    }
    assert!(
        matches!(&told.lock().unwrap()[0], Event::Working { said, .. } if said == "Working with s__a…")
    );
    assert_eq!(setup.executor.breakers().len(), 2);
}

/// Reports progress at once, and answers later.
struct Reporting;

impl Invoker for Reporting {
    fn invoke<'a>(&'a self, call: Call<'a>) -> Pending<'a, Result<Output, Fault>> {
        Box::pin(async move {
            (call.on_progress)(Progress { done: 1.0, total: None, message: None });
            tokio::time::sleep(Duration::from_millis(100)).await;
            Ok(Output::text("done"))
        })
    }
}

#[test]
fn a_tool_that_reports_its_progress_is_not_said_to_work() {
    let mut options = ExecutorOptions::default();
    options.timing.feedback_delay = Duration::from_millis(5);
    let mut setup = setup(|_| Ok(Output::text("done")));
    setup.executor = Executor::new(Servers::new().with("s", Reporting), options);
    let told = Mutex::new(Vec::new());
    let note = |event| told.lock().unwrap().push(event);
    call_with(&setup, &[tool("a", true)], (json!({}), None), &note);
    let told = told.into_inner().unwrap();
    assert!(matches!(&told[..], [Event::Progress { .. }]), "{told:?}");
}

#[test]
fn what_is_missing_or_needs_a_yes_is_asked_before_anything_is_called() {
    let setup = setup(|_| Ok(Output::text("done")));
    let mut needs = Tool::new(Some("s"), "a", "");
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    needs.input_schema =
        Some(toolroute_catalog::Schema::new(serde_json::value::to_raw_value(&schema).unwrap()));
    let asked = call(&setup, &[Candidate::asked(Arc::new(needs))]);
    assert!(
        matches!(&asked.outcome, Outcome::Clarify { message, .. } if message.contains("`city` is needed"))
    );
    let destroys = Candidate::asked(Arc::new(Tool::new(Some("s"), "delete_all", "")));
    assert!(matches!(call(&setup, &[destroys]).outcome, Outcome::Confirm { .. }));
    // Nobody is asked about a call that cannot be made.
    let absent = Candidate::asked(Arc::new(Tool::new(Some("absent"), "delete_all", "")));
    let report = call(&setup, &[absent]);
    assert_eq!(report.attempts[0].ending, Ending::Skipped { because: Skip::NoServer });
    assert!(matches!(report.outcome, Outcome::Failed { .. }), "{report:?}");
    assert!(setup.calls.lock().unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_cascade_ends_and_writes_once(
        faults in prop::collection::vec(0u8..8, 1..6),
        reads in any::<bool>(),
    ) {
        let reached: Arc<AtomicUsize> = Arc::default();
        let (script, counted) = (faults.clone(), Arc::clone(&reached));
        let setup = setup(move |name| {
            let fault = script[usize::from(name.as_bytes()[0] - b'a')];
            if fault != 2 && fault != 5 {
                counted.fetch_add(1, Ordering::SeqCst);
            }
            match fault {
                0 => Ok(Output::text("ok")),
                1 => Err(broken(true)),
                2 => Err(broken(false)),
                3 => Ok(Output { is_error: true, ..Output::text("no") }),
                4 => Ok(Output::default()),
                5 => Err(Fault::before(FaultKind::Unreachable, "")),
                6 => Err(Fault::after(FaultKind::Refused, "")),
                _ => Err(Fault::after(FaultKind::Busy, "")),
            }
        });
        let names = ["a", "b", "c", "d", "e"];
        let candidates: Vec<Candidate> = names.iter().take(faults.len()).map(|name| tool(name, reads)).collect();
        let report = call(&setup, &candidates);
        prop_assert!(report.attempts.len() <= candidates.len());
        prop_assert!(report.attempts.iter().all(|attempt: &Attempt| attempt.tries <= 3));
        if !reads {
            prop_assert!(reached.load(Ordering::SeqCst) <= 1, "{report:?}");
        }
        let said = report.outcome.message().unwrap_or_default().contains("SECRET");
        prop_assert!(!said);
        prop_assert!(setup.calls.lock().unwrap().len() <= 3 * candidates.len());
    }
}

#[test]
fn a_tool_that_declares_its_most_is_cut_there_and_a_key_reaches_it() {
    let setup = setup(|_| Ok(Output::text("A sentence. ".repeat(500))));
    let mut tool = Tool::new(Some("s"), "a", "");
    tool.routing.call_hints.max_tokens = Some(100);
    tool.routing.call_hints.typical_tokens = Some(50);
    assert_eq!(setup.executor.estimate(&tool).chars, 200);
    let candidate = Candidate::asked(Arc::new(tool));
    let report = call_with(&setup, &[candidate], (json!({}), Some("k1")), &|_| {});
    let Outcome::Answered(answer) = &report.outcome else { panic!("{report:?}") };
    assert!(answer.output.text.chars().count() <= 400, "{}", answer.output.text);
    assert_eq!(*setup.keys.lock().unwrap(), [Some("k1".to_owned())]);
    assert!(report.reached());
}

#[test]
fn words_are_cleaned_and_pictures_are_not() {
    let mut redactor = Redactor::default();
    redactor.hide(["aGVsbG8xMjM".to_owned()]);
    let mut block = json!({"type": "image", "data": "aGVsbG8xMjM", "note": ["aGVsbG8xMjM"]});
    map_texts(&mut block, &BYTES, &mut |text| *text = redactor.clean(text));
    assert_eq!(block, json!({"type": "image", "data": "aGVsbG8xMjM", "note": ["[secret]"]}));
    map_texts(&mut block, &[], &mut |text| *text = redactor.clean(text));
    assert_eq!(block["data"], "[secret]");
}
