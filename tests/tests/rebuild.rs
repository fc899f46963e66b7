//! Rebuilding a region from the field descriptions, the bytes and the version number of another
//! one.

use bytemuck::{Pod, Zeroable};
use ndarray::{Ix1, Ix2, Ix3, Ix4, IxDyn};
use tcasm_observer::{FieldTable, Observer};
use tcasm_producer::{
    Complex, DType, DefineError, FieldDesc, Kind, Mesh, Producer, RegionPtr, TrackerKind, ViewError,
};
use tcasm_tests::{PublishVisible, name, on_all_trackers};

const PAGE: usize = 4096;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Node {
    value: u64,
    next: RegionPtr<Node>,
}

/// The state of a run: its address, version and field table, and the bytes of its fields by offset.
struct Saved {
    base: usize,
    version: u64,
    table: FieldTable,
    bytes: Vec<Vec<u8>>,
}

/// Runs a producer with fields of all kinds. One is bound to its second buffer, one is handed over,
/// and scratch lies between them.
fn run(name: &str, tracker: TrackerKind) -> Saved {
    let builder = Producer::builder(name).capacity(8 << 20).tracker(tracker);
    let mut p = builder.attr("code", "rebuilt").create().unwrap();
    let rho = p.field::<f64, _>("rho", [6, 7, 8]).fortran_order();
    let rho = rho.ghosts(&[[1, 1], [0, 2], [1, 0]]).cell_centred();
    let rho = rho
        .unit("kg/m^3")
        .attr("nice", 1.0)
        .mesh([0.5; 3], [0.1; 3]);
    let rho = rho.add().unwrap();
    let wave = p.field::<Complex<f32>, _>("wave", [100, 3]).vector();
    let wave = wave.add().unwrap();
    let second = p.buffer_like(wave).unwrap();
    p.scratch::<u8, _>([3 * PAGE]).unwrap();
    let handed = p
        .field::<u8, _>("handed", [5000])
        .handed_over()
        .add()
        .unwrap();
    let nodes = p.raw::<Node>("nodes", 300).attr("kept", 1.5).add().unwrap();
    p.bind(wave, second).unwrap();
    p.view_mut(rho).unwrap()[[1, 2, 3]] = 7.5;
    p.view_mut(second).unwrap()[[99, 2]] = Complex::new(1.0, -1.0);
    p.rewrite(handed).unwrap().map_inplace(|x| x.write(9));
    for i in 0..300 {
        let (value, next) = (i as u64, p.raw_ptr(nodes, i + 7).unwrap());
        p.raw_mut(nodes).unwrap()[i] = Node { value, next };
    }
    let version = p.publish_visible(3, 0.25).unwrap().version().unwrap();
    let version = Observer::attach(name).unwrap().version(version).unwrap();
    let view = version.view().unwrap();
    let mut table = version.table().clone();
    table.fields.sort_by_key(|f| f.offset);
    let bytes = table
        .fields
        .iter()
        .map(|f| view.bytes(&f.name).unwrap().to_vec());
    Saved {
        base: p.base(),
        version: version.number(),
        bytes: bytes.collect(),
        table,
    }
}

/// Makes the region again without knowing the types of the program.
fn rebuild(name: &str, tracker: TrackerKind, saved: &Saved) -> Producer {
    let builder = Producer::builder(name).capacity(8 << 20).base(saved.base);
    let builder = builder.tracker(tracker).first_version(saved.version + 41);
    let mut p = builder.create().unwrap();
    for (name, value) in &saved.table.attrs {
        p.set_attr(name, value.clone());
    }
    for (field, bytes) in saved.table.fields.iter().zip(&saved.bytes) {
        p.define(field).unwrap();
        p.field_bytes_mut(&field.name)
            .unwrap()
            .copy_from_slice(bytes);
        assert_eq!(p.field_bytes(&field.name).unwrap(), bytes);
    }
    p
}

