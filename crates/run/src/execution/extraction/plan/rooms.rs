//! Gives the room of a house to the parameter for one: "dim the bedroom lights", "close the blinds in the kitchen".

use super::super::slot::Kind;
use super::super::text::{is_listed, overlap, stem};
use super::Plan;

/// Rooms, the last word of each.
const ROOMS: &str = "attic balcony basement bathroom bedroom cellar conservatory den garage garden hall hallway kitchen \
     laundry library nursery office pantry patio porch study terrace";

/// Words before "room" that make it one of a house.
const KINDS: &str = "dining family guest laundry living";

impl Plan<'_> {
    /// Gives the only room that the prompt names, if the tool is about the thing in it: of "turn off the bedroom lights"
    /// a tool that turns off anything would turn off more.
    pub(super) fn give_room(&mut self) {
        let slot = self
            .only(|slot| slot.kind == Kind::Text && !slot.is_list && slot.has_word("area room"));
        let (Some(slot), all) = (slot, self.context.words) else { return };
        let is_spent = |at: usize| self.spent.iter().any(|spent| overlap(spent, &all[at].span));
        let room = |at: usize| match all[at].lower.as_str() {
            "room" if at > 0 && is_listed(&all[at - 1].lower, KINDS) => Some(at - 1..at + 1),
            word => is_listed(word, ROOMS).then_some(at..at + 1),
        };
        let is_thing = |at: Option<usize>| {
            let word = at.and_then(|at| all.get(at));
            word.is_some_and(|word| self.tool_words.contains(&stem(&word.lower)))
        };
        let is_meant = |room: &std::ops::Range<usize>| {
            // "The blinds in the kitchen".
            let article = room.start.checked_sub(1);
            let is_within = article
                .filter(|at| is_listed(&all[*at].lower, "my our the"))
                .and_then(|at| at.checked_sub(1))
                .filter(|at| all[*at].lower == "in")
                .is_some_and(|at| is_thing(at.checked_sub(1)));
            // A "guest bedroom" is another one than the bedroom.
            let before = article.map_or("", |at| all[at].lower.as_str());
            let begins =
                is_listed(before, "a all an down my off on our the up") || article == Some(0);
            let is_free = room.clone().all(|at| !is_spent(at));
            is_free && begins && (is_thing(Some(room.end)) || is_within)
        };
        let mut rooms = (0..all.len()).filter_map(room);
        let (Some(room), None) = (rooms.next().filter(is_meant), rooms.next()) else { return };
        let span = all[room.start].span.start..all[room.end - 1].span.end;
        if !self.context.denies(span.start) {
            self.offer(slot, &span, true);
        }
    }
}
