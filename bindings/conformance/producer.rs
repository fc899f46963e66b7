//! The producer of the conformance suite in Rust. README.md says what it does.

use std::error::Error;
use std::io::{Write, stdin, stdout};
use tcasm_core::field::{Block, DType, Element, MeshDesc, MeshKind};
use tcasm_core::num_complex::Complex;
use tcasm_producer::ndarray::{Dimension, IxDyn};
use tcasm_producer::{Builder, Field, HandedOver, Producer};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const EXTENTS: [usize; 7] = [2, 3, 2, 2, 1, 2, 3];

/// A type of elements, and its values.
trait Value: Element {
    fn of(b: u8) -> Self;
}

macro_rules! integers {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn of(b: u8) -> Self {
                <$type>::from_ne_bytes([b; size_of::<$type>()])
            }
        }
    )+};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! reals {
    ($($type:ty),+) => {$(
        impl Value for $type {
            fn of(b: u8) -> Self {
                (<$type>::from(b) - 125.0) / 4.0
            }
        }
        impl Value for Complex<$type> {
            fn of(b: u8) -> Self {
                Complex::new(<$type as Value>::of(b), <$type>::from(b) / 2.0)
            }
        }
    )+};
}
reals!(f32, f64);

fn value<T: Value>(n: usize, seed: usize, step: u64) -> T {
    T::of(((n * 7 + seed * 13 + step as usize * 101) % 251) as u8)
}

/// Writes a field: the producer, its number and the step.
type Fill = Box<dyn Fn(&mut Producer, usize, u64) -> Outcome>;

fn fill<T: Value, D: Dimension + 'static>(field: Field<T, D>) -> Fill {
    Box::new(move |producer, seed, step| {
        let view = producer.view_mut(field)?;
        // Arrays go through their elements in the order of the logical index.
        for (n, element) in view.into_iter().enumerate() {
            *element = value(n, seed, step);
        }
        Ok(())
    })
}

fn fill_handed_over<D: Dimension + 'static>(field: Field<f64, D, HandedOver>) -> Fill {
    Box::new(move |producer, seed, step| {
        let mut view = producer.rewrite(field)?;
        for (n, element) in view.iter_mut().enumerate() {
            element.write(value(n, seed, step));
        }
        Ok(())
    })
}

fn builder(name: &str) -> Builder {
    Producer::builder(name)
        .capacity(16 << 20)
        .versions(4)
        .attr("cells", -42)
        .attr("dt", 0.25)
        .attr("code", "conformance \u{e9}")
        .attr("box", vec![-3.0, 1.0, 2.5])
}

fn add<T: Value>(p: &mut Producer, name: &str, shape: &[usize], fortran: bool) -> Outcome<Fill> {
    let mut field = p.field::<T, _>(name, IxDyn(shape));
    if fortran {
        field = field.fortran_order();
    }
    Ok(fill(field.add()?))
}

fn add_types(p: &mut Producer, fills: &mut Vec<Fill>) -> Outcome {
    macro_rules! add {
        ($($type:ty),+) => {$(
            let fortran = fills.len() % 2 == 1;
            fills.push(add::<$type>(p, <$type>::DTYPE.name_of_suite(), &[3, 4], fortran)?);
        )+};
    }
    add!(
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
        f32,
        f64,
        Complex<f32>,
        Complex<f64>
    );
    Ok(())
}

/// The names of types in the suite.
trait Named {
    fn name_of_suite(self) -> &'static str;
}

impl Named for DType {
    fn name_of_suite(self) -> &'static str {
        const NAMES: [&str; 12] = [
            "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "c32", "c64",
        ];
        let place = DType::ALL.iter().position(|d| *d == self);
        NAMES[place.unwrap_or_default()]
    }
}

/// Returns the place of the mesh "fine".
fn block(offset: [i64; 3]) -> Block {
    Block {
        of: "amr".to_owned(),
        level: 1,
        refinement: [2, 2, 1],
        offset,
    }
}