#[test]
fn a_rebuilt_region_has_the_same_table_bytes_and_pointers_and_goes_on_from_there() {
    on_all_trackers(|tracker| {
        let name = name("rebuilt");
        let saved = run(&name, tracker);
        let mut p = rebuild(&name, tracker, &saved);
        let mut o = Observer::attach(&name).unwrap();
        let receipt = p.publish_visible(4, 0.5).unwrap();
        assert_eq!(receipt.version(), Some(saved.version + 41));
        let version = o.wait_newer(std::time::Duration::from_secs(9)).unwrap();
        assert_eq!(version.table(), &saved.table, "{tracker}");
        let view = version.view().unwrap();
        for (field, bytes) in saved.table.fields.iter().zip(&saved.bytes) {
            assert_eq!(view.bytes(&field.name).unwrap(), bytes, "{}", field.name);
        }
        assert_eq!(view.array::<f64>("rho").unwrap()[[1, 2, 3]], 7.5);
        let wave = view.array::<Complex<f32>>("wave").unwrap();
        assert_eq!(wave[[99, 2]], Complex::new(1.0, -1.0));
        let node = &view.raw::<Node>("nodes").unwrap()[3];
        let third = view.deref(view.deref(node.next).unwrap().next).unwrap();
        assert_eq!(third.value, 17, "pointers must lead to the same nodes");

        // The program goes on with handles, and the region with its tracker.
        let rho = p.handle::<f64, Ix3>("rho").unwrap();
        p.view_mut(rho).unwrap()[[0, 0, 0]] = -1.0;
        let wave = p.handle::<Complex<f32>, Ix2>("wave").unwrap();
        let next = p.buffer_like(wave).unwrap();
        p.bind(wave, next).unwrap();
        let nodes = p.raw_handle::<Node>("nodes").unwrap();
        p.raw_mut(nodes).unwrap()[3].value = 0;
        p.field_bytes_mut("handed").unwrap()[4999] = 1;
        p.field::<u8, _>("more", [10]).add().unwrap();
        p.publish_visible(5, 0.75).unwrap();
        let view = o.latest().unwrap().view().unwrap();
        assert_eq!(view.array::<f64>("rho").unwrap()[[0, 0, 0]], -1.0);
        assert!(view.bytes("wave").unwrap().iter().all(|x| *x == 0));
        assert_eq!(view.raw::<Node>("nodes").unwrap()[3].value, 0);
        assert_eq!(view.bytes("handed").unwrap()[4998..], [9, 1]);
        assert_eq!(p.field_bytes("wave").unwrap(), view.bytes("wave").unwrap());
        p.rollback(saved.version + 42).unwrap();
        assert!(p.check_store().unwrap());
    });
}

