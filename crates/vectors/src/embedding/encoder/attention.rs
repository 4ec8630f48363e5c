//! One head of self-attention over packed sequences.

use super::Span;
use super::linear::{Input, Linear};
use crate::kernels::{Aligned, Isa, Left, Math, PANEL, multiply_panel};

pub(super) struct Head<'a> {
    pub qkv: &'a Linear,
    pub number: usize,
    /// Width of the head in panels of 32 columns.
    pub panels: usize,
}

/// Buffers of one worker.
#[derive(Default)]
pub(super) struct HeadScratch {
    /// Queries, keys and values of this head, for all rows.
    qkv: Aligned<f32>,
    /// Transposed keys of one sequence, in panels of 32 keys.
    keys: Aligned<f32>,
    scores: Aligned<f32>,
    sums: Vec<f32>,
}

/// A score so low that its exponential is 0.
const NEVER: f32 = -1e30;

/// Writes the attention output of one head, `head.panels` panels for all rows, into `out`.
pub(super) fn attend(
    isa: Isa,
    math: &Math,
    head: &Head<'_>,
    x: &Input,
    spans: &[Span],
    scratch: &mut HeadScratch,
    out: &mut [f32],
) {
    let rows = x.tiles.rows();
    let size = rows * PANEL * head.panels;
    scratch.qkv.resize(3 * size);
    let all_heads = head.qkv.panels() / 3;
    for (part, out) in scratch.qkv.chunks_exact_mut(size).enumerate() {
        let first = part * all_heads + head.number * head.panels;
        head.qkv.multiply(x, first..first + head.panels, out);
    }
    for span in spans {
        attend_span(isa, math, head.panels, rows, *span, scratch, out);
    }
}

fn attend_span(
    isa: Isa,
    math: &Math,
    head_panels: usize,
    rows: usize,
    span: Span,
    scratch: &mut HeadScratch,
    out: &mut [f32],
) {
    let Span { start, len } = span;
    let HeadScratch { qkv, keys, scores, sums } = scratch;
    let (panel, depth) = (rows * PANEL, head_panels * PANEL);
    let (queries, rest) = qkv.split_at(panel * head_panels);
    let (key_rows, values) = rest.split_at(panel * head_panels);
    let blocks = len.div_ceil(PANEL);
    transpose_keys(key_rows, rows, span, depth, keys);
    scores.resize(blocks * len * PANEL);
    let left = Left { numbers: &queries[start * PANEL..], tile_stride: panel, rows: len, depth };
    for (block, scores) in scores.chunks_exact_mut(len * PANEL).enumerate() {
        let keys = &keys[block * depth * PANEL..(block + 1) * depth * PANEL];
        multiply_panel(isa, &left, keys, &mask(len - block * PANEL), scores);
    }
    sums.resize(len, 0.0);
    math.exponentials(scores, sums);
    let left = Left { numbers: scores, tile_stride: len * PANEL, rows: len, depth: len };
    for (values, out) in values.chunks_exact(panel).zip(out.chunks_exact_mut(panel)) {
        let rows = start * PANEL..(start + len) * PANEL;
        let out = &mut out[rows.clone()];
        multiply_panel(isa, &left, &values[rows], &[0.0; PANEL], out);
        math.divide_rows(out, sums);
    }
}

/// The initial scores of a block. Keys beyond the end of the sequence get [`NEVER`].
fn mask(keys: usize) -> [f32; PANEL] {
    let mut mask = [0.0; PANEL];
    mask[keys.min(PANEL)..].fill(NEVER);
    mask
}

/// Transposes the keys of a sequence into panels of 32 keys; a panel has one row of 32 numbers per
/// dimension of the head. Columns beyond the end are 0.
fn transpose_keys(keys: &[f32], rows: usize, span: Span, depth: usize, out: &mut Aligned<f32>) {
    let blocks = span.len.div_ceil(PANEL);
    out.resize(blocks * depth * PANEL);
    for (block, out) in out.chunks_exact_mut(depth * PANEL).enumerate() {
        let first = block * PANEL;
        let here = (span.len - first).min(PANEL);
        if here < PANEL {
            out.fill(0.0);
        }
        for tile in 0..depth / PANEL {
            let from = (tile * rows + span.start + first) * PANEL;
            let from = keys[from..from + here * PANEL].as_chunks::<PANEL>().0;
            let out =
                out[tile * PANEL * PANEL..(tile + 1) * PANEL * PANEL].as_chunks_mut::<PANEL>().0;
            for (key, numbers) in from.iter().enumerate() {
                for (number, out) in numbers.iter().zip(out.iter_mut()) {
                    out[key] = *number;
                }
            }
        }
    }
}
