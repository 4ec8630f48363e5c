//! The rounded weights on disk: made once from the model's own, kept beside them as safetensors.
//!
//! Rounding is deterministic, so the file's SHA-256 is known for a model that is known, and a
//! manifest can hold it.

use std::borrow::Cow;
use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::weights::{BertWeights, LayerWeights, LinearWeights, Norm, Table};
use crate::embedding::kernels::{QuantizedWeight, signed};

/// Raise it whenever the same weights would be rounded or laid out differently.
const FORMAT: &str = "toolroute-int8-2";

/// A tensor on its way to a file.
struct Stored<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl View for &Stored<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Gathers tensors by name.
#[derive(Default)]
struct Writer<'a> {
    tensors: Vec<(String, Stored<'a>)>,
}

impl Writer<'_> {
    fn f32(&mut self, name: &str, numbers: &[f32]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let stored = Stored { dtype: Dtype::F32, shape: vec![numbers.len()], bytes: bytes.into() };
        self.tensors.push((name.to_owned(), stored));
    }

    fn int8(&mut self, name: &str, weight: &QuantizedWeight<'_>) {
        let bytes: Vec<u8> = weight.numbers.iter().map(|number| number.cast_unsigned()).collect();
        let shape = vec![weight.scales.len(), weight.inputs];
        let stored = Stored { dtype: Dtype::I8, shape, bytes: bytes.into() };
        self.tensors.push((format!("{name}.weight"), stored));
        self.f32(&format!("{name}.scale"), &weight.scales);
    }

    fn norm(&mut self, name: &str, norm: &Norm) {
        self.f32(&format!("{name}.gain"), &norm.gain);
        self.f32(&format!("{name}.shift"), &norm.shift);
        self.f32(&format!("{name}.epsilon"), &[norm.epsilon]);
    }

    /// Only rounded weights are stored: the others are the model's own file.
    fn linear(&mut self, name: &str, weights: &LinearWeights<'_>) {
        if let LinearWeights::Int8 { weight, input_scales, bias } = weights {
            self.int8(name, weight);
            self.f32(&format!("{name}.input_scale"), input_scales);
            self.f32(&format!("{name}.bias"), bias);
        }
    }
}

fn about(source: &str) -> String {
    format!("format={FORMAT};source={source}")
}

/// Rounded weights as the bytes of a safetensors file; `source` names the weights they are of.
pub(in crate::embedding) fn to_bytes(
    weights: &BertWeights<'_>,
    source: &str,
) -> Result<Vec<u8>, String> {
    let mut writer = Writer::default();
    if let Table::Int8(words) = &weights.words {
        writer.int8("words", words);
    }
    writer.f32("positions", &weights.positions);
    writer.norm("norm", &weights.norm);
    for (at, layer) in weights.layers.iter().enumerate() {
        for (part, linear) in layer.linears() {
            writer.linear(&format!("layer.{at}.{part}"), linear);
        }
        writer.norm(&format!("layer.{at}.attention_norm"), &layer.attention_norm);
        writer.norm(&format!("layer.{at}.output_norm"), &layer.output_norm);
    }
    let tensors = writer.tensors.iter().map(|(name, stored)| (name.as_str(), stored));
    // One entry, because a map writes several in another order each time.
    let about = HashMap::from([("about".to_owned(), about(source))]);
    safetensors::serialize(tensors, Some(about)).map_err(|error| error.to_string())
}

/// Reads what [`to_bytes`] wrote; large tensors are borrowed. `source` is `None` where the file
/// itself is pinned.
///
/// # Errors
/// Where the bytes are no such file, or one of other weights.
pub(in crate::embedding) fn from_bytes<'a>(
    bytes: &'a [u8],
    source: Option<&str>,
    layers: usize,
) -> Result<BertWeights<'a>, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let about = header.metadata().as_ref().and_then(|map| map.get("about")).cloned();
    let expected = self::about(source.unwrap_or_default());
    let right = |about: &String| match source {
        Some(_) => *about == expected,
        None => about.starts_with(&expected),
    };
    if !about.as_ref().is_some_and(right) {
        return Err(format!("it says {about:?}, expected {expected:?}"));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let read = Reader { tensors };
    Ok(BertWeights {
        words: Table::Int8(read.int8("words")?),
        positions: read.f32("positions")?,
        norm: read.norm("norm")?,
        layers: (0..layers).map(|at| read.layer(at)).collect::<Result<_, _>>()?,
    })
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
}

impl<'a> Reader<'a> {
    fn f32(&self, name: &str) -> Result<Vec<f32>, String> {
        let tensor = self.tensors.tensor(name).map_err(|error| error.to_string())?;
        if tensor.dtype() != Dtype::F32 {
            return Err(format!("tensor `{name}` is {:?}, expected F32", tensor.dtype()));
        }
        let numbers = tensor.data().as_chunks::<4>().0;
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn int8(&self, name: &str) -> Result<QuantizedWeight<'a>, String> {
        let scales = self.f32(&format!("{name}.scale"))?;
        let name = format!("{name}.weight");
        let tensor = self.tensors.tensor(&name).map_err(|error| error.to_string())?;
        match (tensor.dtype(), tensor.shape()) {
            (Dtype::I8, [outputs, inputs]) if *outputs == scales.len() => {
                let numbers = Cow::Borrowed(signed(tensor.data()));
                Ok(QuantizedWeight { inputs: *inputs, numbers, scales })
            }
            (dtype, shape) => {
                Err(format!("tensor `{name}` is {dtype:?} of {shape:?}, expected I8"))
            }
        }
    }

    fn norm(&self, name: &str) -> Result<Norm, String> {
        let (gain, shift) =
            (self.f32(&format!("{name}.gain"))?, self.f32(&format!("{name}.shift"))?);
        let epsilon = self.f32(&format!("{name}.epsilon"))?;
        let epsilon = *epsilon.first().ok_or_else(|| format!("`{name}` has no epsilon"))?;
        Ok(Norm { gain, shift, epsilon })
    }

    fn layer(&self, at: usize) -> Result<LayerWeights<'a>, String> {
        let name = |part: &str| format!("layer.{at}.{part}");
        let linear = |part: &str| {
            let weight = self.int8(&name(part))?;
            let numbers = |what: &str, expected: usize| {
                let name = name(&format!("{part}.{what}"));
                let numbers = self.f32(&name)?;
                match numbers.len() == expected {
                    true => Ok(numbers),
                    false => Err(format!("`{name}` has {}, expected {expected}", numbers.len())),
                }
            };
            let bias = numbers("bias", weight.scales.len())?;
            let input_scales = numbers("input_scale", weight.inputs)?;
            Ok::<_, String>(LinearWeights::Int8 { weight, input_scales, bias })
        };
        Ok(LayerWeights {
            qkv: linear("qkv")?,
            out: linear("out")?,
            attention_norm: self.norm(&name("attention_norm"))?,
            up: linear("up")?,
            down: linear("down")?,
            output_norm: self.norm(&name("output_norm"))?,
        })
    }
}
