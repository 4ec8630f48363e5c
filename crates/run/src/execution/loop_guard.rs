//! Detects calls that repeat in a loop, and sessions that exceed their limits.

use std::fmt::Debug;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::invoker::Arguments;
use toolroute_catalog::{Cost, Tool};
use toolroute_vectors::durable::now_s;

/// The limits of one session. The first two stop an agent that loops; the others bound the whole
/// session and are off by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// How often the same call with the same arguments may be made, unless another call may have
    /// changed something in between, or it only reads and was answered a minute ago.
    pub same_call: u32,
    /// How often a cycle of calls may repeat.
    pub same_cycle: u32,
    /// The limit of all calls.
    pub calls: Option<u32>,
    /// The limit of their total cost, in units of the cheapest tier (`cost_units`).
    pub cost: Option<u32>,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self { same_call: 3, same_cycle: 3, calls: None, cost: None }
    }
}

/// The cost of a call by its tier. Each tier costs about three times as much as the one below it.
pub fn cost_units(cost: Option<Cost>) -> u32 {
    match cost {
        Some(Cost::Tiny) => 1,
        Some(Cost::Low) | None => 3,
        Some(Cost::Medium) => 10,
        Some(Cost::High) => 30,
    }
}

/// The limit that refuses a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "limit", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exceeded {
    /// The same call with the same arguments was made `times` times and answered `answered` times.
    SameCall { times: u32, answered: u32 },
    /// The last calls repeat: a cycle of `length` calls was made `times` times.
    Cycle { length: usize, times: u32 },
    /// The session has made all its calls.
    Calls { most: u32 },
    /// The session has spent its cost.
    Cost { most: u32 },
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SameCall { times, answered } => {
                // Another program of the session may be waiting for an answer.
                let came_of_it = match answered {
                    0 => "has no answer".to_owned(),
                    _ if answered == times => "was answered each time".to_owned(),
                    _ => format!("was answered {}", repetitions(*answered)),
                };
                let times = repetitions(*times);
                write!(f, "the same call was made {times} in this session and {came_of_it}")
            }
            Self::Cycle { length, times } => {
                write!(f, "the last {length} calls came round {times} times in this session")
            }
            Self::Calls { most } => write!(f, "all {most} calls of this session are used up"),
            Self::Cost { most } => write!(f, "the cost of {most} of this session is used up"),
        }
    }
}

fn repetitions(times: u32) -> String {
    if times == 1 { "once".to_owned() } else { format!("{times} times") }
}

/// Counts the calls of one session and enforces its limits. Everything that works for the session
/// shares it.
#[derive(Debug)]
pub struct LoopGuard {
    limits: CallLimits,
    made: Mutex<CallCounts>,
    store: Option<Box<dyn CallStore>>,
}

/// Stores the calls of a session that several programs work for. A guard reads and saves it around
/// each of its steps, so that a call counts for all of them before it is sent.
pub trait CallStore: Debug + Send + Sync {
    /// Locks the store against other programs and reads it. The returned function saves the calls
    /// and unlocks the store. `None` if the store cannot be used; then the guard counts only what
    /// it sees.
    fn lock(&self) -> Option<(CallHistory, SaveCalls)>;
}

/// Saves the calls of a session.
pub type SaveCalls = Box<dyn FnOnce(&CallHistory)>;

/// Identifies a call by its tool and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallKey(u64);

#[derive(Debug)]
struct CallCounts {
    calls: u32,
    cost: u32,
    /// Repetitions by call, counted since another call may last have changed something.
    repeated: LruCache<CallKey, Repetition>,
    /// The latest calls, oldest first.
    latest: Vec<CallKey>,
    /// The calls of a refused cycle, until a call outside the cycle is made.
    circling: Vec<CallKey>,
    /// When the last call was made or answered, in seconds since 1970.
    at: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Repetition {
    times: u32,
    answered: u32,
    /// When the call was made or answered last, in seconds since 1970.
    at: u64,
}

/// The calls of a session in a form that can be stored between two runs of a program.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CallHistory {
    calls: u32,
    cost: u32,
    /// The least recently used first.
    repeated: Vec<(CallKey, Repetition)>,
    latest: Vec<CallKey>,
    at: u64,
}

