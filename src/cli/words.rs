//! Options whose value is one of a few words.
//!
//! The words of an enum stand in one place, its `Deserialize`: flags, variables, files and help
//! read them there.

use std::str::FromStr as _;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::de::{Deserializer, Error as _, Visitor};

use toolroute_vectors::embedding::Device;

/// What makes a score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    Tuned,
    Plain,
}

/// How meaning and words become one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FusionMethod {
    Weighted,
    Rrf,
}

/// How both parts of the weighted blend are brought to one scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    Absolute,
    MinMax,
    ZScore,
}

/// What runs the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackendName {
    Native,
    Candle,
}

/// How logs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    Text,
    Json,
}

/// The words of an enum, in the order of its variants.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words: &'static [&'static str] = &[];
    // The words are all that is wanted: no value comes out of it.
    T::deserialize(Words(&mut words)).err();
    words
}

/// The words of an enum as help shows them: `low|medium|high`.
pub fn joined<T: DeserializeOwned>() -> &'static str {
    // clap takes static texts alone, and a process describes its arguments once.
    words::<T>().join("|").leak()
}

/// Reads a word as a value of an enum; clap lists the words in its errors and completions.
pub fn word<T>() -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words::<T>()).map(|word| {
        let word: StrDeserializer<'_, Error> = word.as_str().into_deserializer();
        T::deserialize(word).expect("clap admits only the words of the enum. This is a bug.")
    })
}

/// `cpu`, `cuda`, `cuda:1`, `metal`.
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

/// Keeps the words that an enum names when it is read.
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
