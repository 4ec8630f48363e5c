//! Notices calls that go round in circles, and requests that use up what they were given.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::invoker::Arguments;
use crate::catalog::{Cost, Tool};

/// What one request of a user may use up.
#[derive(Clone, Debug)]
pub struct Budget {
    pub calls: u32,
    pub time: Duration,
    /// In units of a call that costs next to nothing ([`cost_units`]).
    pub cost: u32,
    /// The same call with the same arguments is answered so often.
    pub same_call: u32,
    /// A cycle of calls may come round so often.
    pub same_cycle: u32,
}

impl Default for Budget {
    /// Wide enough for an honest agent, and far below what a runaway one uses in a minute.
    fn default() -> Self {
        Self { calls: 50, time: Duration::from_secs(900), cost: 500, same_call: 3, same_cycle: 3 }
    }
}

/// What a call of a tier counts for: each tier about three times the one below it.
pub fn cost_units(cost: Option<Cost>) -> u32 {
    match cost {
        Some(Cost::Tiny) => 1,
        Some(Cost::Low) | None => 3,
        Some(Cost::Medium) => 10,
        Some(Cost::High) => 30,
    }
}

/// Why a call is not made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "limit", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Exceeded {
    /// The same call with the same arguments was made so often already.
    SameCall {
        times: u32,
    },
    /// The last calls repeat; so many make the cycle.
    Cycle {
        length: usize,
    },
    Calls {
        most: u32,
    },
    Time {
        most_s: u64,
    },
    Cost {
        most: u32,
    },
}

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SameCall { times } => {
                write!(f, "the same call was made {times} times already; change its arguments")
            }
            Self::Cycle { length } => {
                write!(f, "the last calls repeat every {length}; try something else")
            }
            Self::Calls { most } => write!(f, "all {most} calls of this request are used up"),
            Self::Time { most_s } => write!(f, "the {most_s} s of this request are used up"),
            Self::Cost { most } => write!(f, "the cost of {most} of this request is used up"),
        }
    }
}

/// The calls of one request so far. Shared by all that work for the request.
#[derive(Debug)]
pub struct Session {
    budget: Budget,
    began: Instant,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default)]
struct Spent {
    calls: u32,
    cost: u32,
    times: HashMap<u64, u32>,
    /// The latest calls, oldest first.
    latest: Vec<u64>,
}

/// The longest cycle that is looked for.
const LONGEST_CYCLE: usize = 8;

impl Session {
    pub fn new(budget: Budget) -> Self {
        Self { budget, began: Instant::now(), spent: Mutex::default() }
    }

    /// Notes a call that a caller asks for.
    ///
    /// # Errors
    /// Why it is not to be made.
    pub fn ask(&self, tool: &Tool, arguments: &Arguments) -> Result<(), Exceeded> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let key = key(tool, arguments);
        let times = spent.times.get(&key).copied().unwrap_or_default();
        if times >= self.budget.same_call {
            return Err(Exceeded::SameCall { times });
        }
        spent.latest.push(key);
        if let Some(length) = cycle(&spent.latest, self.budget.same_cycle as usize) {
            spent.latest.pop();
            return Err(Exceeded::Cycle { length });
        }
        let kept = LONGEST_CYCLE * (self.budget.same_cycle as usize + 1);
        let excess = spent.latest.len().saturating_sub(kept);
        spent.latest.drain(..excess);
        *spent.times.entry(key).or_default() += 1;
        Ok(())
    }

    /// Pays for one attempt, whoever it falls to.
    ///
    /// # Errors
    /// What is used up.
    pub fn spend(&self, tool: &Tool) -> Result<(), Exceeded> {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        let cost = spent.cost.saturating_add(cost_units(tool.cost));
        if spent.calls >= self.budget.calls {
            return Err(Exceeded::Calls { most: self.budget.calls });
        }
        if cost > self.budget.cost {
            return Err(Exceeded::Cost { most: self.budget.cost });
        }
        if self.time_left().is_zero() {
            return Err(Exceeded::Time { most_s: self.budget.time.as_secs() });
        }
        spent.calls += 1;
        spent.cost = cost;
        Ok(())
    }

    pub fn time_left(&self) -> Duration {
        self.budget.time.saturating_sub(self.began.elapsed())
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new(Budget::default())
    }
}

