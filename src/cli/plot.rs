//! A suite's report as a picture: a row a set, a dot a strategy, whiskers for how sure it is.
//!
//! Drawn with the simple shapes of plotters, at places of our own: its charts know no axis of
//! words, and rows that are sorted by score read better than any legend.

use std::fmt::Display;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::exit::{FAILED, Failure};
use crate::engine::Strategy;
use crate::eval::{Comparison, Interval, SuiteReport, Verdict};

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

const WIDTH: i32 = 1120;
/// Where the scale of scores begins and ends.
const LEFT: i32 = 276;
const RIGHT: i32 = WIDTH - 236;
const TOP: i32 = 128;
const ROW: i32 = 44;
/// Between the sets and the means.
const GAP: i32 = 22;
const BOTTOM: i32 = 74;
/// Between the strategies of a row.
const STEP: i32 = 11;

/// Space at the left and the right.
const EDGE: i32 = 24;
/// Where the two columns of numbers end.
const SCORES: i32 = RIGHT + 64;
const DIFFERENCES: i32 = WIDTH - EDGE - 10;

const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
const PALE: RGBColor = RGBColor(0x68, 0x70, 0x7a);
const GRID: RGBColor = RGBColor(0xdf, 0xe3, 0xe8);
/// For a blend that is worse than one of its parts; from the colours below.
const WARNING: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const BAND: RGBColor = RGBColor(0xf5, 0xf7, 0xf9);
const FONT: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// Three of the colours that Okabe and Ito chose for every kind of colour vision; each strategy
/// has a shape as well.
fn colour(strategy: Strategy) -> RGBColor {
    match strategy {
        Strategy::Keyword => RGBColor(0xe6, 0x9f, 0x00),
        Strategy::Semantic => RGBColor(0x00, 0x9e, 0x73),
        Strategy::Hybrid | Strategy::Auto => RGBColor(0x00, 0x72, 0xb2),
    }
}

/// One line of the picture.
struct Row<'a> {
    name: String,
    detail: String,
    comparison: &'a Comparison,
    is_mean: bool,
}

/// The picture, whole.
pub fn svg(report: &SuiteReport) -> anyhow::Result<String> {
    let rows = rows(report);
    let height = TOP + ROW * rows.len() as i32 + GAP + BOTTOM;
    let mut svg = String::new();
    draw(&mut svg, report, &rows, height).map_err(|error| Failure {
        code: FAILED,
        said: format!("the plot cannot be drawn: {error}"),
    })?;
    Ok(svg)
}

/// Sets by hybrid's score, the best first; then the means.
fn rows(report: &SuiteReport) -> Vec<Row<'_>> {
    let sets = report.sets.iter().map(|set| Row {
        name: set.set.clone(),
        detail: format!("{} tools, {} prompts", grouped(set.tools), grouped(set.queries)),
        comparison: &set.comparison,
        is_mean: false,
    });
    let mut rows: Vec<Row<'_>> = sets.collect();
    let score = |row: &Row<'_>| row.comparison.strategies.hybrid.ndcg_at_5.mean;
    rows.sort_by(|a, b| score(b).total_cmp(&score(a)));
    let means = report.means.iter().map(|mean| Row {
        name: format!("Mean of {}", mean.over),
        detail: format!("{} sets, each counts the same", mean.sets),
        comparison: &mean.comparison,
        is_mean: true,
    });
    rows.extend(means);
    rows
}

/// `42,820`
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Why a shape could not be drawn. Into a string all can.
type Drawn = Result<(), String>;

fn draw(svg: &mut String, report: &SuiteReport, rows: &[Row<'_>], height: i32) -> Drawn {
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE).map_err(told)?;
    let canvas = Canvas { area: root, scale: Scale::of(rows) };
    canvas.head(report)?;
    canvas.axis(height)?;
    let mut middle = TOP + ROW / 2;
    let mut last_was_mean = false;
    for (at, row) in rows.iter().enumerate() {
        if row.is_mean && !last_was_mean {
            middle += GAP;
            let above = middle - ROW / 2 - GAP / 2;
            canvas.line((EDGE, above), (WIDTH - EDGE, above), PALE, 1)?;
        }
        last_was_mean = row.is_mean;
        canvas.row(row, middle, at % 2 == 0)?;
        middle += ROW;
    }
    canvas.area.present().map_err(told)
}

fn told(error: impl Display) -> String {
    error.to_string()
}

