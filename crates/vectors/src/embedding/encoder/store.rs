//! The rounded weights on disk, stored as a safetensors file beside the model's own weights.
//!
//! Rounding is deterministic, so a manifest can pin the SHA-256 of the file. int8 tensors start at
//! multiples of 64 bytes from the start of the file, so that a file that is itself aligned, such as
//! one in the binary, can be used in place.

use std::borrow::Cow;
use std::collections::HashMap;

use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::weights::{BertWeights, Layer, LinearWeights, Norm, Table};
use crate::kernels::{LINE, PANEL, PackedWeight, QuantizedWeight, signed};

/// Increase it whenever the same weights would be rounded or laid out differently.
const FORMAT: &str = "toolroute-int8-3";

/// Collects tensors: name, type, shape and bytes of each.
#[derive(Default)]
struct Writer {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Writer {
    fn put(&mut self, name: &str, dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) {
        self.tensors.push((name.to_owned(), dtype, shape, bytes));
    }

    fn f32(&mut self, name: &str, numbers: &[f32]) {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.put(name, Dtype::F32, vec![numbers.len()], bytes);
    }

    fn i8(&mut self, name: &str, shape: Vec<usize>, numbers: &[i8]) {
        let bytes = numbers.iter().map(|number| number.cast_unsigned()).collect();
        self.put(name, Dtype::I8, shape, bytes);
    }

    fn words(&mut self, name: &str, weight: &QuantizedWeight) {
        let shape = vec![weight.scales.len(), weight.inputs];
        self.i8(&format!("{name}.weight"), shape, &weight.numbers);
        self.f32(&format!("{name}.scale"), &weight.scales);
    }

    fn packed(&mut self, name: &str, weight: &PackedWeight) {
        self.i8(&format!("{name}.packed"), packed_shape(weight), &weight.numbers);
        let sums = weight.sums.iter().flat_map(|sum| sum.to_le_bytes()).collect();
        self.put(&format!("{name}.sum"), Dtype::I32, vec![weight.sums.len()], sums);
        self.f32(&format!("{name}.scale"), &weight.scales);
    }

    /// safetensors writes f32 before int8. Pads the f32 part to a multiple of 64 bytes.
    fn fill_line(&mut self) {
        let numbers = self.tensors.iter().filter(|(_, dtype, ..)| *dtype != Dtype::I8);
        let bytes: usize = numbers.map(|(.., bytes)| bytes.len()).sum();
        self.f32("padding", &vec![0.0; (bytes.next_multiple_of(LINE) - bytes) / 4]);
    }

    fn norm(&mut self, name: &str, norm: &Norm) {
        self.f32(&format!("{name}.gain"), &norm.gain);
        self.f32(&format!("{name}.shift"), &norm.shift);
        self.f32(&format!("{name}.epsilon"), &[norm.epsilon]);
    }

    /// Only int8 weights are stored; f32 weights are in the model's own file.
    fn linear(&mut self, name: &str, weights: &LinearWeights) {
        if let LinearWeights::Int8 { weight, input_scales, bias } = weights {
            self.packed(name, weight);
            self.f32(&format!("{name}.input_scale"), input_scales);
            self.f32(&format!("{name}.bias"), bias);
        }
    }
}

/// Shape: panels, groups of four inputs, outputs of a panel, inputs of a group.
fn packed_shape(weight: &PackedWeight) -> Vec<usize> {
    vec![weight.scales.len() / PANEL, weight.inputs / 4, PANEL, 4]
}

fn about(source: &str) -> String {
    format!("format={FORMAT};source={source}")
}

/// Serialises rounded weights as a safetensors file. `source` identifies the original weights.
pub(in crate::embedding) fn to_bytes(
    weights: &BertWeights,
    source: &str,
) -> Result<Vec<u8>, String> {
    let mut writer = Writer::default();
    if let Table::Int8(words) = &weights.words {
        writer.words("words", words);
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
    writer.fill_line();
    let text = |error: SafeTensorError| error.to_string();
    let tensors = writer.tensors.iter().map(|(name, dtype, shape, bytes)| {
        Ok((name, TensorView::new(*dtype, shape.clone(), bytes).map_err(text)?))
    });
    let tensors = tensors.collect::<Result<Vec<_>, String>>()?;
    let write = |about: String| {
        let tensors = tensors.iter().map(|(name, tensor)| (name, tensor));
        // A single entry: a map with several would be written in a different order each time.
        let about = HashMap::from([("about".to_owned(), about)]);
        safetensors::serialize(tensors, Some(about)).map_err(text)
    };
    let bytes = write(about(source))?;
    let (header, _) = SafeTensors::read_metadata(&bytes).map_err(text)?;
    // The first 8 bytes are the length of the header. Spaces pad the header to a multiple of 64
    // bytes.
    let start = header + 8;
    write(about(source) + &" ".repeat(start.next_multiple_of(LINE) - start))
}

/// Makes int8 numbers of a file last: borrows those of the binary, copies others.
pub(in crate::embedding) type Keep<'a> = fn(&'a [i8]) -> Cow<'static, [i8]>;

/// Reads what [`to_bytes`] wrote. `source` is `None` if the file itself is pinned by a hash.
pub(in crate::embedding) fn from_bytes<'a>(
    bytes: &'a [u8],
    keep: Keep<'a>,
    source: Option<&str>,
    layers: usize,
) -> Result<BertWeights, String> {
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| error.to_string())?;
    let about = header.metadata().as_ref().and_then(|map| map.get("about")).cloned();
    let expected = self::about(source.unwrap_or_default());
    let right = |about: &String| match source {
        Some(_) => about.trim_end() == expected,
        None => about.starts_with(&expected),
    };
    if !about.as_ref().is_some_and(right) {
        return Err(format!("it says {about:?}, expected {expected:?}"));
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| error.to_string())?;
    let read = Reader { tensors, keep };
    Ok(BertWeights {
        words: Table::Int8(read.words("words")?),
        positions: read.f32("positions")?,
        norm: read.norm("norm")?,
        layers: (0..layers).map(|at| read.layer(at)).collect::<Result<_, _>>()?,
    })
}

