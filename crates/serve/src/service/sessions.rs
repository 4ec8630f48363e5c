//! The sessions of clients that name one.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use toolroute_rank::engine::Session;
use toolroute_rank::feedback::client_session;
use toolroute_run::execution::CallLimits;

use super::Error;

/// Sessions that are remembered; the longest unused are forgotten. One takes some kilobytes, most of
/// it the latest prompts.
const MOST: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero. This is a bug.");

/// Characters of a name, as many as the log keeps.
const NAME_CHARS: usize = 256;

/// Sessions by name. They outlive a service: a reload goes on with those of the one before.
#[derive(Debug)]
pub struct Sessions {
    limits: CallLimits,
    /// By profile and name.
    by_name: Mutex<LruCache<(String, String), Arc<Session>>>,
}

impl Sessions {
    /// Sessions with limits for the calls of each.
    pub fn new(limits: CallLimits) -> Self {
        Self { limits, by_name: Mutex::new(LruCache::new(MOST)) }
    }

    /// The limits of each session's calls.
    pub fn limits(&self) -> &CallLimits {
        &self.limits
    }

    /// The session of a name within a profile, made where there is none: what one profile sees, another
    /// need not.
    ///
    /// # Errors
    /// [`Error::BadSession`] for a name that is empty, too long or not printable.
    pub fn named(&self, profile: Option<&str>, name: &str) -> Result<Arc<Session>, Error> {
        let chars = name.chars().count();
        if name.trim().is_empty() || chars > NAME_CHARS || name.chars().any(char::is_control) {
            return Err(Error::BadSession { chars, most: NAME_CHARS });
        }
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(Session::new(name).with_limits(self.limits.clone()));
        let key = (profile.unwrap_or_default().to_owned(), name.to_owned());
        Ok(Arc::clone(by_name.get_or_insert(key, fresh)))
    }

    /// The session of one request, without a name.
    pub fn of_request(&self) -> Arc<Session> {
        Arc::new(Session::default().with_limits(self.limits.clone()))
    }

    /// The session of one request whose sender names none. It remembers nothing of others, and the log
    /// has all of them under the sender's name.
    pub fn of_sender(&self, client: &str) -> Arc<Session> {
        Arc::new(Session::new(client_session(client)).with_limits(self.limits.clone()))
    }

    /// The session of one connection, which nobody else can name.
    pub fn of_connection(&self) -> Arc<Session> {
        Arc::new(Session::of_connection().with_limits(self.limits.clone()))
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(CallLimits::default())
    }
}
