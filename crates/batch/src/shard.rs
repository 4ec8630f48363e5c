//! A part of the rows, so that several machines can share a batch.

use std::fmt;
use std::str::FromStr;

/// The rows whose number, counted from 0, has the remainder `index` when divided by `count`. Each
/// row belongs to exactly one of the shards with the same count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Default for Shard {
    /// Returns the shard of all rows.
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

impl Shard {
    pub(crate) fn holds(self, row: usize) -> bool {
        row % self.count == self.index
    }

    /// Returns how many of `rows` rows belong to the shard.
    pub(crate) fn len(self, rows: usize) -> usize {
        rows.saturating_sub(self.index).div_ceil(self.count)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no shard; expected I/N with I from 0 to N-1, such as 0/4, 1/4, 2/4 and 3/4")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err(ShardError(text.to_owned())),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_in_one_shard() {
        let shards: Vec<Shard> = (0..3).map(|i| format!("{i}/3").parse().unwrap()).collect();
        for row in 0..10 {
            assert_eq!(shards.iter().filter(|shard| shard.holds(row)).count(), 1);
        }
        assert_eq!(shards.iter().map(|shard| shard.len(10)).sum::<usize>(), 10);
        for text in ["3/3", "1", "0/0", "-1/2", "a/b", ""] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