/// Scores to columns of pixels, from one tenth to another.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(rows: &[Row<'_>]) -> Self {
        let all = || rows.iter().flat_map(|row| row.comparison.strategies.iter());
        let low = all().map(|(_, scores)| scores.ndcg_at_5.low).fold(1.0, f64::min);
        let high = all().map(|(_, scores)| scores.ndcg_at_5.high).fold(0.0, f64::max);
        let low = (low * 10.0).floor().clamp(0.0, 9.0) / 10.0;
        Self { low, high: ((high * 10.0).ceil() / 10.0).clamp(low + 0.1, 1.0) }
    }

    fn x(&self, score: f64) -> i32 {
        let share = (score - self.low) / (self.high - self.low);
        LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
    }

    fn tenths(&self) -> impl Iterator<Item = f64> {
        let (first, last) = ((self.low * 10.0).round() as i32, (self.high * 10.0).round() as i32);
        (first..=last).map(|tenth| f64::from(tenth) / 10.0)
    }
}

/// How a text stands at its place.
#[derive(Clone, Copy)]
struct Writing {
    size: i32,
    colour: RGBColor,
    bold: bool,
    at: HPos,
}

impl Writing {
    const fn new(size: i32, colour: RGBColor) -> Self {
        Self { size, colour, bold: false, at: HPos::Left }
    }

    const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    const fn at(self, at: HPos) -> Self {
        Self { at, ..self }
    }
}

struct Canvas<'a> {
    area: Area<'a>,
    scale: Scale,
}

