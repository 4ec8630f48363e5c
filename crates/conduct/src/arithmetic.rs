//! Evaluates arithmetic expressions with the precedence of mathematics.
//!
//! The operators from the lowest precedence to the highest are `+ -`, `* /` (and `of`, which
//! multiplies), a prefix sign, `^` (or `**`), and `%` behind a number, which divides by 100. All
//! except `^` are left-associative: `-2^2` is -4, `2^3^2` is 512, `2^-1` is 0.5, `20% of 50` is 10.
//!
//! Whole numbers are exact up to [`EXACT`]; one beyond, also as a part of the expression, is an
//! error, because a result that is nearly right would be reported as a fact.
//!
//! No library is used, because exmex and fasteval give a prefix sign a higher precedence than `^`,
//! so that `-2^2` is 4, and exmex makes `^` left-associative, so that `2^3^2` is 64.

use std::f64::consts::{E, PI, TAU};

/// The whole number up to which an `f64` distinguishes each from the next.
pub(super) const EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the value of an expression, which may be infinite or NaN.
///
/// Each sign and each power adds one level of recursion, so the caller must limit the length of the
/// text.
pub(super) fn value(text: &str) -> Result<f64, String> {
    let (found, fault) = read(text)?;
    match fault {
        Some(fault) if found.is_finite() => Err(fault),
        _ => Ok(found),
    }
}

/// Whether a text is an expression, also one whose value would be inexact or ambiguous.
pub(super) fn is_expression(text: &str) -> bool {
    read(text).is_ok()
}

/// Returns the value of an expression, and why it must not be reported, if it must not.
fn read(text: &str) -> Result<(f64, Option<String>), String> {
    let mut reader = Reader { text, at: 0, fault: None };
    let found = reader.sum()?;
    match reader.peek() {
        None => Ok((found, reader.fault)),
        Some(_) => Err(reader.expected("an operator or the end")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Why the value is inexact or ambiguous, if it is.
    fault: Option<String>,
}

impl<'a> Reader<'a> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut found = self.product()?;
        while let Some(sign) = self.take_any(&['+', '-']) {
            let next = self.product()?;
            if self.text[..self.at].trim_end().ends_with('%') {
                let said = "expected no percentage behind + or -, where it may mean a part of \
                            what stands before: write 50 * 110%, or 50 + 10/100";
                self.fault.get_or_insert(said.to_owned());
            }
            found = self.checked(if sign == '+' { found + next } else { found - next });
        }
        Ok(found)
    }

    /// Notes whether a value may be inexact.
    fn checked(&mut self, value: f64) -> f64 {
        if value.abs() > EXACT {
            self.fault.get_or_insert_with(|| {
                format!("a whole number in it has no exact value; expected none beyond {EXACT}")
            });
        }
        value
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut found = self.signed()?;
        loop {
            let is_of = self.take_of();
            let Some(sign) = is_of.or_else(|| self.take_any(&['*', '/'])) else { return Ok(found) };
            let next = self.signed()?;
            found = self.checked(if sign == '*' { found * next } else { found / next });
        }
    }

    fn signed(&mut self) -> Result<f64, String> {
        match self.take_any(&['+', '-']) {
            Some('-') => Ok(-self.signed()?),
            Some(_) => self.signed(),
            None => self.power(),
        }
    }

    fn power(&mut self) -> Result<f64, String> {
        let base = self.operand()?;
        match self.take_any(&['^']).is_some() || self.take_two_stars() {
            true => {
                let exponent = self.signed()?;
                Ok(self.checked(base.powf(exponent)))
            }
            false => Ok(base),
        }
    }

    fn operand(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => Ok(self.bracketed(1)?[0]),
            Some(sign) if sign.is_ascii_digit() || sign == '.' => {
                let number = self.number()?;
                let number = self.checked(number);
                Ok(if self.take_any(&['%']).is_some() { number / 100.0 } else { number })
            }
            Some(sign) if sign.is_alphabetic() => self.named(),
            _ => Err(self.expected("a number, a name or a bracket")),
        }
    }

    /// Reads exactly `values` values in brackets, separated by commas.
    fn bracketed(&mut self, values: usize) -> Result<Vec<f64>, String> {
        let mut found = Vec::with_capacity(values);
        for nth in 0..values {
            let (before, told) = if nth == 0 { ('(', "`(`") } else { (',', "`,`") };
            self.take_any(&[before]).ok_or_else(|| self.expected(told))?;
            found.push(self.sum()?);
        }
        self.take_any(&[')']).ok_or_else(|| self.expected("`)`"))?;
        Ok(found)
    }

    fn number(&mut self) -> Result<f64, String> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut end = digits(rest);
        if rest[end..].starts_with('.') {
            end += 1 + digits(&rest[end + 1..]);
        }
        // `2e3` is a number. `2e` is not, and `e` alone is a name.
        if let Some(power) = rest[end..].strip_prefix(['e', 'E']) {
            let digits_of_power = digits(power.strip_prefix(['+', '-']).unwrap_or(power));
            let sign = usize::from(power.starts_with(['+', '-']));
            end += if digits_of_power > 0 { 1 + sign + digits_of_power } else { 0 };
        }
        let found = rest[..end].parse().map_err(|_| self.expected("a number"))?;
        self.at += end;
        Ok(found)
    }

    fn named(&mut self) -> Result<f64, String> {
        let rest = self.rest();
        let end = rest.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(rest.len());
        let name = &rest[..end];
        let unknown = || self.expected("a function or constant that is known");
        if let Some(known) = constant(name) {
            self.at += end;
            Ok(known)
        } else if let Some(function) = of_two(name) {
            self.at += end;
            let given = self.bracketed(2)?;
            Ok(function(given[0], given[1]))
        } else {
            let function = of_one(name).ok_or_else(unknown)?;
            self.at += end;
            // A function may also be written without brackets, as in `sqrt 16`.
            let given =
                if self.peek() == Some('(') { self.bracketed(1)?[0] } else { self.operand()? };
            Ok(function(given))
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start().len();
        self.rest().chars().next()
    }

    fn take_any(&mut self, signs: &[char]) -> Option<char> {
        let found = self.peek().filter(|sign| signs.contains(sign))?;
        self.at += found.len_utf8();
        Some(found)
    }

    /// Skips the word `of`, as in `20% of 50`. Returns the sign that it stands for if it is there.
    fn take_of(&mut self) -> Option<char> {
        self.peek();
        let rest = self.rest().strip_prefix("of")?;
        let is_word = !rest.starts_with(char::is_alphanumeric);
        self.at += if is_word { "of".len() } else { 0 };
        is_word.then_some('*')
    }

    /// Skips `**`, Python's power operator, which models also write. Returns `true` if it is there.
    fn take_two_stars(&mut self) -> bool {
        let is_there = self.peek() == Some('*') && self.rest().starts_with("**");
        self.at += if is_there { 2 } else { 0 };
        is_there
    }

    fn expected(&self, what: &str) -> String {
        let found: String = self.rest().chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        let at = self.text[..self.at].chars().count() + 1;
        format!("expected {what} at character {at}, found {found}")
    }
}

