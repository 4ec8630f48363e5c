//! The shape of a BERT model, as its `config.json` says.

use serde::Deserialize;

/// The members of a BERT model's `config.json` that decide what is computed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Architecture {
    pub vocab_size: usize,
    /// Numbers of a token's vector.
    pub hidden_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    /// Numbers between the two linear layers that follow the attention.
    pub intermediate_size: usize,
    pub hidden_act: Activation,
    pub max_position_embeddings: usize,
    pub type_vocab_size: usize,
    pub layer_norm_eps: f64,
    #[serde(default)]
    pub pad_token_id: u32,
    /// Read so that a model with relative positions is refused.
    #[serde(default, rename = "position_embedding_type")]
    _positions: Positions,
}

/// What stands between the two linear layers that follow the attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activation {
    Gelu,
    /// [`Activation::Gelu`] by a hyperbolic tangent.
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
