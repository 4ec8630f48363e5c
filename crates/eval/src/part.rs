//! The part that a public set has in the choice of settings. A figure that settings were chosen by
//! says less than a figure that nobody looked at before.

use serde::Serialize;

const SETS: &str = include_str!("sets.txt");

/// What a set is used for. A user's own set has no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetPart {
    /// Constants, rules and weights are chosen with it.
    Choice,
    /// It shows what the choices are worth.
    Check,
    /// The encoder was trained on its prompts.
    Training,
}

impl SetPart {
    const ALL: [(&'static str, Self); 3] =
        [("choice", Self::Choice), ("check", Self::Check), ("training", Self::Training)];

    /// Returns the part of a public set by its name.
    pub fn of(set: &str) -> Option<Self> {
        let lists = SETS.lines().filter_map(|line| line.split_once(": "));
        let mut lists = lists.filter(|(part, _)| !part.starts_with('#'));
        let (part, _) = lists.find(|(_, sets)| sets.split(' ').any(|name| name == set))?;
        Self::ALL.into_iter().find_map(|(name, found)| (name == part).then_some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_sets_are_on_one_side() {
        assert_eq!(SetPart::of("azure_mcp"), Some(SetPart::Choice));
        assert_eq!(SetPart::of("azure_mcp_2026"), Some(SetPart::Choice));
        assert_eq!(SetPart::of("metatool"), SetPart::of("metatool_multi"));
        assert_eq!(SetPart::of("ultratool_en"), Some(SetPart::Check));
        assert_eq!(SetPart::of("bfcl"), Some(SetPart::Training));
        assert_eq!((SetPart::of("mine"), SetPart::of("choice")), (None, None));
    }

    #[test]
    fn every_set_is_in_one_part() {
        let lists = SETS.lines().filter(|line| !line.starts_with('#'));
        let mut sets: Vec<&str> = lists
            .filter_map(|line| Some(line.split_once(": ")?.1))
            .flat_map(|l| l.split(' '))
            .collect();
        let count = sets.len();
        assert!(count == 19 && sets.iter().all(|set| SetPart::of(set).is_some()));
        sets.sort_unstable();
        sets.dedup();
        assert_eq!(sets.len(), count);
    }
}
