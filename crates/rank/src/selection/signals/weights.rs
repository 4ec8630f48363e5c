//! The signals and their weights.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::Error;

/// Something besides meaning and words that counts for or against a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Signal {
    /// The tool declares the phase of work.
    Phase,
    /// The tool declares the languages of the context.
    Language,
    /// The complexity of the context lies in the range that the tool declares.
    Complexity,
    /// The tool declares the kind of work.
    TaskType,
    /// How often its runs succeeded.
    History,
    /// Patterns of its author that the prompt matches.
    Intent,
    /// The prompt needs something from the web, and it is a tool for that.
    Web,
    /// Its declared priority.
    Priority,
    /// It comes before a tool that fits, in a declared order of fallbacks.
    Hierarchy,
    /// It is slow, and the prompt is urgent.
    Latency,
    /// It is expensive, and the caller is cost-aware.
    Cost,
    /// The prompt has keywords of its category; counts where nothing else can read the prompt.
    Category,
    /// It tends to follow the tool used last.
    Workflow,
    /// The caller plans to use it.
    Planned,
    /// Its server listed it recently, later than its other tools.
    Newcomer,
    /// A pattern says that only it serves this prompt. A switch: any weight above 0 is on.
    Exclusive,
    /// It is not offered beside a better tool that it conflicts with. A switch, too.
    Conflicts,
}

/// The number of signals.
pub const SIGNALS: usize = 17;

impl Signal {
    pub const ALL: [Self; SIGNALS] = [
        Self::Phase,
        Self::Language,
        Self::Complexity,
        Self::TaskType,
        Self::History,
        Self::Intent,
        Self::Web,
        Self::Priority,
        Self::Hierarchy,
        Self::Latency,
        Self::Cost,
        Self::Category,
        Self::Workflow,
        Self::Planned,
        Self::Newcomer,
        Self::Exclusive,
        Self::Conflicts,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Language => "language",
            Self::Complexity => "complexity",
            Self::TaskType => "task_type",
            Self::History => "history",
            Self::Intent => "intent",
            Self::Web => "web",
            Self::Priority => "priority",
            Self::Hierarchy => "hierarchy",
            Self::Latency => "latency",
            Self::Cost => "cost",
            Self::Category => "category",
            Self::Workflow => "workflow",
            Self::Planned => "planned",
            Self::Newcomer => "newcomer",
            Self::Exclusive => "exclusive",
            Self::Conflicts => "conflicts",
        }
    }

    /// Whether it counts by itself. The others only weigh tools that fit: they are a share of the tool's
    /// own score, and lift no tool without one.
    pub fn stands_alone(self) -> bool {
        matches!(self, Self::Intent | Self::Web | Self::Category | Self::Workflow | Self::Planned)
    }

    /// The default weight. `docs/benchmarks.md` has the measurements; a signal that did not help on its own
    /// set is 0.
    fn default_weight(self) -> f32 {
        match self {
            // With the built-in encoder these did not help on their own set, or did harm elsewhere.
            Self::Web | Self::Hierarchy | Self::Priority => 0.0,
            _ => self.tried_weight(),
        }
    }

    /// The weight with which it was measured: large enough to reverse an order despite the lead of the
    /// nearest tool, and small enough to disturb no prompt that the signal is not for.
    const fn tried_weight(self) -> f32 {
        match self {
            Self::Phase | Self::Language | Self::TaskType => 0.2,
            Self::Complexity | Self::History | Self::Priority => 0.1,
            Self::Hierarchy => 0.2,
            Self::Intent => 0.7,
            Self::Web => 0.1,
            Self::Category => 1.0,
            Self::Workflow => 0.15,
            Self::Latency | Self::Cost => 0.2,
            Self::Planned => 0.5,
            Self::Newcomer => 0.15,
            Self::Exclusive | Self::Conflicts => 1.0,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Signal {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = Self::ALL.into_iter().find(|signal| signal.as_str() == name);
        known.ok_or_else(|| Error::UnknownSignal {
            name: name.to_owned(),
            known: Self::ALL.map(Self::as_str).join(", "),
        })
    }
}

/// The weight of each signal, 0 to 1, see [`super::Signals`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalWeights([f32; SIGNALS]);

impl Default for SignalWeights {
    fn default() -> Self {
        Self(Signal::ALL.map(Signal::default_weight))
    }
}

impl SignalWeights {
    /// The measured weights, including those of signals that did not help.
    pub fn tried() -> Self {
        Self(Signal::ALL.map(Signal::tried_weight))
    }

    /// Meaning and words alone.
    pub const OFF: Self = Self([0.0; SIGNALS]);

    pub fn get(&self, signal: Signal) -> f32 {
        self.0[signal as usize]
    }

    /// These weights with one changed.
    ///
    /// # Errors
    /// [`Error::BadSignalWeight`] outside 0 to 1.
    pub fn with(mut self, signal: Signal, weight: f32) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&weight) {
            return Err(Error::BadSignalWeight { signal, found: weight });
        }
        self.0[signal as usize] = weight;
        Ok(self)
    }

    pub fn is_on(&self, signal: Signal) -> bool {
        self.get(signal) > 0.0
    }

    pub fn is_off(&self) -> bool {
        *self == Self::OFF
    }
}

impl Serialize for SignalWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Signal::ALL.map(|signal| (signal.as_str(), self.get(signal))))
    }
}

/// Signals that are not named keep their default.
impl<'de> Deserialize<'de> for SignalWeights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let named = std::collections::BTreeMap::<String, f32>::deserialize(deserializer)?;
        named.into_iter().try_fold(Self::default(), |weights, (name, weight)| {
            let signal = name.parse().map_err(D::Error::custom)?;
            weights.with(signal, weight).map_err(D::Error::custom)
        })
    }
}
