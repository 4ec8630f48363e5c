//! The weights of a BERT model, read by their names in the safetensors file.

use half::{bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors};

use crate::embedding::architecture::Architecture;
use crate::kernels::{PackedWeight, QuantizedWeight};

/// All weights that a forward pass needs.
pub(in crate::embedding) struct BertWeights {
    pub words: Table,
    pub positions: Vec<f32>,
    pub norm: Norm,
    pub layers: Vec<Layer<LinearWeights>>,
}

/// A layer of the encoder, with its linear layers as weights or packed for the kernels.
pub(in crate::embedding) struct Layer<L> {
    /// Queries, keys and values, stacked. The queries include the factor `1/√d`.
    pub qkv: L,
    pub out: L,
    pub attention_norm: Norm,
    pub up: L,
    pub down: L,
    pub output_norm: Norm,
}

impl<L> Layer<L> {
    /// The linear layers with their names.
    pub fn linears(&self) -> [(&'static str, &L); 4] {
        [("qkv", &self.qkv), ("out", &self.out), ("up", &self.up), ("down", &self.down)]
    }

    /// Applies a function to each linear layer, in the order of [`Layer::linears`].
    pub fn map<M>(self, mut change: impl FnMut(L) -> M) -> Layer<M> {
        Layer {
            qkv: change(self.qkv),
            out: change(self.out),
            attention_norm: self.attention_norm,
            up: change(self.up),
            down: change(self.down),
            output_norm: self.output_norm,
        }
    }
}

pub(in crate::embedding) enum LinearWeights {
    F32 {
        weight: Vec<f32>,
        bias: Vec<f32>,
        inputs: usize,
    },
    /// Each input is divided by its scale before rounding; its weights were multiplied by the scale
    /// before they were rounded.
    Int8 {
        weight: PackedWeight,
        input_scales: Vec<f32>,
        bias: Vec<f32>,
    },
}

/// Gain, bias and ε of a layer norm.
pub(in crate::embedding) struct Norm {
    pub gain: Vec<f32>,
    pub shift: Vec<f32>,
    pub epsilon: f32,
}

impl Norm {
    pub fn as_parts(&self) -> (&[f32], &[f32], f32) {
        (&self.gain, &self.shift, self.epsilon)
    }
}

/// Word embeddings: one vector per token of the vocabulary.
pub(in crate::embedding) enum Table {
    F32 { numbers: Vec<f32>, width: usize },
    Int8(QuantizedWeight),
}

impl Table {
    fn dequantized(self) -> Self {
        match self {
            Self::Int8(table) => Self::F32 { numbers: table.dequantize(), width: table.inputs },
            exact => exact,
        }
    }

    /// Number of tokens, and length of a token's vector.
    pub fn shape(&self) -> [usize; 2] {
        match self {
            Self::F32 { numbers, width } => [numbers.len() / width, *width],
            Self::Int8(table) => [table.scales.len(), table.inputs],
        }
    }

    /// Fills `out` with the numbers of a token's vector from column `start` on.
    pub fn read(&self, word: usize, start: usize, out: &mut [f32]) {
        match self {
            Self::F32 { numbers, width } => {
                let from = word * width + start;
                out.copy_from_slice(&numbers[from..from + out.len()]);
            }
            Self::Int8(table) => {
                let (from, scale) = (word * table.inputs + start, table.scales[word]);
                for (out, number) in out.iter_mut().zip(&table.numbers[from..]) {
                    *out = f32::from(*number) * scale;
                }
            }
        }
    }
}

/// Tensors by name.
struct Tensors<'a> {
    tensors: &'a SafeTensors<'a>,
    /// Some files put all names below `bert.`.
    prefix: &'static str,
}

impl BertWeights {
    /// Converts int8 weights back to f32.
    pub fn dequantized(self) -> Self {
        let layers = self.layers.into_iter().map(|layer| layer.map(LinearWeights::dequantized));
        Self { words: self.words.dequantized(), layers: layers.collect(), ..self }
    }

    /// Checks that rounded weights have the shapes of the model, because the kernels do not check
    /// again.
    pub fn check(&self, config: &Architecture) -> Result<(), String> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let is = |name: &str, found: [usize; 2], expected: [usize; 2]| match found == expected {
            true => Ok(()),
            false => Err(format!("`{name}` is {found:?}, config.json says {expected:?}")),
        };
        let norm = |norm: &Norm| is("norm", [norm.gain.len(), norm.shift.len()], [hidden; 2]);
        is("words", self.words.shape(), [config.vocab_size, hidden])?;
        is("positions", [self.positions.len(), 1], [config.max_position_embeddings * hidden, 1])?;
        norm(&self.norm)?;
        self.layers.iter().try_for_each(|layer| {
            is("qkv", layer.qkv.shape(), [3 * hidden, hidden])?;
            is("out", layer.out.shape(), [hidden, hidden])?;
            is("up", layer.up.shape(), [wide, hidden])?;
            is("down", layer.down.shape(), [hidden, wide])?;
            norm(&layer.attention_norm)?;
            norm(&layer.output_norm)
        })
    }

    /// Reads the tensors of a safetensors file; f16, bf16 and f64 are converted to f32.
    pub fn read(file: &[u8], config: &Architecture) -> Result<Self, String> {
        let tensors = &SafeTensors::deserialize(file).map_err(|error| error.to_string())?;
        let prefixed = tensors.tensor("bert.embeddings.word_embeddings.weight").is_ok();
        let tensors = Tensors { tensors, prefix: if prefixed { "bert." } else { "" } };
        let hidden = config.hidden_size;
        let words = tensors.get("embeddings.word_embeddings.weight", config.vocab_size * hidden)?;
        let mut positions = tensors.get(
            "embeddings.position_embeddings.weight",
            config.max_position_embeddings * hidden,
        )?;
        let types = tensors
            .get("embeddings.token_type_embeddings.weight", config.type_vocab_size * hidden)?;
        for position in positions.chunks_exact_mut(hidden) {
            position.iter_mut().zip(&types).for_each(|(position, first)| *position += first);
        }
        let words = Table::F32 { numbers: words, width: hidden };
        let norm = tensors.norm("embeddings.LayerNorm", config)?;
        let layers = (0..config.num_hidden_layers)
            .map(|layer| tensors.layer(layer, config))
            .collect::<Result<_, String>>()?;
        Ok(Self { words, positions, norm, layers })
    }
}

