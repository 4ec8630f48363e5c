//! Tests of the state machine with any tools, any outcomes, and processes that are killed anywhere.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Mutex;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use toolroute_catalog::{Catalog, Reliability, Tool};
use toolroute_rank::engine::Engine;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    Right,
    Wrong,
    Refuses,
    Breaks,
}

#[derive(Clone, Debug)]
struct Plan {
    kind: usize,
    behaviour: Behaviour,
    read_only: bool,
    idempotent: bool,
    needs_more: bool,
    reliability: usize,
}

impl Plan {
    fn tool(&self, number: usize) -> Tool {
        let mut tool = Tool::new(None, &format!("tool{number}"), "Answers a question");
        tool.satisfies = vec![format!("query.k{}", self.kind)];
        tool.hints.read_only = Some(self.read_only);
        tool.hints.idempotent = Some(self.idempotent);
        let tiers = [Reliability::Low, Reliability::Medium, Reliability::High];
        tool.reliability = Some(tiers[self.reliability]);
        tool.postconditions = vec!["outputs.ok".to_owned()];
        tool.consumes = if self.needs_more { vec!["more".to_owned()] } else { Vec::new() };
        tool
    }

    fn repeatable(&self) -> bool {
        self.read_only || self.idempotent
    }
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    use Behaviour::{Breaks, Refuses, Right, Wrong};
    let behaviour = prop::sample::select(vec![Right, Right, Wrong, Refuses, Breaks]);
    let plan = (0..3_usize, behaviour, any::<bool>(), any::<bool>(), 0..5_u8, 0..3_usize).prop_map(
        |(kind, behaviour, read_only, idempotent, more, reliability)| Plan {
            kind,
            behaviour,
            read_only,
            idempotent,
            needs_more: more == 0,
            reliability,
        },
    );
    prop::collection::vec(plan, 0..7)
}

/// Where a process ends: the number of a call, and whether the process ends after the effect of
/// that call.
type Crash = (usize, bool);

#[derive(Default)]
struct Record {
    calls: usize,
    /// The key of each call, the number of its tool, and whether it changed something.
    made: Vec<(String, usize, bool)>,
}

struct Fake<'a> {
    plans: &'a [Plan],
    record: &'a Mutex<Record>,
    crashes: &'a HashSet<Crash>,
}

impl Runner for Fake<'_> {
    fn run(&self, call: &Call<'_>) -> Outcome {
        let number: usize = call.tool.name.trim_start_matches("tool").parse().unwrap();
        let plan = &self.plans[number];
        let mut record = self.record.lock().unwrap();
        let this = record.calls;
        record.calls += 1;
        if self.crashes.contains(&(this, false)) {
            drop(record);
            resume_unwind(Box::new("killed"));
        }
        let effect = !plan.read_only && plan.behaviour != Behaviour::Refuses;
        record.made.push((call.key.to_owned(), number, effect));
        drop(record);
        if self.crashes.contains(&(this, true)) {
            resume_unwind(Box::new("killed"));
        }
        let failed = |effect| Outcome::Failed { said: "it broke".to_owned(), effect };
        match plan.behaviour {
            Behaviour::Right => Outcome::Done(json!({"ok": true, "tool": number})),
            Behaviour::Wrong => Outcome::Done(json!({"ok": false})),
            Behaviour::Refuses => failed(Effect::None),
            Behaviour::Breaks => failed(Effect::Unknown),
        }
    }
}

fn document(kinds: &[usize]) -> String {
    let obligations: Vec<Value> =
        kinds.iter().map(|kind| json!({"type": format!("REPORT(query.k{kind})")})).collect();
    json!({"utterance": "answer the question", "obligations": obligations}).to_string()
}

struct World {
    engine: Engine,
    plans: Vec<Plan>,
    document: String,
}

impl World {
    fn new(plans: Vec<Plan>, kinds: &[usize]) -> Self {
        let tools = plans.iter().enumerate().map(|(number, plan)| plan.tool(number)).collect();
        let engine = Engine::builder(Catalog::from_tools(tools).catalog).build().unwrap();
        Self { engine, plans, document: document(kinds) }
    }

    /// Runs a request to its end in as many processes as it takes. Each process opens the ledger
    /// again.
    fn conduct(
        &self,
        path: &Path,
        crashes: &HashSet<Crash>,
        replies: &[Reply],
        record: &Mutex<Record>,
    ) -> Answer {
        let runner = Fake { plans: &self.plans, record, crashes };
        for _ in 0..=crashes.len() {
            let mut ledger = Ledger::open(path).unwrap();
            let runs = ledger.runs().unwrap();
            let ended = runs.iter().filter(|run| run.status != RunStatus::Started);
            let ended: HashSet<String> = ended.map(|run| run.key.clone()).collect();
            let before = record.lock().unwrap().made.len();
            let done = catch_unwind(AssertUnwindSafe(|| {
                Conductor::new(&self.engine, &runner, &mut ledger)
                    .replies(replies.iter().cloned())
                    .conduct(&self.document, Begin::Resume)
                    .unwrap()
            }));
            let again = record.lock().unwrap();
            let repeated = again.made[before..].iter().find(|(key, ..)| ended.contains(key));
            assert!(repeated.is_none(), "a run that had ended was made again: {repeated:?}");
            drop(again);
            if let Ok(answer) = done {
                return answer;
            }
        }
        panic!("more processes than crashes, and no answer");
    }

