//! Tests of fields on the blocks of one whole: pages must get all used blocks of one version, each
//! at its place.

use crate::meshes::floats;
use crate::page::{Frame, Page, Site, name, producer};
use ndarray::Ix2;
use serde_json::{Value, json};
use tcasm_producer::{Block, Field, MeshHandle, Producer};

/// Number of points along x, y and z of a block of 4 x 4 cells.
const POINTS: [usize; 3] = [5, 5, 1];

/// A block with its field.
struct Tile {
    mesh: MeshHandle,
    rho: Field<f64, Ix2>,
}

impl Tile {
    /// Adds block `number` of `amr`, at (x, y) with cells of this size.
    fn add(p: &mut Producer, number: usize, level: u32, at: [f64; 2], size: f64) -> Tile {
        let [x, y] = at;
        let mesh = p.uniform_mesh(
            &format!("b{number}"),
            POINTS,
            [x, y, 0.0],
            [size, size, 1.0],
        );
        let block = Block {
            of: "amr".to_owned(),
            level,
            refinement: [2, 2, 1],
            offset: [0; 3],
        };
        let mesh = mesh.block(block).add().unwrap();
        let rho = p.field::<f64, _>(&format!("rho{number}"), [4, 4]);
        let rho = rho.cell_centred().variable().on(&mesh).quantity("rho");
        let rho = rho.add().unwrap();
        Tile { mesh, rho }
    }

    fn place(&self, p: &mut Producer, [x, y]: [f64; 2], size: f64) {
        let spacing = [size, size, 1.0];
        p.set_uniform_mesh(&self.mesh, POINTS, [x, y, 0.0], spacing)
            .unwrap();
    }

    /// Fills the block with `value`, and 0.25 more in each further column.
    fn fill(&self, p: &mut Producer, value: f64) {
        for ((_, x), out) in p.view_mut(self.rho).unwrap().indexed_iter_mut() {
            *out = value + 0.25 * x as f64;
        }
    }
}

/// Publishes a coarse block with the values 1 ..., a fine one over its lower right quarter with 5
/// ..., and one that is unused.
fn start(name: &str) -> (Producer, [Tile; 3]) {
    let mut p = producer(name);
    let tiles = [
        Tile::add(&mut p, 0, 0, [0.0, 0.0], 1.0),
        Tile::add(&mut p, 1, 1, [2.0, 0.0], 0.5),
        Tile::add(&mut p, 2, 1, [8.0, 8.0], 0.5),
    ];
    tiles[0].fill(&mut p, 1.0);
    tiles[1].fill(&mut p, 5.0);
    p.set_unused(&tiles[2].mesh).unwrap();
    p.publish(1, 0.0).unwrap();
    (p, tiles)
}

fn request() -> Value {
    json!({
        "field": "amr/rho", "slice": {"axes": [0, 1], "at": [0, 0], "pixels": [90, 90]},
        "probe": [1, 5], "histogram": 4,
    })
}

/// Waits for the images of blocks of a version.
fn blocks_of(page: &mut Page, version: u64) -> Frame {
    page.until("blocks", |frame| {
        frame.version() == version && !frame.head["blocks"].is_null()
    })
}

/// Returns the names of the blocks of a frame, and the coordinates (y, x) of their first points.
fn places(frame: &Frame) -> Vec<(String, Value)> {
    let images = frame.head["blocks"]["images"].as_array().unwrap().iter();
    let place = |image: &Value| {
        let name = image["mesh"].as_str().unwrap().to_owned();
        (name, image["origin"].clone())
    };
    images.map(place).collect()
}

/// Returns the first row of samples of a block; `None` if the page has all samples already.
fn first_row(frame: &Frame, number: usize) -> Option<Vec<f64>> {
    let image = &frame.head["blocks"]["images"][number];
    let base = image["base"].as_f64().unwrap();
    let has_samples = !image["samples"].is_null();
    let samples = has_samples.then(|| floats(frame, &image["samples"], 4));
    samples.map(|samples| samples.iter().map(|sample| base + sample).collect())
}

fn row(value: f64) -> Option<Vec<f64>> {
    Some([0.0, 0.25, 0.5, 0.75].map(|more| value + more).to_vec())
}

