//! What runs a model, and where.

use std::fmt;

#[cfg(feature = "candle")]
use candle_core::Device as Place;

#[cfg(feature = "candle")]
use super::Error;

/// What runs an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Our own encoder, on the processor; candle runs the models that it does not cover.
    #[default]
    Native,
    /// candle-transformers' model, in f32; with the feature `candle`.
    Candle(Device),
}

/// Where candle runs a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    #[default]
    Cpu,
    /// An NVIDIA card by its number; with the feature `cuda`.
    Cuda(usize),
    /// A graphics processor of Apple by its number; with the feature `metal`.
    Metal(usize),
}

#[cfg(feature = "candle")]
impl Device {
    /// What candle calls it.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where the program was not built for it, or the machine has none.
    pub(super) fn place(self) -> Result<Place, Error> {
        let (found, feature) = match self {
            Self::Cpu => return Ok(Place::Cpu),
            Self::Cuda(card) => (Place::new_cuda(card), "cuda"),
            Self::Metal(card) => (Place::new_metal(card), "metal"),
        };
        found.map_err(|error| Error::NoDevice {
            device: self,
            feature,
            problem: error.to_string().lines().next().unwrap_or_default().to_owned(),
        })
    }

    /// What tells vectors that were made there from others: devices round differently.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Cpu => "",
            Self::Cuda(_) => "-cuda",
            Self::Metal(_) => "-metal",
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.pad("cpu"),
            Self::Cuda(0) => f.pad("cuda"),
            Self::Cuda(card) => write!(f, "cuda:{card}"),
            Self::Metal(0) => f.pad("metal"),
            Self::Metal(card) => write!(f, "metal:{card}"),
        }
    }
}