fn add_special(p: &mut Producer, fills: &mut Vec<Fill>) -> Outcome {
    let ghosts = p.field::<f64, _>("ghosts", [4, 5]).fortran_order();
    let ghosts = ghosts.ghosts(&[[1, 2], [0, 1]]).unit("K").cell_centred();
    let ghosts = ghosts.attr("cells", -42).attr("dt", 0.25);
    let ghosts = ghosts.attr("code", "conformance \u{e9}");
    fills.push(fill(ghosts.attr("box", vec![-3.0, 1.0, 2.5]).add()?));
    let vector = p.field::<f32, _>("vector", [3, 2, 3]).fortran_order();
    fills.push(fill(vector.vector().add()?));
    let variable = p.field::<i32, _>("variable", [8]).variable().add()?;
    fills.push(fill(variable));
    fills.push(fill_handed_over(
        p.field::<f64, _>("handed", [6]).handed_over().add()?,
    ));
    let grid = p.uniform_mesh("grid", [4, 3, 1], [0.0, 1.0, 0.0], [0.5, 0.25, 1.0]);
    let grid = grid.add()?;
    let fine = p.uniform_mesh("fine", [5, 3, 1], [1.0, 1.0, 0.0], [0.25, 0.5, 1.0]);
    let fine = fine.attr("cells", -42).attr("dt", 0.25);
    let fine = fine.attr("code", "conformance \u{e9}");
    let fine = fine.attr("box", vec![-3.0, 1.0, 2.5]);
    fine.block(block([0; 3])).add()?;
    let axes = MeshKind::Rectilinear {
        coordinates: vec!["c1".to_owned(), "f1".to_owned()],
    };
    p.define_mesh(&MeshDesc {
        name: "axes".to_owned(),
        kind: axes,
        block: None,
        attrs: Default::default(),
    })?;
    let meshed = p
        .field::<f64, _>("meshed", [3, 4])
        .on(&grid)
        .quantity("heat");
    fills.push(fill(meshed.add()?));
    Ok(())
}

/// Returns memory that can be unmapped. Nothing else is mapped near it.
fn map(bytes: usize) -> Outcome<*mut f32> {
    let at = 0x3000_0000_0000 as *mut libc::c_void;
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE);
    // SAFETY: without MAP_FIXED, no other mapping is replaced.
    let found = unsafe { libc::mmap(at, bytes, access, flags | libc::MAP_ANONYMOUS, -1, 0) };
    match found {
        libc::MAP_FAILED => Err(std::io::Error::last_os_error().into()),
        found => Ok(found.cast()),
    }
}

const DOOMED_BYTES: usize = 50 * 60 * size_of::<f32>();

/// The arrays that are adopted.
struct Arrays {
    adopted: Vec<f64>,
    doomed: *mut f32,
}

impl Arrays {
    fn adopt(p: &mut Producer, fills: &mut Vec<Fill>) -> Outcome<Self> {
        let mut adopted = vec![0.0; 40 * 30];
        let doomed = map(DOOMED_BYTES)?;
        let field = p.field("adopted", [40, 30]).unit("Pa");
        // SAFETY: `main` keeps the vector longer than the producer, and nobody resizes it. Nothing
        // is borrowed from it while the producer fills it or publishes.
        fills.push(fill(unsafe { field.adopt(adopted.as_mut_ptr())? }));
        let field = p.field("doomed", [50, 60]).fortran_order();
        // SAFETY: only the producer accesses this memory, until it is unmapped.
        fills.push(fill(unsafe { field.adopt(doomed)? }));
        Ok(Arrays { adopted, doomed })
    }

    /// Unmaps the memory of the last field, and forgets how to fill it.
    fn unmap(&self, fills: &mut Vec<Fill>) -> &'static str {
        fills.pop();
        // SAFETY: `map` has returned this address, and no reference to this memory exists.
        match unsafe { libc::munmap(self.doomed.cast(), DOOMED_BYTES) } {
            0 => "unmapped",
            _ => "still mapped",
        }
    }
}

fn publish(p: &mut Producer, fills: &[Fill], step: u64) -> Outcome<&'static str> {
    let variable = p.handle::<i32, tcasm_producer::ndarray::Ix1>("variable")?;
    p.set_len(variable, 2 + step as usize)?;
    let fine = p.mesh_handle("fine")?;
    p.set_block(&fine, block([step as i64, -2, 0]))?;
    for (seed, fill) in fills.iter().enumerate() {
        fill(p, seed, step)?;
    }
    let receipt = p.publish(step, step as f64 * 0.5)?;
    for name in p.lost() {
        println!("lost {name}");
    }
    Ok(receipt.version().map_or("skipped", |_| "published"))
}

fn answer(line: &str) -> Outcome {
    println!("{line}\n.");
    Ok(stdout().flush()?)
}

fn main() -> Outcome {
    let name = std::env::args()
        .nth(1)
        .ok_or("the name of the region is missing")?;
    let mut producer = builder(&name).create()?;
    let mut fills = Vec::new();
    add_types(&mut producer, &mut fills)?;
    for fortran in [false, true] {
        for rank in 0..=EXTENTS.len() {
            let name = format!("{}{rank}", if fortran { "f" } else { "c" });
            fills.push(add::<f64>(&mut producer, &name, &EXTENTS[..rank], fortran)?);
        }
    }
    add_special(&mut producer, &mut fills)?;
    let arrays = Arrays::adopt(&mut producer, &mut fills)?;
    answer("ready")?;
    let mut steps = 1..;
    for line in stdin().lines() {
        match line?.as_str() {
            "publish" => answer(publish(
                &mut producer,
                &fills,
                steps.next().unwrap_or_default(),
            )?)?,
            "unmap" => answer(arrays.unmap(&mut fills))?,
            _ => {
                producer.release("doomed")?;
                answer("dropped")?;
            }
        }
    }
    drop(producer);
    drop(arrays.adopted);
    Ok(())
}