impl Tensors<'_> {
    fn get(&self, name: &str, numbers: usize) -> Result<Vec<f32>, String> {
        let name = format!("{}{name}", self.prefix);
        let tensor = self.tensors.tensor(&name).map_err(|_| format!("no tensor `{name}`"))?;
        let found: usize = tensor.shape().iter().product();
        if found != numbers {
            return Err(format!("tensor `{name}` holds {found} numbers, expected {numbers}"));
        }
        let bytes = tensor.data();
        match tensor.dtype() {
            Dtype::F32 => Ok(read_all(bytes, f32::from_le_bytes)),
            Dtype::F16 => Ok(read_all(bytes, |bytes| f16::from_le_bytes(bytes).to_f32())),
            Dtype::BF16 => Ok(read_all(bytes, |bytes| bf16::from_le_bytes(bytes).to_f32())),
            Dtype::F64 => Ok(read_all(bytes, |bytes| f64::from_le_bytes(bytes) as f32)),
            other => Err(format!("tensor `{name}` is {other}, expected F32, F16, BF16 or F64")),
        }
    }

    fn norm(&self, name: &str, config: &Architecture) -> Result<Norm, String> {
        let get = |new: &str, old: &str| {
            // Files from before 2019 use the names gamma and beta.
            let new = self.get(&format!("{name}.{new}"), config.hidden_size);
            new.or_else(|error| {
                self.get(&format!("{name}.{old}"), config.hidden_size).map_err(|_| error)
            })
        };
        let epsilon = config.layer_norm_eps as f32;
        Ok(Norm { gain: get("weight", "gamma")?, shift: get("bias", "beta")?, epsilon })
    }

    fn layer(&self, at: usize, config: &Architecture) -> Result<Layer<LinearWeights>, String> {
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let dense = |part: &str, inputs: usize, outputs: usize| {
            let weight = self.get(&name(&format!("{part}.weight")), inputs * outputs)?;
            Ok::<_, String>((weight, self.get(&name(&format!("{part}.bias")), outputs)?))
        };
        let linear = |(weight, bias), inputs| LinearWeights::F32 { weight, bias, inputs };
        // The attention's 1/√d, applied once to the queries instead of to every score.
        let scale = 1.0 / ((hidden / config.num_attention_heads) as f32).sqrt();
        let (mut weight, mut bias) = dense("attention.self.query", hidden, hidden)?;
        weight.iter_mut().chain(&mut bias).for_each(|number| *number *= scale);
        for part in ["attention.self.key", "attention.self.value"] {
            let (more, more_bias) = dense(part, hidden, hidden)?;
            weight.extend(more);
            bias.extend(more_bias);
        }
        Ok(Layer {
            qkv: linear((weight, bias), hidden),
            out: linear(dense("attention.output.dense", hidden, hidden)?, hidden),
            attention_norm: self.norm(&name("attention.output.LayerNorm"), config)?,
            up: linear(dense("intermediate.dense", hidden, wide)?, hidden),
            down: linear(dense("output.dense", wide, hidden)?, wide),
            output_norm: self.norm(&name("output.LayerNorm"), config)?,
        })
    }
}

/// Decodes a tensor with `N` bytes per number.
fn read_all<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|bytes| number(*bytes)).collect()
}

impl LinearWeights {
    /// Number of outputs and of inputs.
    fn shape(&self) -> [usize; 2] {
        match self {
            Self::F32 { bias, inputs, .. } => [bias.len(), *inputs],
            Self::Int8 { weight, .. } => [weight.scales.len(), weight.inputs],
        }
    }

    fn dequantized(self) -> Self {
        match self {
            exact @ Self::F32 { .. } => exact,
            Self::Int8 { weight, input_scales, bias } => {
                let (inputs, mut numbers) = (weight.inputs, weight.unpacked().dequantize());
                for row in numbers.chunks_exact_mut(inputs) {
                    row.iter_mut().zip(&input_scales).for_each(|(weight, scale)| *weight /= scale);
                }
                Self::F32 { weight: numbers, bias, inputs }
            }
        }
    }
}
