//! The integration tests: one binary, a module a subject. They run the real `toolroute` on real
//! catalogs with the built-in models; those that compare with sentence-transformers, and those of the
//! store, take all-MiniLM-L6-v2, which `scripts/fetch_model.sh` installs.

mod batch;
mod built_in;
mod call;
mod conduct;
mod context;
mod drill;
mod feedback;
mod formats;
mod gateway;
mod golden;
mod hub;
mod layers;
mod learn;
mod model;
mod route;
mod signals;
mod snapshot;
mod streams;
mod suite;
mod support;
mod tools;
