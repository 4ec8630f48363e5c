//! Errors of setting up execution.

/// A failure before any tool was called. Failures of a call are part of its report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The servers file is invalid.
    #[error(
        "expected a JSON object with `mcpServers`, found {found}; \
         write {{\"mcpServers\": {{\"name\": {{\"command\": \"…\", \"args\": []}}}}}}"
    )]
    ServersFile { found: String },

    /// A pattern of ids is invalid.
    #[error("expected a pattern of tool ids such as `files__*`, found `{pattern}`: {because}")]
    Pattern { pattern: String, because: String },

    /// The folder for long answers is unusable.
    #[error("expected a folder that can be written at {}; check its permissions", path.display())]
    Kept {
        path: std::path::PathBuf,
        #[source]
        source: std::io::Error,
    },

    /// There is no Tokio runtime.
    #[error("expected to be called where tokio runs; enter a runtime first")]
    NoRuntime,

    /// The address is one of this machine or its network.
    #[error("the address of a server may not be called: {because}")]
    PrivateAddress { because: String },

    /// The system gives no HTTP client.
    #[error(
        "expected a client for HTTP with TLS: {because}; check the certificates of this system"
    )]
    HttpClient { because: String },
}
