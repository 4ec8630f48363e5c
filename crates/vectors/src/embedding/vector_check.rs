//! Checks the vectors of an embedder, which may be of any program.

use std::sync::Arc;

use super::{Calibration, Embedded, Embedder, Error, ModelIdentity, Role};

/// The greatest difference of a vector's length from 1. Vectors that were stored in 16 bits differ
/// by less.
const TOLERANCE: f32 = 0.01;

/// An [`Embedder`] that returns an error instead of vectors of another embedder that are not what
/// [`Embedder::embed`] promises.
pub struct VectorCheck(Arc<dyn Embedder>);

impl VectorCheck {
    pub fn new(inner: Arc<dyn Embedder>) -> Self {
        Self(inner)
    }
}

impl Embedder for VectorCheck {
    fn identity(&self) -> &ModelIdentity {
        self.0.identity()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Embedded, Error> {
        let embedded = self.0.embed(texts, role)?;
        let ModelIdentity { name, dimension, .. } = self.identity();
        let (rows, columns) = embedded.vectors.dim();
        if rows != texts.len() || (rows > 0 && columns != *dimension) {
            return Err(Error::BadShape {
                name: name.clone(),
                rows,
                columns,
                texts: texts.len(),
                dimension: *dimension,
            });
        }
        for (row, vector) in embedded.vectors.rows().into_iter().enumerate() {
            let length = vector.dot(&vector).sqrt();
            if length.is_nan() || (length - 1.0).abs() > TOLERANCE {
                return Err(Error::NotUnit { name: name.clone(), row, length });
            }
        }
        Ok(embedded)
    }

    fn reads_latin_only(&self) -> bool {
        self.0.reads_latin_only()
    }

    fn knows_word(&self, word: &str) -> bool {
        self.0.knows_word(word)
    }

    fn calibration(&self) -> Option<Calibration> {
        self.0.calibration()
    }
}
