//! Our own forward pass of a BERT model, on the CPU.
//!
//! Sequences are concatenated without padding, so the cost of a batch depends on its number of
//! tokens only. The result of a sequence is bit-identical whatever the batch, the block size and
//! the number of threads. Tests compare it with candle-transformers' model ([`super::reference`]).

mod attention;
mod linear;
mod rounding;
mod store;
#[cfg(feature = "candle")]
mod tensors;
mod weights;

use super::architecture::Activation;
use super::files::ModelConfig;
use super::{Error, Pooling};
use crate::kernels::{Isa, Math, PANEL, Pool, PoolGuard, Tiles};
use attention::HeadScratch;
use linear::{Input, Linear};
pub(super) use rounding::rounded;
pub(super) use store::{Keep, from_bytes, to_bytes};
pub(super) use weights::{BertWeights, Layer, Norm, Table};

/// How the weights of the linear layers are stored and multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Weights are rounded to int8 with a scale per output, activations with a scale per row.
    /// Before that, large inputs are scaled down and their weights scaled up (see the module
    /// `rounding`).
    Int8,
    /// f32 weights, as stored in the model's file.
    #[default]
    F32,
}

/// Tokens in one forward pass of a batch. Large enough that each panel of weights is used many
/// times while it is in the cache, small enough that the activations stay in the second-level
/// cache.
const PASS: usize = 256;

/// A BERT encoder including its pooling.
pub(super) struct Encoder {
    math: Math,
    isa: Isa,
    words: Table,
    /// Sum of position and first token type embeddings: `[positions, hidden]`.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer<Linear>>,
    pooling: Pooling,
    hidden: usize,
    heads: usize,
    pool: Pool,
}

/// The rows of one sequence in the packed batch.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    len: usize,
}

/// Buffers that are reused between forward passes.
#[derive(Default)]
struct Scratch {
    x: Input,
    context: Input,
    wide: Input,
    out: Tiles<f32>,
    heads: Vec<HeadScratch>,
}

/// The threads of a pass; `None` means the caller's thread only.
type Team<'a> = Option<&'a PoolGuard<'a>>;

impl Encoder {
    /// Whether our encoder supports the model; candle runs the others.
    pub fn covers(config: &ModelConfig) -> bool {
        let bert = &config.bert;
        let (hidden, heads) = (bert.hidden_size, bert.num_attention_heads.max(1));
        let whole = |numbers: usize| numbers > 0 && numbers.is_multiple_of(PANEL);
        matches!(bert.hidden_act, Activation::Gelu)
            && hidden.is_multiple_of(heads)
            && [hidden, hidden / heads, bert.intermediate_size].into_iter().all(whole)
    }

    /// Packs f32 weights. int8 weights and word embeddings are used in place. `threads` threads
    /// share a single prompt.
    pub fn new(weights: BertWeights, config: &ModelConfig, threads: usize) -> Self {
        let isa = Isa::detect();
        let layers = weights.layers.into_iter();
        let layers = layers.map(|layer| layer.map(|linear| Linear::new(isa, linear)));
        Self {
            math: Math::default(),
            isa,
            layers: layers.collect(),
            words: weights.words,
            positions: weights.positions,
            norm: weights.norm,
            pooling: config.pooling,
            hidden: config.bert.hidden_size,
            heads: config.bert.num_attention_heads,
            pool: Pool::new(threads),
        }
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Returns one pooled vector, not normalised, for one sequence of token ids.
    pub fn embed_one(&self, ids: &[u32]) -> Result<Vec<f32>, Error> {
        let turn = if self.pool.threads() > 1 { self.pool.take() } else { None };
        let mut vectors = self.pass(&[ids], turn.as_ref())?;
        Ok(vectors.swap_remove(0))
    }

    /// Splits sequences, given by their lengths in order, into passes of about [`PASS`] tokens.
    pub fn passes(lengths: impl Iterator<Item = usize>) -> Vec<usize> {
        let (mut counts, mut tokens) = (Vec::new(), 0);
        for length in lengths {
            match counts.last_mut() {
                Some(count) if tokens + length <= PASS => {
                    *count += 1;
                    tokens += length;
                }
                _ => {
                    counts.push(1);
                    tokens = length;
                }
            }
        }
        counts
    }

    /// Returns the pooled vectors of several sequences, computed by one thread or by a team.
    pub fn pass(&self, sequences: &[&[u32]], team: Team<'_>) -> Result<Vec<Vec<f32>>, Error> {
        thread_local! {
            static SCRATCH: std::cell::RefCell<Scratch> = std::cell::RefCell::default();
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let spans = self.look_up(sequences, &mut scratch.x.tiles)?;
            for layer in &self.layers {
                self.attend(layer, scratch, &spans, team);
                self.feed_forward(layer, scratch, team);
            }
            Ok(spans.iter().map(|span| self.pooled(&scratch.x.tiles, *span)).collect())
        })
    }

    /// Runs the sequences as one pass. For each layer, calls `see` with the inputs of its linear
    /// layers, in the order of [`Layer::linears`], and the number of rows that are tokens.
    fn watch(
        &self,
        sequences: &[&[u32]],
        mut see: impl FnMut([&Tiles<f32>; 4], usize),
    ) -> Result<(), Error> {
        let mut scratch = Scratch::default();
        let turn = self.pool.take();
        let spans = self.look_up(sequences, &mut scratch.x.tiles)?;
        let tokens = spans.iter().map(|span| span.len).sum();
        for layer in &self.layers {
            let entered = scratch.x.tiles.clone();
            self.attend(layer, &mut scratch, &spans, turn.as_ref());
            let attended = scratch.x.tiles.clone();
            self.feed_forward(layer, &mut scratch, turn.as_ref());
            let Scratch { context, wide, .. } = &scratch;
            see([&entered, &context.tiles, &attended, &wide.tiles], tokens);
        }
        Ok(())
    }