/// How many calls make a cycle that came round so often at the end; the shortest.
fn cycle(calls: &[u64], times: usize) -> Option<usize> {
    let repeats = |length: usize| {
        let needed = length * (times + 1);
        calls.len().checked_sub(needed).is_some_and(|from| {
            let tail = &calls[from..];
            tail.iter().skip(length).zip(tail).all(|(later, earlier)| later == earlier)
        })
    };
    // A cycle of one is the same call, which has a limit of its own.
    (2..=LONGEST_CYCLE).find(|length| repeats(*length))
}

/// Equal for calls that are equal, whatever the order of their members.
fn key(tool: &Tool, arguments: &Arguments) -> u64 {
    let mut hash = Sha256::new();
    hash.update(tool.id.as_str());
    members(arguments, &mut hash);
    let hash = hash.finalize();
    u64::from_le_bytes(std::array::from_fn(|at| hash[at]))
}

fn members(members: &Arguments, hash: &mut Sha256) {
    let mut names: Vec<&String> = members.keys().collect();
    names.sort_unstable();
    hash.update([b'{']);
    for name in names {
        hash.update(name);
        hash.update([0]);
        value(&members[name], hash);
    }
    hash.update([b'}']);
}

fn value(value_: &Value, hash: &mut Sha256) {
    match value_ {
        Value::Object(inner) => members(inner, hash),
        Value::Array(items) => {
            hash.update([b'[']);
            items.iter().for_each(|item| value(item, hash));
            hash.update([b']']);
        }
        leaf => {
            hash.update(leaf.to_string());
            hash.update([0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Arguments {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn the_same_call_is_noticed_whatever_the_order_of_its_arguments() {
        let (session, tool) = (Session::default(), Tool::new(None, "a", ""));
        let orders =
            [json!({"x": 1, "y": {"b": 1, "a": 2}}), json!({"y": {"a": 2, "b": 1}, "x": 1})];
        for times in 0..3 {
            assert!(session.ask(&tool, &arguments(orders[times % 2].clone())).is_ok());
        }
        let asked = session.ask(&tool, &arguments(orders[0].clone()));
        assert_eq!(asked, Err(Exceeded::SameCall { times: 3 }));
        assert!(session.ask(&tool, &arguments(json!({"x": 2}))).is_ok());
    }

    #[test]
    fn a_cycle_of_calls_is_noticed() {
        let session = Session::new(Budget { same_call: 99, ..Budget::default() });
        let tools = ["a", "b"].map(|name| Tool::new(None, name, ""));
        let mut asked = (0..12).map(|turn| session.ask(&tools[turn % 2], &Arguments::new()));
        assert_eq!(asked.find_map(Result::err), Some(Exceeded::Cycle { length: 2 }));
    }

    #[test]
    fn calls_cost_and_time_run_out() {
        let tool = Tool::new(None, "a", "");
        let spend = |budget: Budget| {
            let session = Session::new(budget);
            (0..100).find_map(|_| session.spend(&tool).err())
        };
        let budget = Budget { calls: 4, ..Budget::default() };
        assert_eq!(spend(budget), Some(Exceeded::Calls { most: 4 }));
        let budget = Budget { cost: 7, ..Budget::default() };
        assert_eq!(spend(budget), Some(Exceeded::Cost { most: 7 }));
        let budget = Budget { time: Duration::ZERO, ..Budget::default() };
        assert_eq!(spend(budget), Some(Exceeded::Time { most_s: 0 }));
    }
}
