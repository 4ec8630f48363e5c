//! The sessions of clients, by name, by connection or by request.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;
use toolroute_rank::feedback::client_session;
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
        let fresh = || Arc::new(Session::new(name).with_limits(self.limits.clone()));
        let key = (profile.unwrap_or_default().to_owned(), name.to_owned());
        Ok(Arc::clone(by_name.get_or_insert(key, fresh)))
    }

    pub(crate) fn check_name(name: &str) -> Result<(), Error> {
        let chars = name.chars().count();
        if name.trim().is_empty() || chars > NAME_CHARS || name.chars().any(char::is_control) {
            return Err(Error::BadSession { chars, most: NAME_CHARS });
        }
        Ok(())
    }

    pub fn of_request(&self) -> Arc<Session> {
        Arc::new(Session::default().with_limits(self.limits.clone()))
    }

    /// A new session for one request, which the log records under the client's address.
    pub fn of_sender(&self, client: &str) -> Arc<Session> {
        Arc::new(Session::new(client_session(client)).with_limits(self.limits.clone()))
    }

    /// A new session for one connection, which no other client can name.
    pub fn of_connection(&self) -> Arc<Session> {
        Arc::new(Session::of_connection().with_limits(self.limits.clone()))
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self::new(CallLimits::default())
    }
}
