//! Options whose value is a word of an enum.
//!
//! The words are defined once, by the enum's `Deserialize`; flags, variables, files and help use
//! them.

use std::str::FromStr as _;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::de::{Deserializer, Error as _, Visitor};

use toolroute_vectors::embedding::Device;

/// How scores are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    Tuned,
    Plain,
}

/// Which implementation runs the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendName {
    Native,
    Candle,
}

/// The format of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    Text,
    Json,
}

/// Which definitions of a server's tools are accepted without approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pinning {
    FirstUse,
    Strict,
    Off,
}

/// Returns the words of an enum, in the order of its variants.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words: &'static [&'static str] = &[];
    // Deserialization fails on purpose: `Words` only records the names.
    T::deserialize(Words(&mut words)).err();
    words
}

/// Returns the words of an enum in the form of the help: `low|medium|high`.
pub fn joined<T: DeserializeOwned>() -> String {
    words::<T>().join("|")
}

/// Parses a word as a value of an enum; clap lists the words in errors and completions.
pub fn word<T>() -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words::<T>()).map(|word| {
        let word: StrDeserializer<'_, Error> = word.as_str().into_deserializer();
        T::deserialize(word).expect("clap admits only the words of the enum. This is a bug.")
    })
}

/// Parses `cpu`, `cuda`, `cuda:1`, `metal`.
pub fn device(text: &str) -> Result<Device, String> {
    let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
    let number = usize::from_str(number);
    match (kind, number) {
        ("cpu", Ok(0)) => Ok(Device::Cpu),
        ("cuda", Ok(card)) => Ok(Device::Cuda(card)),
        ("metal", Ok(card)) => Ok(Device::Metal(card)),
        _ => Err("expected cpu, cuda, cuda:N or metal".to_owned()),
    }
}

/// A deserializer that records the variant names of an enum.
struct Words<'w>(&'w mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Words<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("expected an enum"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = variants;
        Err(Error::custom("only the words are read"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolroute_catalog::LatencyTier;

    #[test]
    fn words_are_those_of_the_enum() {
        assert_eq!(words::<LatencyTier>(), ["fast", "medium", "slow", "very_slow"]);
        assert_eq!(joined::<LatencyTier>(), "fast|medium|slow|very_slow");
        assert!(words::<u8>().is_empty());
    }

    #[test]
    fn a_device_is_read_as_it_is_written() {
        for (text, expected) in [
            ("cpu", Device::Cpu),
            ("cuda", Device::Cuda(0)),
            ("cuda:3", Device::Cuda(3)),
            ("metal", Device::Metal(0)),
        ] {
            assert_eq!(device(text), Ok(expected));
        }
        assert_eq!(device("cuda:3").unwrap().to_string(), "cuda:3");
        assert_eq!(device("cuda:0").unwrap().to_string(), "cuda");
        for bad in ["gpu", "cpu:1", "cuda:x", ""] {
            assert!(device(bad).unwrap_err().contains("cpu, cuda"), "{bad}");
        }
    }
}
