//! The shape of a BERT model, as its `config.json` describes it.

use serde::Deserialize;

/// The fields of a BERT model's `config.json` that influence the result.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Architecture {
    pub vocab_size: usize,
    /// Length of a token's vector.
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    /// Width between the two linear layers of the feed-forward part.
    pub intermediate_size: usize,
    pub hidden_act: Activation,
    pub max_position_embeddings: usize,
    pub type_vocab_size: usize,
    pub layer_norm_eps: f64,
    #[serde(default)]
    pub pad_token_id: u32,
    /// Only read so that deserializing fails for a model with relative positions.
    #[serde(default, rename = "position_embedding_type")]
    _positions: Positions,
}

/// The activation between the two linear layers of the feed-forward part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activation {
    Gelu,
    /// [`Activation::Gelu`], approximated by a hyperbolic tangent.
    #[serde(alias = "geluapproximate", alias = "gelu_new", alias = "gelu_pytorch_tanh")]
    GeluApproximate,
    Relu,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Positions {
    #[default]
    Absolute,
}
