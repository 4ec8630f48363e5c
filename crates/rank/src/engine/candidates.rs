//! Resolves the candidates of a request to rows.

use super::state::State;
use super::{Error, SelectRequest};

impl State {
    /// Returns the rows of the request's candidates, ascending, and the ids that are not in the
    /// catalog.
    pub fn candidate_rows(
        &self,
        request: &SelectRequest,
    ) -> Result<(Option<Vec<u32>>, Vec<String>), Error> {
        let Some(ids) = &request.candidates else { return Ok((None, Vec::new())) };
        let (mut rows, unknown) = self.known_rows(ids)?;
        rows.sort_unstable();
        rows.dedup();
        Ok((Some(rows), unknown))
    }

    pub fn check_candidates(&self, ids: &[String]) -> Result<(), Error> {
        self.known_rows(ids).map(drop)
    }

    fn known_rows(&self, ids: &[String]) -> Result<(Vec<u32>, Vec<String>), Error> {
        let (mut rows, mut unknown) = (Vec::with_capacity(ids.len()), Vec::new());
        for id in ids {
            match self.catalog.row(id) {
                Some(row) => rows.push(row),
                None => unknown.push(id.clone()),
            }
        }
        if let (true, Some(first)) = (rows.is_empty(), unknown.first()) {
            let near = self.catalog.near(first, 2).into_iter().map(|id| id.to_string()).collect();
            return Err(Error::UnknownCandidates { count: ids.len(), first: first.clone(), near });
        }
        Ok((rows, unknown))
    }
}