struct Reader<'a> {
    tensors: SafeTensors<'a>,
    keep: Keep<'a>,
}

impl Reader<'_> {
    /// Reads a tensor of four-byte numbers.
    fn fours(&self, name: &str, dtype: Dtype) -> Result<&[[u8; 4]], String> {
        let tensor = self.tensors.tensor(name).map_err(|error| error.to_string())?;
        if tensor.dtype() != dtype {
            return Err(format!("tensor `{name}` is {:?}, expected {dtype:?}", tensor.dtype()));
        }
        Ok(tensor.data().as_chunks::<4>().0)
    }

    fn f32(&self, name: &str) -> Result<Vec<f32>, String> {
        let numbers = self.fours(name, Dtype::F32)?;
        Ok(numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }

    fn i8(&self, name: &str) -> Result<(Vec<usize>, Cow<'static, [i8]>), String> {
        let tensor = self.tensors.tensor(name).map_err(|error| error.to_string())?;
        match tensor.dtype() {
            Dtype::I8 => Ok((tensor.shape().to_vec(), (self.keep)(signed(tensor.data())))),
            other => Err(format!("tensor `{name}` is {other:?}, expected I8")),
        }
    }

    fn words(&self, name: &str) -> Result<QuantizedWeight, String> {
        let scales = self.f32(&format!("{name}.scale"))?;
        let (shape, numbers) = self.i8(&format!("{name}.weight"))?;
        match shape[..] {
            [words, inputs] if words == scales.len() => {
                Ok(QuantizedWeight { inputs, numbers, scales })
            }
            _ => Err(format!("`{name}` is {shape:?} with {} scales", scales.len())),
        }
    }

    fn packed(&self, name: &str) -> Result<PackedWeight, String> {
        let (shape, numbers) = self.i8(&format!("{name}.packed"))?;
        let sums = self.fours(&format!("{name}.sum"), Dtype::I32)?;
        let weight = PackedWeight {
            inputs: shape.get(1).map_or(0, |groups| groups * 4),
            numbers,
            sums: sums.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect(),
            scales: self.f32(&format!("{name}.scale"))?,
        };
        match weight.is_whole() && shape == packed_shape(&weight) {
            true => Ok(weight),
            false => Err(format!("`{name}` is {shape:?} with {} scales", weight.scales.len())),
        }
    }

    fn norm(&self, name: &str) -> Result<Norm, String> {
        let (gain, shift) =
            (self.f32(&format!("{name}.gain"))?, self.f32(&format!("{name}.shift"))?);
        let epsilon = self.f32(&format!("{name}.epsilon"))?;
        let epsilon = *epsilon.first().ok_or_else(|| format!("`{name}` has no epsilon"))?;
        Ok(Norm { gain, shift, epsilon })
    }

    fn layer(&self, at: usize) -> Result<Layer<LinearWeights>, String> {
        let name = |part: &str| format!("layer.{at}.{part}");
        let linear = |part: &str| {
            let weight = self.packed(&name(part))?;
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
        Ok(Layer {
            qkv: linear("qkv")?,
            out: linear("out")?,
            attention_norm: self.norm(&name("attention_norm"))?,
            up: linear("up")?,
            down: linear("down")?,
            output_norm: self.norm(&name("output_norm"))?,
        })
    }
}
