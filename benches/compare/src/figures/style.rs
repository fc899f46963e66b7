//! How a method is told from the others, also by people who see few colours, and in print without any: colour and marker
//! by method, dashes by mode.

/// Colours that differ for colour-blind people as well (Okabe and Ito, two of Tol's), and a marker each.
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
    /// An SVG path of the shape round a point.
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

/// Colour, marker, dashes and width of the line of a method's `mode`-th mode.
pub fn of(method: &str, mode: usize) -> (&'static str, Marker, &'static str, f64) {
    let known = METHODS.iter().find(|m| m.0 == method);
    let (colour, marker) = known.map_or(("#aa0000", Marker::Circle), |m| (m.1, m.2));
    // TCASM has many modes: the one that users get stands out, and the others have a marker each.
    let (marker, width) = match (method, mode) {
        ("tcasm", 0) => (Marker::Circle, 2.8),
        ("tcasm", mode) => (MODES[mode % MODES.len()], 1.3),
        _ => (marker, 1.3),
    };
    (colour, marker, DASHES[mode % DASHES.len()], width)
}
