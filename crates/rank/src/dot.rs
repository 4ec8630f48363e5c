//! The dot product.

/// Returns the dot product of two vectors of the same length.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    // Eight independent sums, which the compiler turns into vector instructions.
    let mut sums = [0.0f32; 8];
    let (chunks_a, chunks_b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = chunks_a.remainder().iter().zip(chunks_b.remainder());
    let rest: f32 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in chunks_a.zip(chunks_b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f32>() + rest
}
