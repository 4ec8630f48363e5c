//! A WordPiece vocabulary: text in, one token a line, and the number of the longest that fits.

use std::borrow::Cow;

/// Bytes of the longest token that is taken: BERT's has 18.
const LONGEST: usize = 128;

/// What stands before a token that goes on a word.
const GOES_ON: &str = "##";

/// Where the hash of a word's first and of its later pieces begins; any two different numbers.
const SEEDS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4];

/// Tokens by their line, found through an open hash table: a start of the program pays about a
/// millisecond for it, where a map of owned strings takes several and 3 MB.
#[derive(Debug)]
pub struct Vocabulary {
    text: Cow<'static, str>,
    /// Start and end of each token in the text, without [`GOES_ON`].
    tokens: Vec<Token>,
    /// Token number + 1, or 0; a power of two of them, at least half of them 0.
    slots: Vec<u32>,
    /// Bytes of the longest token.
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    start: u32,
    end: u32,
    goes_on: bool,
}

impl Vocabulary {
    /// Reads a `vocab.txt`: a token's number is its line, from 0.
    pub fn new(text: Cow<'static, str>) -> Result<Self, String> {
        if text.len() > u32::MAX as usize {
            return Err(format!("it has {} bytes, expected at most 4 GiB", text.len()));
        }
        let (mut tokens, mut start, mut longest) = (Vec::new(), 0, 0);
        for line in text.split_inclusive('\n') {
            let token = line.trim_end();
            // `##` alone, and what begins with it, cannot begin a word: `#` is one by itself.
            let goes_on = token.len() > GOES_ON.len() && token.starts_with(GOES_ON);
            let skipped = if goes_on { GOES_ON.len() } else { 0 };
            let length = token.len() - skipped;
            if length > LONGEST {
                let line = tokens.len() + 1;
                return Err(format!("line {line} has {length} bytes, expected at most {LONGEST}"));
            }
            longest = longest.max(length);
            let at = |offset: usize| (start + offset) as u32;
            tokens.push(Token { start: at(skipped), end: at(token.len()), goes_on });
            start += line.len();
        }
        let slots = vec![0; (tokens.len() * 2).next_power_of_two()];
        let mut this = Self { text, tokens, slots, longest };
        for number in 0..this.tokens.len() {
            this.enter(number);
        }
        Ok(this)
    }

    fn enter(&mut self, number: usize) {
        let Token { goes_on, .. } = self.tokens[number];
        let hash = self.token(number).bytes().fold(SEEDS[usize::from(goes_on)], step);
        // Of equal lines the last counts, as in the `tokenizers` library.
        let slot = self.slot(hash, self.token(number), goes_on).unwrap_or_else(|empty| empty);
        self.slots[slot] = number as u32 + 1;
    }

    /// Tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens by their numbers, without what marks a later piece.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.token(number))
    }

    /// The number of a whole token that begins a word.
    pub fn find(&self, token: &str) -> Option<u32> {
        self.longest_prefix(token, false).filter(|(_, end)| *end == token.len()).map(|(id, _)| id)
    }

    /// The longest token that `word` begins with, and where it ends; `goes_on` where `word` is
    /// what is left of a longer one.
    pub fn longest_prefix(&self, word: &str, goes_on: bool) -> Option<(u32, usize)> {
        let mut hashes = [0; LONGEST];
        let mut hash = SEEDS[usize::from(goes_on)];
        let most = word.len().min(self.longest);
        for (kept, byte) in hashes.iter_mut().zip(word.bytes().take(most)) {
            hash = step(hash, byte);
            *kept = hash;
        }
        (1..=most).rev().filter(|end| word.is_char_boundary(*end)).find_map(|end| {
            let slot = self.slot(hashes[end - 1], &word[..end], goes_on).ok()?;
            Some((self.slots[slot] - 1, end))
        })
    }

    fn token(&self, number: usize) -> &str {
        let Token { start, end, .. } = self.tokens[number];
        &self.text[start as usize..end as usize]
    }

    /// The slot of a token, or the empty one where it would stand.
    fn slot(&self, hash: u64, token: &str, goes_on: bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        // The upper bits of a product are the mixed ones.
        let mut slot = (hash >> 32) as usize & mask;
        loop {
            let Some(number) = self.slots[slot].checked_sub(1) else { return Err(slot) };
            let number = number as usize;
            if self.tokens[number].goes_on == goes_on && self.token(number) == token {
                return Ok(slot);
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// One byte of FNV-1a, 64 bits wide: the hash of each prefix is there on the way to the longest.
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}
