//! A WordPiece vocabulary with search for the longest matching token.

use std::borrow::Cow;

/// Maximum length of a token in bytes. BERT's longest has 18.
const LONGEST: usize = 128;

/// Prefix of a token that continues a word.
const GOES_ON: &str = "##";

/// Initial hash values for the first and for later pieces of a word; any two different numbers.
const SEEDS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x8422_2325_cbf2_9ce4];

/// Tokens in an open-addressing hash table. Building it takes about a millisecond at start-up; a
/// map of owned strings takes several, and 3 MB.
#[derive(Debug)]
pub struct Vocabulary {
    text: Cow<'static, str>,
    /// Start and end of each token in the text, without [`GOES_ON`].
    tokens: Vec<Token>,
    /// Token number + 1, or 0 for an empty slot. The length is a power of two, and at least half of
    /// the slots are empty.
    slots: Vec<u32>,
    /// Length of the longest token in bytes.
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    start: u32,
    end: u32,
    goes_on: bool,
}

impl Vocabulary {
    /// Reads a `vocab.txt`. A token's number is its line, starting from 0.
    pub fn new(text: Cow<'static, str>) -> Result<Self, String> {
        if text.len() > u32::MAX as usize {
            return Err(format!("it has {} bytes, expected at most 4 GiB", text.len()));
        }
        let (mut tokens, mut start, mut longest) = (Vec::new(), 0, 0);
        for line in text.split_inclusive('\n') {
            let token = line.trim_end();
            // `##` alone is an ordinary token, because `#` is split off as punctuation.
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
        // The last of several equal lines counts, as in the `tokenizers` library.
        let slot = self.slot(hash, self.token(number), goes_on).unwrap_or_else(|empty| empty);
        self.slots[slot] = number as u32 + 1;
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The tokens by number, without the continuation prefix.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|number| self.token(number))
    }

    /// Returns the number of a token that is a whole word.
    pub fn find(&self, token: &str) -> Option<u32> {
        self.longest_prefix(token, false).filter(|(_, end)| *end == token.len()).map(|(id, _)| id)
    }

    /// Returns the longest token at the start of `word`, and the end of the match in bytes.
    /// `goes_on` is true if `word` is the rest of a longer word.
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

    /// Returns the slot of a token, or as an error the empty slot where it belongs.
    fn slot(&self, hash: u64, token: &str, goes_on: bool) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        // The upper bits of the product are better distributed.
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

/// One step of 64-bit FNV-1a. The hashes of all prefixes are computed on the way.
fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}
