//! An orderly end: requests in progress are finished, and endless streams stop.

use tokio_util::sync::CancellationToken;

/// A signal that the program is about to end. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    begun: CancellationToken,
}

impl Shutdown {
    /// Begins the shutdown, which cannot be undone.
    pub fn begin(&self) {
        self.begun.cancel();
    }

    /// Whether the shutdown has begun.
    pub fn has_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// Waits until the shutdown begins.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// The signal as a cancellation token.
    pub(super) fn token(&self) -> CancellationToken {
        self.begun.clone()
    }

    /// Begins the shutdown on SIGTERM or ctrl-c.
    pub fn on_signals(&self) {
        let shutdown = self.clone();
        tokio::spawn(async move {
            end_signal().await;
            tracing::info!("asked to stop");
            shutdown.begin();
        });
    }
}

/// Waits for SIGTERM or ctrl-c.
#[cfg(unix)]
async fn end_signal() {
    use tokio::signal::unix::{SignalKind, signal};

    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        tokio::signal::ctrl_c().await.ok();
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

/// Waits for ctrl-c.
#[cfg(not(unix))]
async fn end_signal() {
    tokio::signal::ctrl_c().await.ok();
}

/// Waits for SIGHUP signals. On systems without the signal it waits forever.
pub struct HangUps {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl HangUps {
    pub fn listen() -> Self {
        Self {
            #[cfg(unix)]
            signals: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    pub async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signals) = &mut self.signals
            && signals.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