/// The time after which a call that only reads is no repetition. An agent in a loop calls again within seconds; a later
/// call asks how things are by then, which another program may have changed.
const QUIET: Duration = Duration::from_secs(60);

/// The longest cycle that is detected, in calls.
const LONGEST_CYCLE: usize = 8;

/// The number of calls whose repetitions are counted. The least recently used are forgotten.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1_000).expect("not zero. This is a bug.");

impl LoopGuard {
    /// Creates a guard that has counted no calls.
    pub fn new(limits: CallLimits) -> Self {
        Self::restore(limits, CallHistory::default())
    }

    /// Creates a guard that continues from a stored history.
    #[doc(hidden)] // For our own crates.
    pub fn restore(limits: CallLimits, history: CallHistory) -> Self {
        Self { limits, made: Mutex::new(CallCounts::new(history)), store: None }
    }

    /// Creates a guard whose calls are counted in a store, together with those of other programs.
    #[doc(hidden)] // For our own crates.
    pub fn stored(limits: CallLimits, store: Box<dyn CallStore>) -> Self {
        Self { store: Some(store), ..Self::new(limits) }
    }

    /// Returns the history, which [`LoopGuard::restore`] takes.
    #[doc(hidden)] // For our own crates.
    pub fn history(&self) -> CallHistory {
        self.made().history()
    }

    fn made(&self) -> MutexGuard<'_, CallCounts> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the counts, in the store if there is one.
    fn update<T>(&self, change: impl FnOnce(&mut CallCounts) -> T) -> T {
        let mut made = self.made();
        let save = self.store.as_ref().and_then(|store| store.lock()).map(|(history, save)| {
            let circling = std::mem::take(&mut made.circling);
            *made = CallCounts { circling, ..CallCounts::new(history) };
            save
        });
        let changed = change(&mut made);
        if let Some(save) = save {
            save(&made.history());
        }
        changed
    }

    /// Counts a requested call, unless a limit refuses it.
    #[doc(hidden)] // For our own crates.
    pub fn ask(&self, tool: &Tool, arguments: &Arguments) -> Result<CallKey, Exceeded> {
        let key = key(tool, arguments);
        let forgets = tool.effects().reads_only();
        self.update(|made| made.ask((key, forgets), &self.limits, now_s()))
    }

    /// Removes a call that was not sent, because it needs a confirmation or no server has the tool.
    #[doc(hidden)] // For our own crates.
    pub fn unmade(&self, key: CallKey) {
        self.update(|made| {
            if made.latest.last() == Some(&key) {
                made.latest.pop();
            }
            if let Some(repeated) = made.repeated.get_mut(&key) {
                repeated.times = repeated.times.saturating_sub(1);
            }
        });
    }

    /// Records that a call may have changed something, which is a reason to repeat other calls:
    /// tests are run again after each edit.
    #[doc(hidden)] // For our own crates.
    pub fn changed(&self, key: CallKey) {
        self.update(|made| {
            let own = made.repeated.pop(&key);
            made.repeated.clear();
            own.map(|own| made.repeated.put(key, own));
        });
    }

    /// Records that a call was answered.
    #[doc(hidden)] // For our own crates.
    pub fn answered(&self, key: CallKey) {
        self.update(|made| {
            made.at = now_s();
            if let Some(repeated) = made.repeated.get_mut(&key) {
                (repeated.answered, repeated.at) = (repeated.answered + 1, now_s());
            }
        });
    }

    /// Refunds an attempt that was not sent.
    #[doc(hidden)] // For our own crates.
    pub fn refund(&self, tool: &Tool) {
        self.update(|made| {
            made.calls = made.calls.saturating_sub(1);
            made.cost = made.cost.saturating_sub(cost_units(tool.cost));
        });
    }