#[test]
fn a_handle_of_another_type_or_shape_is_a_clear_error() {
    let mut p = Producer::builder(&name("handles"))
        .capacity(8 << 20)
        .create()
        .unwrap();
    p.field::<f64, _>("a", [3, 4]).add().unwrap();
    p.field::<f32, _>("v", [5, 6, 2]).vector().add().unwrap();
    p.field::<f32, _>("one", [5, 1]).vector().add().unwrap();
    p.raw::<Node>("nodes", 3).add().unwrap();
    let handed = p.field::<u8, _>("handed", [1]).handed_over().add().unwrap();

    assert!(p.handle::<f64, Ix2>("a").is_ok() && p.handle::<f64, IxDyn>("a").is_ok());
    assert!(p.handle::<f32, Ix3>("v").is_ok());
    let one = p.handle::<f32, Ix2>("one").unwrap();
    assert_eq!(p.view(one).unwrap().shape(), [5, 1]);
    let text = |e: DefineError| e.to_string();
    let dtype = text(p.handle::<f32, Ix2>("a").unwrap_err());
    assert!(dtype.contains("dtype float64, not float32"), "{dtype}");
    let few = text(p.handle::<f32, Ix2>("v").unwrap_err());
    assert!(
        few.contains("has 3 dimensions (shape [5, 6, 2]") && few.contains("not 2"),
        "{few}"
    );
    assert!(matches!(
        p.handle::<f32, Ix4>("v"),
        Err(DefineError::Dimensions { asked: 4, .. })
    ));
    assert!(matches!(
        p.handle::<u8, Ix1>("nodes"),
        Err(DefineError::Array(_))
    ));
    let none = text(p.handle::<u8, Ix1>("b").unwrap_err());
    assert!(none.contains(r#"there are ["a", "v""#), "{none}");
    assert!(matches!(
        p.handle::<u8, Ix1>("handed"),
        Err(DefineError::HandedOver { .. })
    ));

    assert!(p.raw_handle::<Node>("nodes").is_ok());
    assert!(matches!(
        p.raw_handle::<f64>("a"),
        Err(DefineError::NotRaw {
            dtype: DType::F64,
            ..
        })
    ));
    let size = text(p.raw_handle::<[u64; 3]>("nodes").unwrap_err());
    assert!(
        size.contains("16 bytes aligned to 8, not of 24 bytes aligned to 8"),
        "{size}"
    );
    let align = text(p.raw_handle::<[u32; 4]>("nodes").unwrap_err());
    assert!(
        align.contains("aligned to 8, not of 16 bytes aligned to 4"),
        "{align}"
    );

    assert!(matches!(
        p.field_bytes_mut("b"),
        Err(ViewError::NoField { .. })
    ));
    p.rewrite(handed).unwrap();
    p.field_bytes_mut("handed").unwrap()[0] = 1;
    p.publish_visible(1, 0.0).unwrap();
    assert!(matches!(
        p.field_bytes_mut("handed"),
        Err(ViewError::Frozen)
    ));
    assert_eq!(p.field_bytes("handed").unwrap(), [1]);
    p.close();
    assert!(matches!(
        p.handle::<f64, Ix2>("a"),
        Err(DefineError::Closed)
    ));
}

#[test]
fn mesh_that_cannot_be_used_is_refused_when_declared_and_left_out_of_a_rebuilt_field() {
    let name = name("mesh");
    let mut p = Producer::builder(&name)
        .capacity(10 * PAGE)
        .create()
        .unwrap();
    for bad in [-0.5, 0.0, f64::NAN, f64::INFINITY] {
        let spacing = [1.0, bad, 1.0];
        let field = p.field::<f64, _>("a", [4]).mesh([0.0; 3], spacing);
        let error = field.add().unwrap_err().to_string();
        assert!(error.contains(&format!("{spacing:?}")), "{error}");
    }
    let origin = [f64::NAN, 0.0, 0.0];
    let field = p.field::<f64, _>("a", [4]).mesh(origin, [1.0; 3]);
    let error = field.add().unwrap_err().to_string();
    assert!(error.contains("give three finite numbers"), "{error}");

    let mut old = FieldDesc::new("a", DType::F64, &[4]);
    old.mesh = Some(Mesh {
        origin,
        spacing: [0.0; 3],
    });
    p.define(&old).unwrap();
    p.publish_visible(1, 0.0).unwrap();
    let version = Observer::attach(&name).unwrap().latest().unwrap();
    assert_eq!(version.field("a").unwrap().mesh, None);
}

#[test]
fn field_at_an_impossible_offset_is_a_clear_error() {
    let mut p = Producer::builder(&name("define"))
        .capacity(10 * PAGE)
        .create()
        .unwrap();
    let at = |name: &str, offset: usize| {
        let mut desc = FieldDesc::new(name, DType::F64, &[1000]);
        desc.offset = offset as u64;
        desc
    };
    p.define(&at("a", 2 * PAGE)).unwrap();
    assert!(matches!(
        p.define(&at("a", 9 * PAGE)),
        Err(DefineError::Twice(_))
    ));
    assert!(matches!(
        p.define(&at("b", 5 * PAGE + 4)),
        Err(DefineError::Unaligned { align: 8, .. })
    ));
    for offset in [0, 3 * PAGE] {
        let error = p.define(&at("b", offset)).unwrap_err();
        let used = 4 * PAGE as u64;
        assert!(
            matches!(error, DefineError::Taken { used: u, .. } if u == used),
            "{error}"
        );
    }
    for offset in [73 * PAGE, usize::MAX / PAGE * PAGE] {
        let error = p.define(&at("b", offset)).unwrap_err();
        assert!(error.to_string().contains("leaves its region"), "{error}");
    }
    let mut odd = at("b", 4 * PAGE);
    let type_name = "Odd".to_owned();
    odd.kind = Kind::Raw {
        type_name,
        align: 3,
    };
    assert!(matches!(
        p.define(&odd),
        Err(DefineError::Alignment { align: 3, .. })
    ));
    odd.shape = vec![0];
    assert!(matches!(p.define(&odd), Err(DefineError::Field(_))));
    p.define(&at("b", 4 * PAGE)).unwrap();
    let next = p.field::<u8, _>("c", [1]).add().unwrap();
    p.publish_visible(1, 0.0).unwrap();
    p.view_mut(next).unwrap();
    p.close();
    assert!(matches!(
        p.define(&at("d", 20 * PAGE)),
        Err(DefineError::Closed)
    ));
}