    /// Runs a request to its end, replies to its question, and runs it to its end again.
    fn conduct_and_reply(&self, path: &Path, crashes: &HashSet<Crash>) -> (Answer, Record) {
        let record = Mutex::new(Record::default());
        let mut answer = self.conduct(path, crashes, &[], &record);
        check_ledger(path, answer.entries.len());
        if answer.asks() {
            answer = self.conduct(path, crashes, &["more=1".parse().unwrap()], &record);
            assert!(!answer.asks(), "{answer:?}");
        }
        (answer, record.into_inner().unwrap())
    }
}

fn check_ledger(path: &Path, wanted: usize) {
    let ledger = Ledger::open_read_only(path).unwrap();
    let obligations = ledger.obligations(None).unwrap();
    assert_eq!(obligations.iter().filter(|o| o.parent.is_none()).count(), wanted);
    for obligation in &obligations {
        assert_ne!(obligation.status, Status::Active, "{obligation:?}");
        let owed = obligations.iter().filter(|child| child.parent == Some(obligation.id)).count();
        assert!(owed <= 1, "{obligation:?} brought about {owed}");
    }
    assert!(ledger.runs().unwrap().iter().all(|run| run.status != RunStatus::Started));
    for assertion in ledger.assertions(None).unwrap() {
        assert_eq!(assertion.run.is_some(), assertion.origin == Origin::Tool, "{assertion:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_plan_ends_whatever_is_killed_and_nothing_is_done_twice(
        plans in plans(),
        kinds in prop::collection::vec(0..3_usize, 1..5),
        crashes in prop::collection::hash_set((0..12_usize, any::<bool>()), 0..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let world = World::new(plans, &kinds);
        let clean = folder.path().join("clean");
        let (undisturbed, _) = world.conduct_and_reply(&clean, &HashSet::new());
        check_ledger(&clean, kinds.len());
        let path = folder.path().join("killed");
        let (answer, record) = world.conduct_and_reply(&path, &crashes);
        check_ledger(&path, kinds.len());

        let mut calls: HashMap<&str, usize> = HashMap::new();
        for (key, number, _) in &record.made {
            *calls.entry(key).or_default() += 1;
            prop_assert!(calls[key.as_str()] == 1 || world.plans[*number].repeatable());
        }
        let ledger = Ledger::open_read_only(&path).unwrap();
        let mut changed: HashMap<String, HashSet<&str>> = HashMap::new();
        let runs = ledger.runs().unwrap();
        let owed = ledger.obligations(None).unwrap();
        for (key, _, effect) in &record.made {
            let run = runs.iter().find(|run| run.key == *key).unwrap();
            let of = owed.iter().find(|owed| owed.id == run.obligation).unwrap();
            if *effect {
                // An obligation that continued after a reply counts as the same obligation.
                let first = of.name.split('.').next().unwrap().to_owned();
                changed.entry(first).or_default().insert(key);
            }
        }
        prop_assert!(changed.values().all(|keys| keys.len() == 1), "two writes for one obligation");
        if world.plans.iter().all(Plan::repeatable) {
            prop_assert_eq!(&answer, &undisturbed);
        }
        let mut ledger = Ledger::open(&path).unwrap();
        let idle = |_: &Call<'_>| -> Outcome { panic!("a finished request ran a tool") };
        let kept = Conductor::new(&world.engine, &idle, &mut ledger)
            .conduct(&world.document, Begin::Resume);
        prop_assert_eq!(kept.unwrap(), answer);
    }
}

#[test]
fn results_flow_on_and_claims_are_checked() {
    let runner = |call: &Call<'_>| {
        let of = |name: &str| call.arguments[name].as_i64().unwrap_or_default();
        Outcome::Done(json!({"result": of("a") + of("b")}))
    };
    let request = json!({"utterance": "add", "obligations": [
        {"id": "one", "type": "REPORT(query.math)", "payload": {"a": 1, "b": 2}},
        {"id": "two", "type": "REPORT(query.math)",
         "payload": {"a": {"$from": "one", "at": "/result"}, "b": 10}, "say": "in all {result}"},
        {"id": "check", "type": "VERIFY(fact)", "payload": {"of": "two"}},
        {"id": "claim", "type": "VERIFY(fact)", "payload":
            {"kind": "query.math", "subject": {"a": 1, "b": 2}, "value": {"result": 7}}},
        {"id": "why", "type": "JUSTIFY(result)", "payload": {"of": "one"}}]});
    let mut tool = Tool::new(None, "Adder", "Computes a sum of numbers");
    tool.satisfies = vec!["query.math".to_owned()];
    (tool.reliability, tool.hints.read_only) = (Some(Reliability::High), Some(true));
    let engine = Engine::builder(Catalog::from_tools(vec![tool]).catalog).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path().join("ledger")).unwrap();
    let mut conductor = Conductor::new(&engine, &runner, &mut ledger);
    let answer = conductor.conduct(&request.to_string(), Begin::Anew).unwrap();
    assert!(answer.text.contains("in all 13"), "{}", answer.text);
    let output = |place: usize| answer.entries[place].output.clone().unwrap();
    assert_eq!(
        (output(2)["holds"].clone(), output(3)["holds"].clone()),
        (json!(true), json!(false))
    );
    assert!(output(4)["text"].as_str().unwrap().contains("`Adder` said"), "{answer:?}");
    let kinds: HashSet<String> = ledger.events().unwrap().into_iter().map(|e| e.kind).collect();
    for kind in
        ["user_utterance", "run_started", "run_completed", "assertion_made", "final_response"]
    {
        assert!(kinds.contains(kind), "{kind} is missing");
    }
}

