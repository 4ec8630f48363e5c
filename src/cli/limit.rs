//! `--limit`: a number of tools, or as many as the prompt needs.

use std::fmt;
use std::str::FromStr;

/// Default maximum of `auto`.
const AUTO: usize = 10;

/// The maximum number of tools in an answer, and whether the answer is sized to the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub most: usize,
    pub adaptive: bool,
}

impl Limit {
    pub fn of(most: usize) -> Self {
        Self { most, adaptive: false }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let (number, adaptive) = match typed.strip_prefix("auto") {
            Some("") => return Ok(Self { most: AUTO, adaptive: true }),
            Some(rest) => (rest.strip_prefix(':').unwrap_or_default(), true),
            None => (typed, false),
        };
        let most = number.parse();
        let most =
            most.map_err(|_| "expected a number from 0 up, `auto` or `auto:N`".to_owned())?;
        Ok(Self { most, adaptive })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let auto = if self.adaptive { "auto:" } else { "" };
        write!(f, "{auto}{}", self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_auto_are_read_and_nothing_else() {
        assert_eq!("7".parse(), Ok(Limit::of(7)));
        assert_eq!("auto".parse(), Ok(Limit { most: 10, adaptive: true }));
        for limit in ["auto:3", "0"] {
            assert_eq!(limit.parse::<Limit>().unwrap().to_string(), limit);
        }
        for wrong in ["", "auto:", "auto3", "auto:x", "-1", "five"] {
            assert!(wrong.parse::<Limit>().unwrap_err().contains("`auto`"), "{wrong}");
        }
    }
}