    /// Returns how many calls the session may still make; `None` without a limit.
    pub fn calls_left(&self) -> Option<u32> {
        let most = self.limits.calls?;
        Some(self.update(|made| most.saturating_sub(made.calls)))
    }

    /// Counts one attempt of any tool, unless a limit is reached.
    #[doc(hidden)] // For our own crates.
    pub fn spend(&self, tool: &Tool) -> Result<(), Exceeded> {
        self.update(|made| {
            let cost = made.cost.saturating_add(cost_units(tool.cost));
            if let Some(most) = self.limits.calls.filter(|most| made.calls >= *most) {
                return Err(Exceeded::Calls { most });
            }
            if let Some(most) = self.limits.cost.filter(|most| cost > *most) {
                return Err(Exceeded::Cost { most });
            }
            made.calls += 1;
            made.cost = cost;
            Ok(())
        })
    }
}

impl CallCounts {
    fn new(history: CallHistory) -> Self {
        let CallHistory { calls, cost, repeated: kept, latest, at } = history;
        let mut repeated = LruCache::new(REMEMBERED);
        for (key, times) in kept {
            repeated.put(key, times);
        }
        Self { calls, cost, repeated, latest, circling: Vec::new(), at }
    }

    fn history(&self) -> CallHistory {
        CallHistory {
            calls: self.calls,
            cost: self.cost,
            repeated: self.repeated.iter().rev().map(|(key, times)| (*key, *times)).collect(),
            latest: self.latest.clone(),
            at: self.at,
        }
    }

    /// Counts a call at the time `now`, in seconds since 1970. `forgets` is whether earlier calls may be forgotten,
    /// because it only reads.
    fn ask(
        &mut self,
        (key, forgets): (CallKey, bool),
        limits: &CallLimits,
        now: u64,
    ) -> Result<CallKey, Exceeded> {
        let is_past = |at: u64| forgets && now.saturating_sub(at) >= QUIET.as_secs();
        if is_past(self.at) {
            self.latest.clear();
            self.circling.clear();
        }
        if self.repeated.get(&key).is_some_and(|repeated| is_past(repeated.at)) {
            self.repeated.pop(&key);
        }
        let Repetition { times, answered, .. } =
            self.repeated.get(&key).copied().unwrap_or_default();
        if times >= limits.same_call {
            return Err(Exceeded::SameCall { times, answered });
        }
        let times = limits.same_cycle.max(1);
        if self.circling.contains(&key) {
            return Err(Exceeded::Cycle { length: self.circling.len(), times });
        }
        self.latest.push(key);
        if let Some(length) = cycle(&self.latest, times as usize) {
            self.latest.pop();
            self.circling = self.latest[self.latest.len() - length..].to_vec();
            return Err(Exceeded::Cycle { length, times });
        }
        self.circling.clear();
        let kept = LONGEST_CYCLE * (times as usize + 1);
        let excess = self.latest.len().saturating_sub(kept);
        self.latest.drain(..excess);
        self.at = now;
        let repeated = self.repeated.get_or_insert_mut(key, Repetition::default);
        (repeated.times, repeated.at) = (repeated.times + 1, now);
        Ok(key)
    }
}

impl Default for LoopGuard {
    fn default() -> Self {
        Self::new(CallLimits::default())
    }
}

/// The length of the shortest cycle that is repeated `times` times before the last call.
fn cycle(calls: &[CallKey], times: usize) -> Option<usize> {
    let repeats = |length: usize| {
        let needed = length * times + 1;
        calls.len().checked_sub(needed).is_some_and(|from| {
            let tail = &calls[from..];
            // Equal calls have their own limit.
            tail[..length].iter().any(|call| *call != tail[0])
                && tail.iter().skip(length).zip(tail).all(|(later, earlier)| later == earlier)
        })
    };
    // A cycle of one is the same call, which has its own limit.
    (2..=LONGEST_CYCLE).find(|length| repeats(*length))
}