fn constant(name: &str) -> Option<f64> {
    Some(match name {
        "PI" | "pi" | "π" => PI,
        "E" | "e" => E,
        "TAU" | "tau" | "τ" => TAU,
        _ => return None,
    })
}

fn of_one(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "signum" => f64::signum,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "asinh" => f64::asinh,
        "acosh" => f64::acosh,
        "atanh" => f64::atanh,
        "floor" => f64::floor,
        "round" => f64::round,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "fract" => f64::fract,
        "exp" => f64::exp,
        "sqrt" => f64::sqrt,
        "cbrt" => f64::cbrt,
        "ln" | "log" => f64::ln,
        "log2" => f64::log2,
        "log10" => f64::log10,
        _ => return None,
    })
}

fn of_two(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "atan2" => f64::atan2,
        "min" => f64::min,
        "max" => f64::max,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precedence_is_that_of_mathematics() {
        for (text, wanted) in [
            ("-2^2", -4.0),
            ("(-2)^2", 4.0),
            ("2^3^2", 512.0),
            ("(2^3)^2", 64.0),
            ("2^-1", 0.5),
            ("2^-1^2", 0.5),
            ("-2^-2", -0.25),
            ("--2", 2.0),
            ("-+-2", 2.0),
            ("2--3", 5.0),
            ("2*-3^2", -18.0),
            ("6/-2", -3.0),
            ("6/-2*3", -9.0),
            ("6*2/3*2", 8.0),
            ("8/4/2", 1.0),
            ("1-2-3", -4.0),
            ("1-2+3", 2.0),
            ("1+2*3^2", 19.0),
            ("2^3*2", 16.0),
            ("2**3 ** 2 * 2", 1024.0),
            ("-2**2", -4.0),
            ("4^0.5", 2.0),
            ("-(2+3)^2", -25.0),
            ("sqrt(16)^2", 16.0),
            ("sqrt 16 + 9", 13.0),
            ("-abs(-3)^2", -9.0),
            ("max(1, min(5, 3)) * 2", 6.0),
            ("cos(0)", 1.0),
            ("1e3 + 2.5E-1 + .5", 1000.75),
            ("2. * 3", 6.0),
            (" ( 1 ) ", 1.0),
            ("ln(e)", 1.0),
            ("atan2(0, 1)", 0.0),
            ("π - PI", 0.0),
            ("20% of 50", 10.0),
            ("20 % of 50", 10.0),
            ("7%", 0.07),
            ("2^52 * 2 - 1", 9_007_199_254_740_991.0),
        ] {
            assert_eq!(value(text), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told_with_its_place() {
        for (bad, told) in [
            ("", "expected a number, a name or a bracket at character 1, found the end"),
            ("2 +", "expected a number, a name or a bracket at character 4, found the end"),
            ("(1", "expected `)` at character 3, found the end"),
            ("2 x", "expected an operator or the end at character 3, found `x`"),
            (
                "x + 1",
                "expected a function or constant that is known at character 1, found `x + 1`",
            ),
            ("min(1)", "expected `,` at character 6, found `)`"),
            ("1.2.3", "expected an operator or the end at character 4, found `.3`"),
            ("5 % 3", "expected an operator or the end at character 5, found `3`"),
            ("3 often", "expected an operator or the end at character 3, found `often`"),
            (
                "50 + 10%",
                "expected no percentage behind + or -, where it may mean a part of what stands \
                 before: write 50 * 110%, or 50 + 10/100",
            ),
            (
                "10^20 + 1 - 10^20",
                "a whole number in it has no exact value; expected none beyond 9007199254740992",
            ),
            (".", "expected a number at character 1, found `.`"),
        ] {
            assert_eq!(value(bad), Err(told.to_owned()), "{bad}");
        }
        assert!(value(&"-".repeat(1_000)).is_err(), "it ends");
        assert_eq!(value(&format!("{}1", "1^".repeat(400))), Ok(1.0));
    }
}