#[test]
fn used_blocks_come_in_one_frame_with_their_places_and_common_statistics() {
    let name = name("whole");
    let _producer = start(&name);
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(request());
    let frame = blocks_of(&mut page, 1);
    assert_eq!(frame.head["shape"], json!([8, 8]));
    let axes = json!({"origin": [0.0, 0.0], "spacing": [0.5, 0.5]});
    assert_eq!(frame.head["axes"], axes);
    let blocks = &frame.head["blocks"];
    assert_eq!((&blocks["count"], &blocks["used"]), (&json!(3), &json!(2)));
    assert_eq!(
        (&blocks["min"], &blocks["max"]),
        (&json!(1.0), &json!(5.75))
    );
    let right = [("b0", json!([0.0, 0.0])), ("b1", json!([0.0, 2.0]))];
    assert_eq!(
        places(&frame),
        right.map(|(name, at)| (name.to_owned(), at))
    );
    assert_eq!(first_row(&frame, 0), row(1.0));
    assert_eq!(first_row(&frame, 1), row(5.0));
    assert_eq!(blocks["images"][1]["spacing"], json!([0.5, 0.5]));
    let probe = &frame.head["probe"];
    assert_eq!(
        (&probe["at"], &probe["values"]),
        (&json!([1, 5]), &json!([5.25]))
    );

    // The parts of whole fields may have come with the images.
    let whole = match frame.head["histogram"].is_null() {
        true => page.until("moments", |frame| !frame.head["histogram"].is_null()),
        false => frame,
    };
    let moments = &whole.head["moments"];
    assert_eq!(
        (&moments["count"], &moments["mean"]),
        (&json!(32), &json!(3.375))
    );
    let counts = whole.head["histogram"]["counts"].as_array().unwrap().iter();
    let counts: Vec<u64> = counts.map(|count| count.as_u64().unwrap()).collect();
    assert_eq!(counts, [16, 0, 0, 16], "from 1 to 5.75");
    let region = page.until_region("wholes", |region| region["wholes"][0]["used"] == 2);
    let listed = &region["wholes"][0];
    assert_eq!(listed["name"], json!("amr/rho"));
    assert_eq!(
        (&listed["whole"], &listed["blocks"]),
        (&json!("amr"), &json!(3))
    );
    assert_eq!(listed["fields"], json!(["rho0", "rho1", "rho2"]));
}

#[test]
fn blocks_that_move_or_become_unused_are_those_of_one_version() {
    let name = name("adapted");
    let (mut p, tiles) = start(&name);
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(request());
    blocks_of(&mut page, 1);

    tiles[1].place(&mut p, [0.0, 2.0], 0.5);
    tiles[2].place(&mut p, [3.0, 3.0], 0.25);
    tiles[2].fill(&mut p, 9.0);
    p.publish(2, 1.0).unwrap();
    let second = blocks_of(&mut page, 2);
    let origins = [[0.0, 0.0], [2.0, 0.0], [3.0, 3.0]];
    let right = |numbers: &[usize]| -> Vec<(String, Value)> {
        let place = |n: &usize| (format!("b{n}"), json!(origins[*n]));
        numbers.iter().map(place).collect()
    };
    assert_eq!(places(&second), right(&[0, 1, 2]));
    assert_eq!(
        second.head["shape"],
        json!([16, 16]),
        "the finest cells are smaller"
    );
    assert_eq!(first_row(&second, 0), None, "the page has these values");
    assert_eq!(first_row(&second, 2), row(9.0));
    assert_eq!(second.head["blocks"]["max"], json!(9.75));

    p.set_unused(&tiles[1].mesh).unwrap();
    p.publish(3, 2.0).unwrap();
    let third = blocks_of(&mut page, 3);
    assert_eq!(places(&third), right(&[0, 2]));
    assert_eq!(third.head["blocks"]["used"], json!(2));

    let mut old = request();
    old["version"] = json!(1);
    let id = page.request(old);
    let first = page.until("version 1", |frame| {
        frame.head["id"] == json!(id) && !frame.head["blocks"].is_null()
    });
    assert_eq!(first.version(), 1);
    let before = [("b0", json!([0.0, 0.0])), ("b1", json!([0.0, 2.0]))];
    assert_eq!(
        places(&first),
        before.map(|(name, at)| (name.to_owned(), at))
    );
    assert_eq!(first_row(&first, 1), row(5.0), "the page had forgotten it");
    assert_eq!(first.head["shape"], json!([8, 8]));
    assert_eq!(first.head["blocks"]["max"], json!(5.75));
}

