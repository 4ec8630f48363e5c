//! Changes of their lists that servers announced and that are not read yet. Who searches right after
//! such an announcement waits for the new list.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;

/// How long a search waits for announced lists: longer than the least time between two lists of a
/// server.
pub(crate) const LIST_WAIT: Duration = Duration::from_secs(2);

/// After this many announcements in a row that changed nothing, nobody waits for the server's next
/// one: a server may announce changes without end.
const MOST_VAIN: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Announcements {
    made: u64,
    /// The number that had been made when the latest complete list was requested.
    read: u64,
    /// How many in a row changed nothing.
    vain: u32,
    /// Whether a search has waited for the list in vain. Others do not wait before it is read.
    is_slow: bool,
}

impl Announcements {
    fn is_awaited(&self) -> bool {
        self.made > self.read && self.vain < MOST_VAIN
    }
}

/// The announcements of all servers, by name.
#[derive(Debug)]
pub(super) struct ListChanges(watch::Sender<BTreeMap<String, Announcements>>);

impl Default for ListChanges {
    fn default() -> Self {
        Self(watch::Sender::new(BTreeMap::new()))
    }
}

impl ListChanges {
    pub fn announce(&self, server: &str) {
        self.0.send_modify(|all| all.entry(server.to_owned()).or_default().made += 1);
    }

    /// The number of announcements so far. A list that is requested now includes them all.
    pub fn made(&self, server: &str) -> u64 {
        self.0.borrow().get(server).map_or(0, |of| of.made)
    }

    /// Notes that the list was read which was requested after so many announcements, or that it
    /// will not be.
    pub fn note_read(&self, server: &str, made: u64, is_changed: bool) {
        self.0.send_if_modified(|all| {
            let Some(of) = all.get_mut(server).filter(|of| of.read < made) else { return false };
            of.read = made;
            of.vain = if is_changed { 0 } else { of.vain + 1 };
            of.is_slow = false;
            true
        });
    }

    /// The servers whose announced lists are awaited.
    pub fn awaited(&self) -> Vec<String> {
        let all = self.0.borrow();
        let awaited = all.iter().filter(|(_, of)| of.is_awaited());
        awaited.map(|(name, _)| name.clone()).collect()
    }

    /// Waits until the lists of these servers are read that were announced so far, or [`LIST_WAIT`] is
    /// over. Only the first searches wait for a list that takes longer.
    pub async fn wait(&self, is_meant: impl Fn(&str) -> bool) {
        let is_awaited = |(name, of): &(&String, &Announcements)| {
            of.is_awaited() && !of.is_slow && is_meant(name)
        };
        let awaited: Vec<(String, u64)> = {
            let all = self.0.borrow();
            all.iter().filter(is_awaited).map(|(name, of)| (name.clone(), of.made)).collect()
        };
        if awaited.is_empty() {
            return;
        }
        let mut changes = self.0.subscribe();
        let are_read = changes.wait_for(|all| {
            awaited.iter().all(|(name, made)| all.get(name).is_some_and(|of| of.read >= *made))
        });
        if tokio::time::timeout(LIST_WAIT, are_read).await.is_ok() {
            return;
        }
        self.0.send_modify(|all| {
            for (name, made) in &awaited {
                let of = all.get_mut(name).filter(|of| of.read < *made);
                of.into_iter().for_each(|of| of.is_slow = true);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_search_waits_for_what_was_announced_before_it_but_not_without_end() {
        let lists = ListChanges::default();
        lists.wait(|_| true).await;
        lists.announce("a");
        let made = lists.made("a");
        lists.announce("b");
        assert_eq!(lists.awaited(), ["a", "b"]);
        let began = std::time::Instant::now();
        let read = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            lists.note_read("a", made, true);
            // The next announcement is not waited for.
            lists.announce("a");
        };
        tokio::join!(lists.wait(|name| name == "a"), read);
        assert!(began.elapsed() < LIST_WAIT);
        lists.wait(|_| true).await;
        assert!(began.elapsed() >= LIST_WAIT);
        lists.wait(|_| true).await;
        assert!(began.elapsed() < LIST_WAIT * 2, "the first search has waited");
        assert_eq!(lists.awaited(), ["a", "b"]);
        for _ in 0..MOST_VAIN {
            lists.announce("a");
            lists.note_read("a", lists.made("a"), false);
        }
        lists.announce("a");
        assert_eq!(lists.awaited(), ["b"]);
    }
}
