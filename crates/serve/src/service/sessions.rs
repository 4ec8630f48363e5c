//! The sessions of clients, by name, by connection or by request.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use toolroute_run::execution::CallLimits;
use toolroute_session::Session;

use super::Error;

/// The number of named sessions that are kept. The least recently used are dropped first. A session
/// takes some kilobytes, mostly for its latest prompts.
const MOST: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero. This is a bug.");

/// The most characters of a name, as in the log.
const NAME_CHARS: usize = 256;

/// Named sessions. They outlive a service: a reload passes them to the next one.
#[derive(Debug)]
pub struct Sessions {
    limits: CallLimits,
    /// By profile and name.
    by_name: Mutex<LruCache<(String, String), Arc<Session>>>,
}

impl Sessions {
    pub fn new(limits: CallLimits) -> Self {
        Self { limits, by_name: Mutex::new(LruCache::new(MOST)) }
    }

    pub fn limits(&self) -> &CallLimits {
        &self.limits
    }

    /// The session with a name, created if there is none. Equal names of different profiles are
    /// different sessions, because one profile may see tools that the other must not.
    ///
    /// # Errors
    /// [`Error::BadSession`] for a name that is empty, too long or not printable.
    pub fn named(&self, profile: Option<&str>, name: &str) -> Result<Arc<Session>, Error> {
        Self::check_name(name)?;
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || self.limited(Session::new(name));
        let key = (profile.unwrap_or_default().to_owned(), name.to_owned());
        Ok(Arc::clone(by_name.get_or_insert(key, fresh)))
    }

    /// A session that no other client can name, with the limits of all.
    pub fn limited(&self, session: Session) -> Arc<Session> {
        Arc::new(session.with_limits(self.limits.clone()))
    }

    pub(crate) fn check_name(name: &str) -> Result<(), Error> {
        let chars = name.chars().count();
        if name.trim().is_empty() || chars > NAME_CHARS || name.chars().any(char::is_control) {
            return Err(Error::BadSession { chars, most: NAME_CHARS });
        }
        Ok(())
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(CallLimits::default())
    }
}
