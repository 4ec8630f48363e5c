//! Pooling: from one vector per token to one vector per text.

#[cfg(feature = "candle")]
use candle_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

/// How token vectors are combined into a text's vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean over the text's tokens, without padding.
    Mean,
    /// The vector of the first token.
    Cls,
}

#[cfg(feature = "candle")]
impl Pooling {
    /// Pools `hidden` `[batch, tokens, dimension]` under `mask` `[batch, tokens]` (1 for a token,
    /// 0 for padding) to `[batch, dimension]`.
    pub(super) fn apply(self, hidden: &Tensor, mask: &Tensor) -> Result<Tensor> {
        match self {
            Self::Cls => hidden.narrow(1, 0, 1)?.squeeze(1)?.contiguous(),
            Self::Mean => {
                let mask = mask.to_dtype(hidden.dtype())?.unsqueeze(2)?;
                let summed = hidden.broadcast_mul(&mask)?.sum(1)?;
                summed.broadcast_div(&mask.sum(1)?)
            }
        }
    }
}

#[cfg(all(test, feature = "candle"))]
mod tests {
    use candle_core::Device;

    use super::*;

    #[test]
    fn mean_leaves_padding_out_and_cls_takes_the_first() -> Result<()> {
        let hidden = Tensor::new(&[[[1f32, 2.], [3., 6.], [100., 100.]]], &Device::Cpu)?;
        let mask = Tensor::new(&[[1u32, 1, 0]], &Device::Cpu)?;
        assert_eq!(Pooling::Mean.apply(&hidden, &mask)?.to_vec2::<f32>()?, [[2., 4.]]);
        assert_eq!(Pooling::Cls.apply(&hidden, &mask)?.to_vec2::<f32>()?, [[1., 2.]]);
        Ok(())
    }
}
