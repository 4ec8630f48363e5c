//! The integration tests: one binary, a module a subject. They run the real `toolroute` on real
//! catalogs with the real model, which `scripts/fetch_model.sh` installs.

mod batch;
mod formats;
mod golden;
mod hub;
mod layers;
mod model;
mod route;
mod snapshot;
mod streams;
mod suite;
mod support;
mod tools;
