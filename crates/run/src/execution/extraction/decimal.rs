//! Exact decimal numbers, in the notations of prose.

use serde_json::{Number, Value};

/// The exact number `digits` · 10^-`scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    scale: u32,
}

/// The most digits of a number. More digits are an identifier and not an amount.
const MOST_DIGITS: usize = 18;

impl Decimal {
    /// Parses digits with at most one point.
    fn plain(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{fraction}");
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !whole.is_empty();
        if !is_number || digits.len() > MOST_DIGITS {
            return None;
        }
        let scale = u32::try_from(fraction.len()).ok()?;
        Some(Self { digits: digits.parse().ok()?, scale }.reduced())
    }

    pub fn whole(value: i64) -> Self {
        Self { digits: value.into(), scale: 0 }
    }

    fn reduced(mut self) -> Self {
        while self.scale > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.scale -= 1;
        }
        self
    }

    pub fn negated(self) -> Self {
        Self { digits: -self.digits, ..self }
    }

    pub fn plus(self, other: Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let raised = |one: Self| one.digits.checked_mul(10_i128.checked_pow(scale - one.scale)?);
        Some(Self { digits: raised(self)?.checked_add(raised(other)?)?, scale }.reduced())
    }

    /// Multiplies by a fraction. Returns `None` if the result is too large, or has no exact decimal
    /// form.
    pub fn times(self, numerator: i64, denominator: i64) -> Option<Self> {
        /// Additional decimal places: more than any unit of the table needs.
        const PLACES: u32 = 9;
        let (up, down) = (i128::from(numerator), i128::from(denominator));
        let digits = self.digits.checked_mul(up)?.checked_mul(10_i128.pow(PLACES))?;
        let exact = digits % down == 0;
        exact.then(|| Self { digits: digits / down, scale: self.scale + PLACES }.reduced())
    }

    pub fn is_whole(self) -> bool {
        self.scale == 0
    }

    /// Returns the value as a JSON number; a whole number stays an integer. Returns `None` if it is
    /// too large.
    pub fn to_json(self) -> Option<Value> {
        if self.is_whole() {
            return i64::try_from(self.digits).ok().map(Value::from);
        }
        Number::from_f64(self.to_string().parse().ok()?).map(Value::Number)
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.digits < 0 { "-" } else { "" };
        let places = self.scale as usize;
        let digits = format!("{:0>width$}", self.digits.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let point = if places == 0 { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

/// Small numbers by their words.
pub(super) const SPELLED: [&str; 13] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
];

/// Parses a count: digits, a word such as "three", or "a" for one.
pub(super) fn count(said: &str) -> Option<i64> {
    let said = said.to_lowercase();
    match SPELLED.iter().position(|known| *known == said) {
        Some(at) => i64::try_from(at).ok(),
        None if matches!(said.as_str(), "a" | "an") => Some(1),
        None => said.parse().ok(),
    }
}

/// Parses a number without sign or unit. Returns `None` if the text is ambiguous.
///
/// If a text has points and commas, the last of them is the decimal separator. Alone, a comma
/// before three digits separates thousands, and a point is a decimal point, as in English. `comma`
/// states that the number is a price or a measure: any other comma is then a decimal comma, and a
/// point before three digits is ambiguous.
pub(super) fn read(text: &str, comma: bool) -> Option<Decimal> {
    let is_space = |c: char| matches!(c, '\'' | '’' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let parted = text.contains(is_space);
    let text = if parted { grouped(text, is_space)? } else { text.to_owned() };
    let (points, commas) = (text.matches('.').count(), text.matches(',').count());
    match (points, commas) {
        (0, 0) => Decimal::plain(&text),
        (0, 1) => match grouped(&text, |c| c == ',') {
            Some(whole) if !parted => Decimal::plain(&whole),
            _ => Decimal::plain(&text.replace(',', ".")).filter(|_| comma),
        },
        (0, _) => Decimal::plain(&grouped(&text, |c| c == ',')?),
        // "1.250 EUR" is 1250 in half of Europe.
        (1, 0) if comma && !parted && grouped(&text, |c| c == '.').is_some() => None,
        (1, 0) => Decimal::plain(&text),
        (_, 0) => Decimal::plain(&grouped(&text, |c| c == '.')?),
        (1, _) if text.rfind(',') < text.find('.') => {
            let (whole, fraction) = text.split_once('.')?;
            Decimal::plain(&format!("{}.{fraction}", grouped(whole, |c| c == ',')?))
        }
        (_, 1) if text.rfind('.') < text.find(',') => {
            let (whole, fraction) = text.split_once(',')?;
            Decimal::plain(&format!("{}.{fraction}", grouped(whole, |c| c == '.')?))
        }
        _ => None,
    }
}

/// Joins groups of three digits without their separators. Returns `None` if a group has another
/// length. Text after the digits of a group (a decimal part) is kept.
fn grouped(text: &str, parts: impl Fn(char) -> bool) -> Option<String> {
    let mut groups = text.split(parts);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()))?;
    let mut whole = first.to_owned();
    for group in groups {
        let digits = group.bytes().take_while(u8::is_ascii_digit).count();
        if digits != 3 {
            return None;
        }
        whole.push_str(group);
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_prose_writes_them_or_not_at_all() {
        for (text, comma, expected) in [
            ("42", false, Some("42")),
            ("1,250.50", false, Some("1250.5")),
            ("1.250,50", false, Some("1250.5")),
            ("1,234", false, Some("1234")),
            ("1,234,567", false, Some("1234567")),
            ("1.234.567", false, Some("1234567")),
            ("1\u{202f}234,5", true, Some("1234.5")),
            ("1'234.5", false, Some("1234.5")),
            ("48.858", false, Some("48.858")),
            ("1.250", true, None),
            ("4,5", false, None),
            ("19,99", true, Some("19.99")),
            ("12,34,567", false, None),
            ("1,2.3,4", false, None),
            ("1234567890123456789", false, None),
        ] {
            let found = read(text, comma).map(|number| number.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn arithmetic_is_exact_or_refused() {
        let half = read("1.1", false).unwrap();
        assert_eq!(half.times(60, 1).unwrap().to_string(), "66");
        assert_eq!(Decimal::whole(10).times(1, 60), None);
        assert_eq!(half.plus(Decimal::whole(-2)).unwrap().to_string(), "-0.9");
        assert_eq!(half.to_json().unwrap(), 1.1);
    }
}