    /// Sums word, position and type embeddings of every token and normalises them.
    fn look_up(&self, sequences: &[&[u32]], x: &mut Tiles<f32>) -> Result<Vec<Span>, Error> {
        let tokens: usize = sequences.iter().map(|ids| ids.len()).sum();
        x.reshape(padded_rows(tokens), self.hidden / PANEL);
        for panel in 0..x.panels() {
            (tokens..x.rows()).for_each(|row| x.piece_mut(panel, row).fill(0.0));
        }
        let [known, _] = self.words.shape();
        let (mut spans, mut start) = (Vec::with_capacity(sequences.len()), 0);
        for ids in sequences {
            for (at, id) in ids.iter().enumerate() {
                let position = self.positions.get(at * self.hidden..(at + 1) * self.hidden);
                let (Some(position), true) = (position, (*id as usize) < known) else {
                    let positions = self.positions.len() / self.hidden;
                    return Err(Error::BadToken { id: *id, known, at, positions });
                };
                for (panel, position) in position.chunks_exact(PANEL).enumerate() {
                    let piece = x.piece_mut(panel, start + at);
                    self.words.read(*id as usize, panel * PANEL, piece);
                    piece.iter_mut().zip(position).for_each(|(x, position)| *x += position);
                }
            }
            spans.push(Span { start, len: ids.len() });
            start += ids.len();
        }
        self.math.add_norm(x, None, self.norm.as_parts());
        Ok(spans)
    }

    /// `x ← norm(x + attention(x))`.
    fn attend(&self, layer: &Layer<Linear>, scratch: &mut Scratch, spans: &[Span], team: Team<'_>) {
        let Scratch { x, context, out, heads, .. } = scratch;
        layer.qkv.prepare(x, &self.math);
        context.tiles.reshape(x.tiles.rows(), self.hidden / PANEL);
        let head_panels = self.hidden / self.heads / PANEL;
        heads.resize_with(team_size(team), HeadScratch::default);
        let parts = context.tiles.split(team_size(team), head_panels);
        let tokens = spans.iter().map(|span| span.len).sum::<usize>();
        run(team, parts.into_iter().zip(heads).collect(), |((panels, out), scratch)| {
            for panel in out.chunks_exact_mut(x.tiles.rows() * PANEL) {
                panel[tokens * PANEL..].fill(0.0);
            }
            let head_size = x.tiles.rows() * PANEL * head_panels;
            let heads = panels.start / head_panels..panels.end / head_panels;
            for (head, out) in heads.zip(out.chunks_exact_mut(head_size)) {
                let head = attention::Head { qkv: &layer.qkv, number: head, panels: head_panels };
                attention::attend(self.isa, &self.math, &head, x, spans, scratch, out);
            }
        });
        self.multiply(&layer.out, context, out, team, |_| ());
        self.math.add_norm(&mut x.tiles, Some(out), layer.attention_norm.as_parts());
    }

    /// `x ← norm(x + down(gelu(up(x))))`.
    fn feed_forward(&self, layer: &Layer<Linear>, scratch: &mut Scratch, team: Team<'_>) {
        let Scratch { x, wide, out, .. } = scratch;
        self.multiply(&layer.up, x, &mut wide.tiles, team, |panel| self.math.gelu(panel));
        self.multiply(&layer.down, wide, out, team, |_| ());
        self.math.add_norm(&mut x.tiles, Some(out), layer.output_norm.as_parts());
    }

    /// `out ← linear(input)`; calls `then` for each panel while it is in the cache.
    fn multiply(
        &self,
        linear: &Linear,
        input: &mut Input,
        out: &mut Tiles<f32>,
        team: Team<'_>,
        then: impl Fn(&mut [f32]) + Sync,
    ) {
        linear.prepare(input, &self.math);
        let rows = input.tiles.rows();
        out.reshape(rows, linear.panels());
        run(team, out.split(team_size(team), 1), |(panels, out)| {
            for (panel, out) in panels.zip(out.chunks_exact_mut(rows * PANEL)) {
                linear.multiply(input, panel..panel + 1, out);
                then(out);
            }
        });
    }

    fn pooled(&self, x: &Tiles<f32>, span: Span) -> Vec<f32> {
        let mut vector = vec![0.0; self.hidden];
        let (rows, share) = match self.pooling {
            Pooling::Cls => (span.start..span.start + 1, 1.0),
            Pooling::Mean => (span.start..span.start + span.len, 1.0 / span.len as f32),
        };
        for (panel, sums) in vector.chunks_exact_mut(PANEL).enumerate() {
            for row in rows.clone() {
                sums.iter_mut().zip(x.piece(panel, row)).for_each(|(sum, x)| *sum += x);
            }
            sums.iter_mut().for_each(|sum| *sum *= share);
        }
        vector
    }
}

/// Number of rows of a packed batch: the number of tokens, plus one if that is even. Panels with an
/// even number of rows would start at distances of a power of two, so that the pieces of a row
/// would evict each other from the cache; with a multiple of 32 rows, all of them.
fn padded_rows(tokens: usize) -> usize {
    if tokens < 64 { tokens } else { tokens | 1 }
}

fn team_size(team: Team<'_>) -> usize {
    team.map_or(1, PoolGuard::threads)
}

/// Runs `work` on each part, in parallel if there is a team.
fn run<P: Send>(team: Team<'_>, parts: Vec<P>, work: impl Fn(P) + Sync) {
    match team {
        Some(turn) => turn.run(parts, work),
        None => parts.into_iter().for_each(work),
    }
}
