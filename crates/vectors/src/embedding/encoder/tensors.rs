//! Converts [`BertWeights`] back to tensors with the names of a safetensors file.

use std::collections::HashMap;

use candle_core::{Device, Result, Tensor, bail};

use super::super::architecture::Architecture;
use super::weights::{BertWeights, Layer, LinearWeights, Norm, Table};

/// Tensors by name, and their device.
struct Named<'d> {
    tensors: HashMap<String, Tensor>,
    device: &'d Device,
}

impl BertWeights {
    /// Returns the f32 tensors that candle's model needs.
    ///
    /// The positions already include the first token type, so the token types are zeros. The factor
    /// `1/√d` is removed from the queries.
    pub fn tensors(
        &self,
        config: &Architecture,
        device: &Device,
    ) -> Result<HashMap<String, Tensor>> {
        let hidden = config.hidden_size;
        let Table::F32 { numbers: words, .. } = &self.words else {
            bail!("the words are rounded; expected f32. This is a bug.");
        };
        let mut named = Named { tensors: HashMap::new(), device };
        named.table("embeddings.word_embeddings.weight", words, hidden)?;
        named.table("embeddings.position_embeddings.weight", &self.positions, hidden)?;
        let types = vec![0.0; config.type_vocab_size * hidden];
        named.table("embeddings.token_type_embeddings.weight", &types, hidden)?;
        named.norm("embeddings.LayerNorm", &self.norm)?;
        let scale = ((hidden / config.num_attention_heads) as f32).sqrt();
        for (at, layer) in self.layers.iter().enumerate() {
            named.layer(&format!("encoder.layer.{at}"), layer, scale)?;
        }
        Ok(named.tensors)
    }
}

impl Named<'_> {
    fn vector(&mut self, name: &str, numbers: &[f32]) -> Result<()> {
        let tensor = Tensor::from_slice(numbers, numbers.len(), self.device)?;
        self.tensors.insert(name.to_owned(), tensor);
        Ok(())
    }

    fn table(&mut self, name: &str, numbers: &[f32], width: usize) -> Result<()> {
        let shape = (numbers.len() / width, width);
        let tensor = Tensor::from_slice(numbers, shape, self.device)?;
        self.tensors.insert(name.to_owned(), tensor);
        Ok(())
    }

    fn norm(&mut self, name: &str, norm: &Norm) -> Result<()> {
        self.vector(&format!("{name}.weight"), &norm.gain)?;
        self.vector(&format!("{name}.bias"), &norm.shift)
    }

    fn linear(
        &mut self,
        name: &str,
        (weight, bias): (&[f32], &[f32]),
        inputs: usize,
    ) -> Result<()> {
        self.table(&format!("{name}.weight"), weight, inputs)?;
        self.vector(&format!("{name}.bias"), bias)
    }

    fn layer(&mut self, name: &str, layer: &Layer<LinearWeights>, scale: f32) -> Result<()> {
        let (weight, bias, inputs) = parts(&layer.qkv)?;
        let (rows, whole) = (bias.len() / 3, weight.len() / 3);
        for (at, part) in ["query", "key", "value"].into_iter().enumerate() {
            let mut weight = weight[at * whole..(at + 1) * whole].to_vec();
            let mut bias = bias[at * rows..(at + 1) * rows].to_vec();
            if part == "query" {
                weight.iter_mut().chain(&mut bias).for_each(|number| *number *= scale);
            }
            self.linear(&format!("{name}.attention.self.{part}"), (&weight, &bias), inputs)?;
        }
        for (part, linear) in [
            ("attention.output.dense", &layer.out),
            ("intermediate.dense", &layer.up),
            ("output.dense", &layer.down),
        ] {
            let (weight, bias, inputs) = parts(linear)?;
            self.linear(&format!("{name}.{part}"), (weight, bias), inputs)?;
        }
        self.norm(&format!("{name}.attention.output.LayerNorm"), &layer.attention_norm)?;
        self.norm(&format!("{name}.output.LayerNorm"), &layer.output_norm)
    }
}

fn parts(linear: &LinearWeights) -> Result<(&[f32], &[f32], usize)> {
    match linear {
        LinearWeights::F32 { weight, bias, inputs } => Ok((weight, bias, *inputs)),
        LinearWeights::Int8 { .. } => bail!("a layer is rounded; expected f32. This is a bug."),
    }
}
