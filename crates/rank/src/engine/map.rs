//! A two-dimensional map of a catalog: the two principal components of its vectors.

use serde::Serialize;

use super::{CatalogVectors, Engine, Error};
use crate::catalog::ToolId;
use crate::embedding::Role;
use crate::index::Vectors;
use crate::index::dot;

/// Maximum number of rows from which the axes are computed. More make no visible difference.
const SAMPLE: usize = 2_048;

/// Steps of the power iteration: precise enough for a picture.
const STEPS: usize = 40;

/// The positions of a catalog's tools.
#[derive(Clone, Debug, Serialize)]
pub struct Map {
    /// The version of the catalog ([`Engine::version`]).
    pub version: u64,
    /// One point per tool, both coordinates from -1 to 1.
    pub points: Vec<MapPoint>,
    #[serde(skip)]
    plane: Plane,
}

/// One tool on a [`Map`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MapPoint {
    pub id: ToolId,
    pub server: Option<String>,
    /// Coordinate along the first principal component, -1 to 1.
    pub x: f32,
    /// Coordinate along the second principal component, -1 to 1.
    pub y: f32,
}

#[derive(Clone, Debug)]
struct Plane {
    mean: Vec<f32>,
    axes: [Vec<f32>; 2],
    /// Scales the coordinates to -1 to 1.
    scale: f32,
}

impl CatalogVectors {
    /// Returns the positions of the tools. Equal vectors give equal maps.
    pub fn map(&self) -> Map {
        let (state, vectors) = (self.state(), self.rows());
        let mut plane = Plane::of(vectors);
        let rows = (0..vectors.len() as u32).filter_map(|row| vectors.get(row));
        let widest = rows.flat_map(|row| plane.place(row)).fold(0.0, |most, at| at.abs().max(most));
        plane.scale = if widest > 0.0 { 1.0 / widest } else { 1.0 };
        let rows = (0u32..).zip(state.catalog.iter());
        let points = rows.filter_map(|(row, tool)| {
            let [x, y] = plane.place(vectors.get(row)?);
            Some(MapPoint { id: tool.id.clone(), server: tool.server.clone(), x, y })
        });
        Map { version: state.version, points: points.collect(), plane }
    }
}

impl Map {
    /// Returns the position of a prompt on the map of this engine's catalog, both coordinates from
    /// -1 to 1.
    pub fn place(&self, engine: &Engine, prompt: &str) -> Result<[f32; 2], Error> {
        let vectors = engine.embed_texts(&[prompt], Role::Query)?.vectors;
        let place = |vector: &Vec<f32>| self.plane.place(vector).map(|at| at.clamp(-1.0, 1.0));
        Ok(vectors.first().map_or([0.0; 2], place))
    }
}

impl Plane {
    fn of(vectors: &Vectors) -> Self {
        let step = vectors.len().div_ceil(SAMPLE).max(1);
        let rows: Vec<&[f32]> =
            (0..vectors.len()).step_by(step).filter_map(|row| vectors.get(row as u32)).collect();
        let mut mean = vec![0.0; vectors.dimension()];
        for row in &rows {
            add(&mut mean, row, 1.0 / rows.len() as f32);
        }
        let first = axis(&rows, &mean, None);
        let second = axis(&rows, &mean, Some(&first));
        Self { mean, axes: [first, second], scale: 1.0 }
    }

    fn place(&self, vector: &[f32]) -> [f32; 2] {
        let at = |axis: &Vec<f32>| (dot(vector, axis) - dot(&self.mean, axis)) * self.scale;
        [at(&self.axes[0]), at(&self.axes[1])]
    }
}

/// Returns the direction in which the rows differ most, orthogonal to `but` if that is given.
fn axis(rows: &[&[f32]], mean: &[f32], but: Option<&[f32]>) -> Vec<f32> {
    // Any start that is not orthogonal to the axis works; this one has no pattern.
    let start = |at: usize| ((at * 7_919 + 13) % 1_009) as f32 / 1_009.0 - 0.5;
    let mut axis: Vec<f32> = (0..mean.len()).map(start).collect();
    for _ in 0..STEPS {
        if let Some(other) = but {
            let along = dot(&axis, other);
            add(&mut axis, other, -along);
        }
        if !scale_to_unit(&mut axis) {
            return axis;
        }
        let shift = dot(mean, &axis);
        let mut next = vec![0.0; axis.len()];
        let mut sum = 0.0;
        for row in rows {
            let along = dot(row, &axis) - shift;
            add(&mut next, row, along);
            sum += along;
        }
        add(&mut next, mean, -sum);
        axis = next;
    }
    if let Some(other) = but {
        let along = dot(&axis, other);
        add(&mut axis, other, -along);
    }
    scale_to_unit(&mut axis);
    // An axis has two directions; the one whose largest component is positive is used.
    let greatest = axis.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    if greatest.is_some_and(|greatest| greatest < 0.0) {
        axis.iter_mut().for_each(|x| *x = -*x);
    }
    axis
}

fn add(to: &mut [f32], what: &[f32], times: f32) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += what * times);
}

/// Scales to length 1; returns false for a zero vector.
fn scale_to_unit(vector: &mut [f32]) -> bool {
    let length = dot(vector, vector).sqrt();
    if length < 1e-12 || !length.is_finite() {
        vector.fill(0.0);
        return false;
    }
    vector.iter_mut().for_each(|x| *x /= length);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axes_are_where_the_rows_differ_most() {
        let rows: Vec<Vec<f32>> = (0..40)
            .map(|at| {
                let (x, y) = ((at % 8) as f32 - 3.5, (at / 8) as f32 - 2.0);
                vec![10.0, x * 0.4, y * 0.1, 10.0]
            })
            .collect();
        let vectors = Vectors::from_rows(&rows).unwrap();
        let plane = Plane::of(&vectors);
        let [first, second] = &plane.axes;
        assert!(first[1].abs() > 0.99 && second[2].abs() > 0.99, "{plane:?}");
        assert!(dot(first, second).abs() < 1e-4 && first[1] > 0.0);
        let same = Plane::of(&vectors);
        assert_eq!(same.axes, plane.axes);
    }

    #[test]
    fn a_catalog_of_one_tool_lies_in_the_middle() {
        let vectors = Vectors::from_rows(&[[0.6, 0.8]]).unwrap();
        assert_eq!(Plane::of(&vectors).place(&[0.6, 0.8]), [0.0, 0.0]);
    }
}
