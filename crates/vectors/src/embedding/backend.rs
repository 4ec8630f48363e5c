//! Which implementation runs a model, and on which device.

use std::fmt;

#[cfg(feature = "candle")]
use candle_core::Device as Place;

#[cfg(feature = "candle")]
use super::Error;

/// Which implementation runs an encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// Our own encoder, on the CPU. candle runs the models that our encoder does not support.
    #[default]
    Native,
    /// candle-transformers' model in f32. Requires the feature `candle`.
    Candle(Device),
}

/// The device on which candle runs a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// An NVIDIA GPU by its index. Requires the feature `cuda`.
    Cuda(usize),
    /// An Apple GPU by its index. Requires the feature `metal`.
    Metal(usize),
}

#[cfg(feature = "candle")]
impl Device {
    /// Opens the device in candle.
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

    /// Part of the model's identity: devices round differently, so their vectors differ.
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
