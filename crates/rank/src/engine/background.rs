//! The vectors of the background prompts: ordinary prompts, whose scores in a catalog determine its
//! threshold ([`background_evidence`](crate::selection::background_evidence)).
//!
//! For the built-in encoder, they are shipped as 8-bit numbers (`scripts/calibrate.py --write`),
//! because embedding 500 prompts takes as long as ten starts. For other models, the prompts are
//! embedded on first use.

use std::sync::OnceLock;

use super::{Error, fingerprint, texts};
use crate::embedding::{Embedder, Role};
use crate::index::Vectors;
use crate::selection::background_prompts;

#[cfg(feature = "built-in-model")]
const SHIPPED: &[u8] = include_bytes!("../../../../models/toolroute-l6-v1/background.int8");
#[cfg(not(feature = "built-in-model"))]
const SHIPPED: &[u8] = &[];

/// Length of the key at the start of a file of vectors.
const KEY: usize = 64;

/// The vectors of the background prompts, computed lazily.
#[derive(Default)]
pub(super) struct Background(OnceLock<Vectors>);

impl Background {
    /// Returns the vectors, one row per prompt.
    pub fn vectors(&self, model: &dyn Embedder) -> Result<&Vectors, Error> {
        if let Some(vectors) = self.0.get() {
            return Ok(vectors);
        }
        let vectors = match shipped(model) {
            Some(vectors) => vectors,
            None => embed(model)?,
        };
        Ok(self.0.get_or_init(|| vectors))
    }
}

/// Identifies the model and the prompts of a file of vectors.
fn key(model: &dyn Embedder) -> String {
    fingerprint(&[&model.identity().fingerprint, &background_prompts().join("\n")])
}

/// Returns the shipped vectors, if they belong to this model.
fn shipped(model: &dyn Embedder) -> Option<Vectors> {
    read(SHIPPED, &key(model), model.identity().dimension)
}

fn read(file: &[u8], key: &str, dimension: usize) -> Option<Vectors> {
    let (found, numbers) = file.split_at_checked(KEY)?;
    if found != key.as_bytes() || numbers.len() != background_prompts().len() * dimension {
        return None;
    }
    let numbers: Vec<f32> = numbers.iter().map(|&byte| f32::from(byte.cast_signed())).collect();
    let rows: Vec<&[f32]> = numbers.chunks_exact(dimension).collect();
    Vectors::from_rows(&rows).ok()
}

fn embed(model: &dyn Embedder) -> Result<Vectors, Error> {
    let embedded = texts::embed(model, &background_prompts(), Role::Query)?;
    Ok(Vectors::from_rows(&embedded.vectors)?)
}

/// Returns the contents of a file with a model's vectors of the background prompts, such as
/// `models/toolroute-l6-v1/background.int8`.
pub fn background_file(model: &dyn Embedder) -> Result<Vec<u8>, Error> {
    let mut file = key(model).into_bytes();
    for row in embed(model)?.as_slice().chunks_exact(model.identity().dimension) {
        let most = row.iter().fold(f32::MIN_POSITIVE, |most, number| most.max(number.abs()));
        file.extend(
            row.iter().map(|number| ((number / most * 127.0).round() as i8).cast_unsigned()),
        );
    }
    Ok(file)
}

#[cfg(all(test, feature = "built-in-model"))]
mod tests {
    use super::*;
    use crate::embedding::{BertEmbedder, StaticEmbedder};
    use crate::index::dot;

    #[test]
    fn the_vectors_that_ship_are_those_of_the_built_in_encoder() {
        let model = BertEmbedder::built_in().unwrap();
        let shipped = shipped(&model).expect(
            "models/toolroute-l6-v1/background.int8 is of other weights or other prompts; make it with scripts/calibrate.py --write",
        );
        let prompts = background_prompts();
        let own = model.embed(&prompts[..4], Role::Query).unwrap().vectors;
        for (own, row) in own.rows().into_iter().zip(0..) {
            assert!(dot(own.as_slice().unwrap(), shipped.get(row).unwrap()) > 0.999);
        }
    }

    #[test]
    fn another_model_makes_its_own_and_its_file_is_read_back() {
        let model = StaticEmbedder::built_in().unwrap();
        assert!(shipped(&model).is_none());
        let background = Background::default();
        let own = background.vectors(&model).unwrap();
        let file = background_file(&model).unwrap();
        let dimension = own.dimension();
        let back = read(&file, &key(&model), dimension).unwrap();
        let near = |row| dot(own.get(row).unwrap(), back.get(row).unwrap()) > 0.999;
        assert!(back.len() == 500 && (0..500).all(near));
        assert!(read(&file, "another", dimension).is_none());
        assert!(read(&file[..99], &key(&model), dimension).is_none());
    }
}