impl Canvas<'_> {
    /// Title, what is shown, and the legend.
    fn head(&self, report: &SuiteReport) -> Drawn {
        let title = format!("Ranking quality by set: {}, {}", report.model, report.precision);
        self.text(&title, (EDGE, 30), Writing::new(24, INK).bold())?;
        let prompts: usize = report.sets.iter().map(|set| set.queries).sum();
        let (sets, prompts) = (report.sets.len(), grouped(prompts));
        let most = report.queries_per_set;
        let sample = most.map_or(String::new(), |most| format!(", at most {most} a set"));
        let said = format!(
            "nDCG@5: mean and 95 % bootstrap interval. {sets} sets, {prompts} prompts{sample}. \
             Sorted by hybrid."
        );
        self.text(&said, (EDGE, 60), Writing::new(15, PALE))?;
        let mut x = LEFT;
        let about = ["keyword (BM25)", "semantic (the model)", "hybrid (both)"];
        let strategies = [Strategy::Keyword, Strategy::Semantic, Strategy::Hybrid];
        for (strategy, about) in strategies.into_iter().zip(about) {
            self.line((x - 14, 92), (x + 14, 92), colour(strategy), 2)?;
            self.marker(strategy, (x, 92))?;
            self.text(about, (x + 22, 92), Writing::new(15, INK))?;
            x += 64 + 8 * about.len() as i32;
        }
        let head = Writing::new(13, PALE).at(HPos::Right);
        self.text("hybrid", (SCORES, 92), head)?;
        self.text("less best part", (DIFFERENCES, 92), head)
    }

    fn axis(&self, height: i32) -> Drawn {
        let bottom = height - BOTTOM + 8;
        for tenth in self.scale.tenths() {
            let x = self.scale.x(tenth);
            self.line((x, TOP - 8), (x, bottom), GRID, 1)?;
            let label = Writing::new(14, PALE).at(HPos::Center);
            self.text(&format!("{tenth:.1}"), (x, bottom + 16), label)?;
        }
        let centre = (LEFT + RIGHT) / 2;
        let label = Writing::new(14, INK).at(HPos::Center);
        self.text("nDCG@5 (1 is a perfect ranking)", (centre, bottom + 42), label)
    }

    fn row(&self, row: &Row<'_>, middle: i32, is_banded: bool) -> Drawn {
        if is_banded {
            let band = [(EDGE, middle - ROW / 2), (WIDTH - EDGE, middle + ROW / 2)];
            self.area.draw(&Rectangle::new(band, BAND.filled())).map_err(told)?;
            for tenth in self.scale.tenths() {
                let x = self.scale.x(tenth);
                self.line((x, band[0].1), (x, band[1].1), GRID, 1)?;
            }
        }
        let name = Writing { bold: row.is_mean, ..Writing::new(16, INK) };
        self.text(&shortened(&row.name), (EDGE + 10, middle - 9), name)?;
        self.text(&row.detail, (EDGE + 10, middle + 10), Writing::new(13, PALE))?;
        for (at, (strategy, scores)) in (-1..).zip(row.comparison.strategies.iter()) {
            self.whisker(strategy, scores.ndcg_at_5, middle + at * STEP)?;
        }
        self.numbers(row, middle)
    }

    fn whisker(&self, strategy: Strategy, score: Interval, y: i32) -> Drawn {
        let [low, mean, high] = [score.low, score.mean, score.high].map(|at| self.scale.x(at));
        self.line((low, y), (high, y), colour(strategy), 2)?;
        for end in [low, high] {
            self.line((end, y - 3), (end, y + 3), colour(strategy), 2)?;
        }
        self.marker(strategy, (mean, y))
    }

    /// A shape of its own for each, on a white rim that keeps neighbours apart.
    fn marker(&self, strategy: Strategy, at: (i32, i32)) -> Drawn {
        let (x, y) = at;
        let corners = |size: i32| match strategy {
            Strategy::Keyword => [(-size, -size), (size, -size), (size, size), (-size, size)],
            _ => [(0, -size), (size, 0), (0, size), (-size, 0)],
        };
        let colours = [(2, WHITE), (0, colour(strategy))];
        for (rim, colour) in colours {
            let fill = colour.filled();
            let drawn = if strategy == Strategy::Hybrid {
                self.area.draw(&Circle::new(at, 5 + rim, fill))
            } else {
                let size = if strategy == Strategy::Keyword { 4 } else { 6 };
                let points = corners(size + rim).map(|(right, down)| (x + right, y + down));
                self.area.draw(&Polygon::new(points, fill))
            };
            drawn.map_err(told)?;
        }
        Ok(())
    }

    fn numbers(&self, row: &Row<'_>, middle: i32) -> Drawn {
        let hybrid = row.comparison.strategies.hybrid.ndcg_at_5.mean;
        let score = Writing::new(16, colour(Strategy::Hybrid)).bold().at(HPos::Right);
        self.text(&format!("{hybrid:.3}"), (SCORES, middle), score)?;
        let against = row.comparison.hybrid_vs_best;
        let (ink, pale) = match against.verdict {
            Verdict::Above => (colour(Strategy::Hybrid), colour(Strategy::Hybrid)),
            Verdict::NotBelow => (INK, PALE),
            Verdict::Below => (WARNING, WARNING),
        };
        // A hyphen is shorter than the plus above it.
        let difference = format!("{:+.3}", against.difference.mean).replace('-', "−");
        let number = Writing::new(15, ink).at(HPos::Right);
        self.text(&difference, (DIFFERENCES, middle - 8), number)?;
        let said = format!("{} {}", against.verdict.as_str(), against.best);
        let verdict = Writing::new(12, pale).at(HPos::Right);
        self.text(&said, (DIFFERENCES, middle + 10), verdict)
    }

    fn line(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) -> Drawn {
        let style = colour.stroke_width(width);
        self.area.draw(&PathElement::new([from, to], style)).map_err(told)
    }

    /// A text with its middle at the height given.
    fn text(&self, text: &str, at: (i32, i32), writing: Writing) -> Drawn {
        let style = if writing.bold { FontStyle::Bold } else { FontStyle::Normal };
        // plotters divides by this on its way to SVG.
        let size = f64::from(writing.size) * 1.24;
        let font = FontDesc::new(FontFamily::Name(FONT), size, style);
        let style = TextStyle::from(font).color(&writing.colour);
        let style = style.pos(Pos::new(writing.at, VPos::Center));
        self.area.draw(&Text::new(text, at, style)).map_err(told)
    }
}

/// A folder's name may be of any length.
fn shortened(name: &str) -> String {
    super::render::cut(&super::render::plain(name), 22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let shown = [0, 45, 999, 1_000, 42_820, 1_000_000].map(grouped);
        assert_eq!(shown, ["0", "45", "999", "1,000", "42,820", "1,000,000"]);
    }

    #[test]
    fn a_scale_goes_from_one_tenth_to_another_and_is_never_empty() {
        let none = Scale::of(&[]);
        assert!(none.low < none.high && none.tenths().count() == 2);
        let scale = Scale { low: 0.3, high: 0.7 };
        assert_eq!((scale.x(0.3), scale.x(0.7)), (LEFT, RIGHT));
        assert_eq!(scale.tenths().collect::<Vec<_>>(), [0.3, 0.4, 0.5, 0.6, 0.7]);
    }
}
