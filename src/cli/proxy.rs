//! `toolroute proxy`: a reverse proxy for a language model's API.

use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Global, ProxyArgs};
use super::exit;
use super::{models, serve, servers};
use toolroute_serve::proxy::{Proxy, ProxyOptions};
use toolroute_serve::{Assembly, Error, Shutdown};

pub fn run(args: &ProxyArgs, global: &Global) -> anyhow::Result<ExitCode> {
    let token = serve::token(args.listen.token_file.as_deref(), args.addr)?;
    let model = models::load_to_serve(&args.choice, args.precision)?;
    // No catalog is needed, because the tools are part of the requests.
    let assembly = Assembly { model: Some(model), ..Assembly::default() };
    let engine = assembly.engine().map_err(serve::failure)?;
    let listening = serve::listening(&args.listen);
    let options = ProxyOptions {
        token,
        keep: listening.keep,
        max_body: args.max_body,
        workers: listening.workers,
        queue: args.listen.queue.unwrap_or(args.listen.connections),
        hosts: listening.hosts,
        connections: listening.connections,
        ..ProxyOptions::new(&args.upstream)
    };
    let refused = |error: Error| exit::bad_arguments(error.to_string());
    let proxy = Proxy::new(Arc::new(engine), options).map_err(refused)?;
    servers::run(async {
        let listener = serve::bind(args.addr, global).await?;
        let shutdown = Shutdown::default();
        shutdown.on_signals();
        proxy.serve(listener, &shutdown).await?;
        Ok(ExitCode::SUCCESS)
    })
}
