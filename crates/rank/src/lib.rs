//! Which tools, for this prompt? [`engine`] answers, from what the prompt asks for ([`query`]), how
//! candidates are scored, filtered and explained ([`selection`]), and what worked ([`feedback`]).

pub mod engine;
pub mod feedback;
pub mod query;
pub mod selection;

use toolroute_catalog as catalog;
use toolroute_vectors::{embedding, index};
