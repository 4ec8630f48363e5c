//! The signals and their weights.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::Error;
use crate::query::words;

words! {
    /// A property, other than the semantic and keyword scores, that raises or lowers a tool's score.
    Signal {
        /// The tool declares the current phase of work.
        Phase => "phase",
        /// The tool declares the programming languages of the context.
        Language => "language",
        /// The complexity of the context is in the range that the tool declares.
        Complexity => "complexity",
        /// The tool declares the type of the current task.
        TaskType => "task_type",
        /// How often the tool's runs succeeded.
        History => "history",
        /// The prompt matches patterns of the tool's author.
        Intent => "intent",
        /// The prompt needs something from the web, and the tool is for the web.
        Web => "web",
        /// The tool's declared priority.
        Priority => "priority",
        /// The tool comes before one that fits, in a declared order of fallbacks.
        Hierarchy => "hierarchy",
        /// The tool is slow, and the prompt is urgent.
        Latency => "latency",
        /// The tool is expensive, and the caller is cost-aware.
        Cost => "cost",
        /// The prompt contains keywords of the tool's category. Counts only if the encoder cannot read
        /// all of the prompt.
        Category => "category",
        /// The tool tends to follow the tool that was used last.
        Workflow => "workflow",
        /// The caller plans to use the tool.
        Planned => "planned",
        /// The tool's server listed it recently and later than its other tools.
        Newcomer => "newcomer",
        /// A pattern declares that only this tool serves the prompt. This is a switch: any weight above
        /// 0 turns it on.
        Exclusive => "exclusive",
        /// The tool is excluded if it conflicts with a better one in the answer. This is a switch, too.
        Conflicts => "conflicts",
    }
}

/// The number of signals.
pub const SIGNALS: usize = Signal::ALL.len();

impl Signal {
    /// Whether the signal counts by itself. The others are proportional to the tool's own score:
    /// they weigh tools that fit, and do not lift a tool without a score.
    #[doc(hidden)] // For our own crates.
    pub fn stands_alone(self) -> bool {
        matches!(self, Self::Intent | Self::Web | Self::Category | Self::Workflow | Self::Planned)
    }

    /// Returns the default weight, which is 0 for a signal that did not help on its own set.
    /// `docs/benchmarks.md` contains the measurements.
    fn default_weight(self) -> f32 {
        match self {
            // With the built-in encoder, these did not help on their own set, or lowered the
            // quality on others.
            Self::Web | Self::Hierarchy | Self::Priority | Self::Complexity => 0.0,
            _ => self.tried_weight(),
        }
    }

    /// Returns the weight at which the signal was measured: large enough to reverse an order
    /// despite the lead of the nearest tool, and small enough not to affect prompts to which the
    /// signal does not apply.
    const fn tried_weight(self) -> f32 {
        match self {
            Self::Phase | Self::TaskType => 0.2,
            Self::Language => 0.15,
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

impl FromStr for Signal {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::from_word(name).ok_or_else(|| Error::UnknownSignal {
            name: name.to_owned(),
            known: Self::ALL.map(Self::as_str).join(", "),
        })
    }
}

/// The weight of each signal, 0 to 1. See [`super::Signals`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalWeights([f32; SIGNALS]);

impl Default for SignalWeights {
    fn default() -> Self {
        Self(Signal::ALL.map(Signal::default_weight))
    }
}

impl SignalWeights {
    /// Returns the weights at which the signals were measured, including those that did not help.
    #[doc(hidden)] // For our own crates.
    pub fn measured() -> Self {
        Self(Signal::ALL.map(Signal::tried_weight))
    }

    /// All signals off: only the semantic and keyword scores count.
    pub const OFF: Self = Self([0.0; SIGNALS]);

    /// Returns the weight of a signal; 0 turns it off.
    pub fn get(&self, signal: Signal) -> f32 {
        self.0[signal as usize]
    }

    /// Returns these weights with one of them changed.
    ///
    /// # Errors
    /// [`Error::BadSignalWeight`] if `weight` is not in 0 to 1.
    pub fn with(mut self, signal: Signal, weight: f32) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&weight) {
            return Err(Error::BadSignalWeight { signal, found: weight });
        }
        self.0[signal as usize] = weight;
        Ok(self)
    }

    #[doc(hidden)] // For our own crates.
    pub fn is_on(&self, signal: Signal) -> bool {
        self.get(signal) > 0.0
    }

    #[doc(hidden)] // For our own crates.
    pub fn is_off(&self) -> bool {
        *self == Self::OFF
    }
}

impl Serialize for SignalWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Signal::ALL.map(|signal| (signal.as_str(), self.get(signal))))
    }
}

/// Absent signals keep their default weight.
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
