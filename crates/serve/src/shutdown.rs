//! An orderly end: what is under way is finished, what waits for more is told to stop.

use tokio_util::sync::CancellationToken;

/// Known to all who must stop when the program does. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    begun: CancellationToken,
}

impl Shutdown {
    /// Begins the end. It cannot be taken back.
    pub fn begin(&self) {
        self.begun.cancel();
    }

    pub fn has_begun(&self) -> bool {
        self.begun.is_cancelled()
    }

    /// Returns when the end has begun.
    pub async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// For those who wait for a token.
    pub(super) fn token(&self) -> CancellationToken {
        self.begun.clone()
    }

    /// Begins the end when the system or a person asks for it: SIGTERM, or ctrl-c.
    pub fn on_signals(&self) {
        let shutdown = self.clone();
        tokio::spawn(async move {
            asked_to_end().await;
            tracing::info!("asked to stop");
            shutdown.begin();
        });
    }
}

/// Comes back when somebody presses ctrl-c or the system asks the program to end.
#[cfg(unix)]
async fn asked_to_end() {
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

/// Comes back when somebody presses ctrl-c.
#[cfg(not(unix))]
async fn asked_to_end() {
    tokio::signal::ctrl_c().await.ok();
}

/// Returns each time that somebody sends SIGHUP; never where there is no such signal.
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