#[test]
fn a_ledger_is_one_conductors_and_no_other_file_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger");
    assert!(matches!(Ledger::open_read_only(&path), Err(Error::Missing { .. })));
    let first = Ledger::open(&path).unwrap();
    assert!(matches!(Ledger::open(&path), Err(Error::Busy { .. })));
    Ledger::open_read_only(&path).unwrap();
    drop(first);
    Ledger::open(&path).unwrap();
    let foreign = folder.path().join("notes.txt");
    std::fs::write(&foreign, "x".repeat(5_000)).unwrap();
    assert!(matches!(Ledger::open(&foreign), Err(Error::Foreign { .. })));
    assert_eq!(std::fs::read_to_string(&foreign).unwrap().len(), 5_000);
}

/// A counter that never says the same twice, and a payment that takes its number.
#[test]
fn nothing_rests_on_a_result_that_its_tool_does_not_confirm() {
    let mut count = Tool::new(None, "count", "Counts");
    count.satisfies = vec!["query.count".to_owned()];
    count.hints.read_only = Some(true);
    count.reliability = Some(Reliability::High);
    let mut pay = Tool::new(None, "pay", "Pays");
    pay.satisfies = vec!["query.paid".to_owned()];
    let engine = Engine::builder(Catalog::from_tools(vec![count, pay]).catalog).build().unwrap();
    let called = Mutex::new(Vec::new());
    let runner = |call: &Call<'_>| {
        let mut called = called.lock().unwrap();
        called.push(call.tool.name.clone());
        Outcome::Done(json!({"n": called.len()}))
    };
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path().join("ledger.sqlite")).unwrap();
    let request = json!({"utterance": "pay", "obligations": [
        {"id": "c", "type": "REPORT(query.count)"},
        {"id": "p", "type": "REPORT(query.paid)", "payload": {"n": {"$from": "c", "at": "/n"}}},
    ]});
    let answer = Conductor::new(&engine, &runner, &mut ledger)
        .conduct(&request.to_string(), Begin::Anew)
        .unwrap();
    assert_eq!(*called.lock().unwrap(), ["count", "count"], "{}", answer.text);
    assert!(answer.text.contains("which `c` did not give for certain"), "{}", answer.text);
}

/// The names and types are those of the schema, and a question names each input once.
#[test]
fn a_payload_is_adapted_to_the_schema_as_arguments_of_a_call_are() {
    let row = json!({"id": "book", "name": "book", "description": "x", "satisfies": ["query.booked"],
        "consumes": ["guest"], "hints": {"read_only": true}, "input_schema": {"type": "object",
            "properties": {"restaurantName": {"type": "string"}, "guest": {"type": "string"}},
            "required": ["restaurantName", "guest"]}});
    let catalog = Catalog::read(&row.to_string()).unwrap().catalog;
    let engine = Engine::builder(catalog).build().unwrap();
    let runner = |call: &Call<'_>| Outcome::Done(call.arguments.clone());
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(folder.path().join("ledger.sqlite")).unwrap();
    let mut conduct = |payload: Value| {
        let owed = json!([{"id": "b", "type": "REPORT(query.booked)", "payload": payload}]);
        let request = json!({"utterance": "book", "obligations": owed}).to_string();
        let conductor = Conductor::new(&engine, &runner, &mut ledger).scope(Scope::Request);
        let mut conductor = conductor;
        conductor.conduct(&request, Begin::Anew).unwrap().text
    };
    let done = conduct(json!({"restaurant_name": "Noa", "guest": 7}));
    assert_eq!(done, "b: guest 7, restaurantName Noa");
    let asked = conduct(json!({"restaurant_name": "Noa"}));
    assert_eq!(asked.matches("`guest`").count(), 2, "once as needed, once as its answer: {asked}");
}
