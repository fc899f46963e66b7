//! The styles of lines. Each method has its own combination of colour and marker, and each mode its
//! own dashes. So lines differ also for colour-blind people and in print without colours.

/// The colour and the marker of each method. The colours differ for colour-blind people as well.
/// They are those of Okabe and Ito, and two of Tol.
const METHODS: [(&str, &str, Marker); 9] = [
    ("tcasm", "#0072B2", Marker::Circle),
    ("copy", "#E69F00", Marker::Square),
    ("lock", "#009E73", Marker::Triangle),
    ("fork", "#D55E00", Marker::Diamond),
    ("mprotect", "#CC79A7", Marker::Down),
    ("anon-asm", "#56B4E9", Marker::Square),
    ("file-asm", "#999933", Marker::Triangle),
    ("iceoryx2", "#000000", Marker::Diamond),
    ("adios2", "#777777", Marker::Down),
];

const DASHES: [&str; 6] = ["none", "7 3", "2 3", "none", "9 3 2 3", "1 5"];

const MODES: [Marker; 5] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Down,
];

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Down,
    Diamond,
}

impl Marker {
    /// Returns an SVG path of the shape around a point.
    pub fn path(self, x: f64, y: f64) -> String {
        let corners: &[(f64, f64)] = match self {
            Marker::Circle => return circle(x, y, 3.4),
            Marker::Square => &[(-3.0, -3.0), (3.0, -3.0), (3.0, 3.0), (-3.0, 3.0)],
            Marker::Triangle => &[(0.0, -4.0), (3.7, 2.8), (-3.7, 2.8)],
            Marker::Down => &[(0.0, 4.0), (3.7, -2.8), (-3.7, -2.8)],
            Marker::Diamond => &[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)],
        };
        let points = corners
            .iter()
            .map(|(dx, dy)| format!("{:.1} {:.1}", x + dx, y + dy));
        format!("M{}Z", points.collect::<Vec<_>>().join("L"))
    }
}

fn circle(x: f64, y: f64, r: f64) -> String {
    let d = 2.0 * r;
    format!(
        "M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
        x - r
    )
}

/// Returns colour, marker, dashes and width of the line of a mode. `mode` is its index among the
/// modes of the method.
pub fn of(method: &str, mode: usize) -> (&'static str, Marker, &'static str, f64) {
    let known = METHODS.iter().find(|m| m.0 == method);
    let (colour, marker) = known.map_or(("#aa0000", Marker::Circle), |m| (m.1, m.2));
    // TCASM has many modes. The default mode has a wide line, and each other mode its own marker.
    let (marker, width) = match (method, mode) {
        ("tcasm", 0) => (Marker::Circle, 2.8),
        ("tcasm", mode) => (MODES[mode % MODES.len()], 1.3),
        _ => (marker, 1.3),
    };
    (colour, marker, DASHES[mode % DASHES.len()], width)
}
