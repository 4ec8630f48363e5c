//! The integration tests: one binary, a module a subject. They run the real `toolroute` on real
//! catalogs with the built-in models; those that compare with sentence-transformers, and those of the
//! store, take all-MiniLM-L6-v2, which `scripts/fetch_model.sh` installs.

mod arguments;
mod attacks;
mod backend;
mod batch;
mod blend;
mod built_in;
mod call;
mod call_hints;
mod conduct;
mod context;
mod contexts;
mod drill;
mod feedback;
mod filter;
mod formats;
mod fuzz;
mod gateway;
mod golden;
mod graph;
mod guard;
mod hostile;
mod http;
mod hub;
mod import;
mod layers;
mod learn;
mod model;
mod needs;
mod operators;
mod plan;
mod proxy;
mod refusals;
mod route;
mod serve;
mod serve_conduct;
mod serve_servers;
mod sessions;
mod signals;
mod snapshot;
mod stand_ins;
mod streams;
mod suite;
mod support;
mod tools;