#[test]
fn whole_without_used_blocks_has_no_values() {
    let name = name("deserted");
    let (mut p, tiles) = start(&name);
    let site = Site::start(&name);
    let mut page = site.open();
    page.request(request());
    blocks_of(&mut page, 1);
    for tile in &tiles[..2] {
        p.set_unused(&tile.mesh).unwrap();
    }
    p.publish(2, 1.0).unwrap();
    let none = page.until("no values", |frame| frame.version() == 2);
    assert_eq!(none.head["shape"], json!([0, 0]));
    assert_eq!(
        (&none.head["blocks"], &none.head["error"]),
        (&json!(null), &json!(null))
    );

    tiles[1].place(&mut p, [6.0, 6.0], 0.5);
    p.publish(3, 2.0).unwrap();
    let again = blocks_of(&mut page, 3);
    assert_eq!(places(&again), [("b1".to_owned(), json!([6.0, 6.0]))]);
    assert_eq!(again.head["axes"]["origin"], json!([6.0, 6.0]));
}

#[test]
fn indices_of_a_request_refer_to_the_cells_that_it_names() {
    let name = name("cells");
    let _producer = start(&name);
    let site = Site::start(&name);
    let mut page = site.open();
    let with = |origin: Value, spacing: Value| {
        let mut wanted = request();
        wanted["axes"] = json!({"origin": origin, "spacing": spacing});
        wanted["probe"] = json!([3, 3]);
        (wanted["slice"]["rows"], wanted["slice"]["cols"]) = (json!([0, 4]), json!([0, 4]));
        wanted
    };
    // The lower right quarter of the coarse block.
    page.request(with(json!([0, 2]), json!([0.5, 0.5])));
    let frame = blocks_of(&mut page, 1);
    let windows = [0_usize, 1].map(|number| &frame.head["blocks"]["images"][number]["window"]);
    assert_eq!(windows[0], &json!([[0, 2], [2, 4]]));
    assert_eq!(windows[1], &json!([[0, 4], [0, 4]]));
    assert_eq!(frame.head["probe"]["values"], json!([5.75]));
    // Beyond all blocks.
    page.request(with(json!([0, 20]), json!([0.5, 0.5])));
    let beyond = page.until("no block", |frame| {
        let probe = &frame.head["probe"];
        !probe.is_null() && probe["values"] == json!([])
    });
    assert_eq!(beyond.head["blocks"]["images"], json!([]));
    assert_eq!(beyond.head["blocks"]["used"], json!(2));

    for (axes, why) in [
        (with(json!([0, 2]), json!([0.5, 0])), "positive spacings"),
        (with(json!([0]), json!([1])), "give 2 finite numbers"),
        (json!({"field": "amr/u"}), "no blocks with \"amr/u\""),
    ] {
        let id = page.request(axes);
        let frame = page.until("an error", |frame| {
            frame.head["id"] == json!(id) && !frame.head["error"].is_null()
        });
        let error = frame.head["error"].as_str().unwrap();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn many_blocks_have_no_more_samples_than_the_screen_and_fields_of_their_own() {
    const SIDE: usize = 12;
    let name = name("crowd");
    let mut p = producer(&name);
    for number in 0..SIDE * SIDE {
        let at = [(number % SIDE) as f64 * 4.0, (number / SIDE) as f64 * 4.0];
        Tile::add(&mut p, number, 0, at, 1.0).fill(&mut p, number as f64);
    }
    p.publish(1, 0.0).unwrap();
    let site = Site::start(&name);
    let mut page = site.open();
    for pixels in [24, 48, 100] {
        let mut wanted = request();
        wanted["slice"]["pixels"] = json!([pixels, pixels]);
        let id = page.request(wanted);
        let frame = page.until("blocks", |frame| {
            frame.head["id"] == json!(id) && !frame.head["blocks"].is_null()
        });
        let images = frame.head["blocks"]["images"].as_array().unwrap();
        assert_eq!(images.len(), SIDE * SIDE);
        let number = |image: &Value, what: &str| image[what].as_u64().unwrap();
        let count = |image: &Value| number(image, "rows") * number(image, "cols");
        let samples: u64 = images.iter().map(count).sum();
        assert!(samples <= pixels * pixels, "{samples} of {pixels}");
        let all = (16 * SIDE * SIDE) as u64;
        assert_eq!(samples == all, pixels >= 48, "{samples} of {pixels}");
    }
    // A block's own field can still be asked for.
    let slice = json!({"axes": [0, 1], "at": [0, 0], "pixels": [9, 9]});
    page.request(json!({"field": "rho7", "slice": slice}));
    let frame = page.until("an image", |frame| !frame.head["image"].is_null());
    assert_eq!(frame.head["axes"]["origin"], json!([0.0, 28.0]));
}