/// The key of a call; the order of members does not matter.
fn key(tool: &Tool, arguments: &Arguments) -> CallKey {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    let hash = Sha256::digest(format!("{}{arguments}", tool.id));
    CallKey(u64::from_le_bytes(std::array::from_fn(|at| hash[at])))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn the_fourth_of_the_same_calls_is_refused_whatever_the_order_of_its_arguments() {
        let (guard, tool) = (LoopGuard::default(), Tool::new(None, "get_a", ""));
        let orders =
            [json!({"x": 1, "y": {"b": 1, "a": 2}}), json!({"y": {"a": 2, "b": 1}, "x": 1})];
        for times in 0..3 {
            let key = guard.ask(&tool, &arguments(orders[times % 2].clone())).unwrap();
            guard.answered(key);
        }
        let asked = guard.ask(&tool, &arguments(orders[0].clone())).unwrap_err();
        assert_eq!(asked, Exceeded::SameCall { times: 3, answered: 3 });
        let said = "the same call was made 3 times in this session and was answered each time";
        assert_eq!(asked.to_string(), said);
        assert!(guard.ask(&tool, &arguments(json!({"x": 2}))).is_ok());
    }

    #[test]
    fn what_something_else_may_have_changed_may_be_asked_again() {
        let guard = LoopGuard::default();
        let (edit, check) = (Tool::new(None, "write_file", ""), Tool::new(None, "check_code", ""));
        for nth in 0..9 {
            let edited = guard.ask(&edit, &arguments(json!({"text": nth}))).unwrap();
            guard.changed(edited);
            assert!(guard.ask(&check, &Arguments::new()).is_ok(), "{nth}");
        }
    }

    #[test]
    fn a_reading_call_a_minute_later_is_no_repetition() {
        let (limits, mut made) = (CallLimits::default(), CallCounts::new(CallHistory::default()));
        let (status, diff, send) = ((CallKey(1), true), (CallKey(2), true), (CallKey(3), false));
        for nth in 0..9 {
            assert!(made.ask(status, &limits, 1_000 + 60 * nth).is_ok(), "{nth}");
        }
        for (at, is_counted) in
            [(2_000, true), (2_001, true), (2_002, true), (2_030, false), (2_062, true)]
        {
            assert_eq!(made.ask(status, &limits, at).is_ok(), is_counted, "{at}");
        }
        for nth in 0..20 {
            let call = if nth % 2 == 0 { status } else { diff };
            assert!(made.ask(call, &limits, 3_000 + 60 * nth).is_ok(), "{nth}");
        }
        let sent = (0..4).map(|nth| made.ask(send, &limits, 9_000 + 600 * nth).is_ok());
        assert_eq!(sent.collect::<Vec<_>>(), [true, true, true, false]);
    }

    #[test]
    fn a_session_goes_on_in_another_program() {
        let guard = LoopGuard::default();
        let tool = Tool::new(None, "get_a", "");
        (0..3).for_each(|_| drop(guard.ask(&tool, &Arguments::new())));
        let kept = serde_json::to_string(&guard.history()).unwrap();
        let history = serde_json::from_str(&kept).unwrap();
        let guard = LoopGuard::restore(CallLimits::default(), history);
        let asked = guard.ask(&tool, &Arguments::new()).unwrap_err();
        assert_eq!(asked, Exceeded::SameCall { times: 3, answered: 0 });
    }

    #[test]
    fn calls_and_cost_run_out_where_they_are_bounded() {
        let tool = Tool::new(None, "a", "");
        let spend = |limits: CallLimits| {
            let guard = LoopGuard::new(limits);
            (0..100).find_map(|_| guard.spend(&tool).err())
        };
        assert_eq!(spend(CallLimits::default()), None);
        let limits = CallLimits { calls: Some(4), ..CallLimits::default() };
        assert_eq!(spend(limits), Some(Exceeded::Calls { most: 4 }));
        let limits = CallLimits { cost: Some(7), ..CallLimits::default() };
        assert_eq!(spend(limits), Some(Exceeded::Cost { most: 7 }));
    }
}
