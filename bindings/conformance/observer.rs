//! The observer of the conformance suite in Rust. README.md says what it does.

use std::error::Error;
use std::fmt::Display;
use std::io::{Write, stdin, stdout};
use std::time::Duration;
use tcasm_core::field::{
    Attr, Block, Cells, Centering, DType, Element, FieldDesc, MeshDesc, MeshKind, Order,
};
use tcasm_core::num_complex::Complex;
use tcasm_observer::{ObserveError, Observer, Status, Version, View, ViewError};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn joined<T: Display>(values: impl IntoIterator<Item = T>, between: &str) -> String {
    let texts: Vec<String> = values.into_iter().map(|v| v.to_string()).collect();
    texts.join(between)
}

fn print_attrs<'a>(attrs: impl IntoIterator<Item = (&'a String, &'a Attr)>) {
    for (name, value) in attrs {
        match value {
            Attr::Int(v) => println!("attr {name} int {v}"),
            Attr::Float(v) => println!("attr {name} float {v:.2}"),
            Attr::Text(v) => println!("attr {name} text {v}"),
            Attr::Floats(v) => {
                let values = joined(v.iter().map(|v| format!("{v:.2}")), " ");
                println!("attr {name} floats {values}");
            }
        }
    }
}

/// Prints a value with a blank before it.
trait Print: Element {
    fn text(&self) -> String;
}

macro_rules! print {
    ($format:literal: $($type:ty),+) => {$(
        impl Print for $type {
            fn text(&self) -> String {
                format!($format, self)
            }
        }
    )+};
}
print!("{}": i8, i16, i32, i64, u8, u16, u32, u64);
print!("{:.2}": f32, f64);

macro_rules! print_complex {
    ($($type:ty),+) => {$(
        impl Print for Complex<$type> {
            fn text(&self) -> String {
                format!("{:.2}:{:.2}", self.re, self.im)
            }
        }
    )+};
}
print_complex!(f32, f64);

fn print_values<T: Print>(view: &View, name: &str) -> Outcome {
    let array = view.array::<T>(name)?;
    let texts = array.iter().map(Print::text);
    println!(
        "{}",
        joined(["values".to_owned()].into_iter().chain(texts), " ")
    );
    Ok(())
}

/// Prints the values, and returns nothing. The name of the type is that of the suite.
type PrintValues = fn(&View, &str) -> Outcome;

const TYPES: [(&str, PrintValues); 12] = [
    ("i8", print_values::<i8>),
    ("i16", print_values::<i16>),
    ("i32", print_values::<i32>),
    ("i64", print_values::<i64>),
    ("u8", print_values::<u8>),
    ("u16", print_values::<u16>),
    ("u32", print_values::<u32>),
    ("u64", print_values::<u64>),
    ("f32", print_values::<f32>),
    ("f64", print_values::<f64>),
    ("c32", print_values::<Complex<f32>>),
    ("c64", print_values::<Complex<f64>>),
];

fn print_field(view: &View, field: &FieldDesc) -> Outcome {
    if let Err(ViewError::Lost { name }) = view.bytes(&field.name) {
        println!("field {name} LOST");
        return Ok(());
    }
    let place = DType::ALL.iter().position(|d| *d == field.dtype);
    let (dtype, print_values) = TYPES[place.ok_or("an unknown type")?];
    let order = match field.order {
        Order::C => "C",
        Order::F => "F",
    };
    let centring = match field.centering {
        Centering::Point => "points",
        Centering::Cell => "cells",
        Centering::None => "none",
    };
    println!(
        "field {} {dtype} shape={} order={order} ghosts={} components={} place={centring} \
         capacity={} unit={} mesh={} quantity={}",
        field.name,
        joined(field.array_shape(), ","),
        joined(field.ghosts.iter().map(|[a, b]| format!("{a}:{b}")), ","),
        field.components,
        field.capacity.unwrap_or(0),
        field.unit,
        field.on.as_deref().unwrap_or(""),
        field.quantity(),
    );
    print_attrs(&field.attrs);
    print_values(view, &field.name)
}

fn print_mesh(mesh: &MeshDesc) {
    let (points, origin, spacing) = match mesh.kind {
        MeshKind::Uniform {
            points,
            origin,
            spacing,
        } => (points, origin, spacing),
        _ => ([0; 3], [0.0; 3], [0.0; 3]),
    };
    let cells = match &mesh.kind {
        MeshKind::Unstructured {
            cells: Cells::Same { cell_type, .. },
            ..
        } => cell_type.0,
        _ => 0,
    };
    let reals = |values: [f64; 3]| joined(values.map(|v| format!("{v:.2}")), ",");
    let none = Block {
        of: String::new(),
        level: 0,
        refinement: [0; 3],
        offset: [0; 3],
    };
    let block = mesh.block.as_ref().unwrap_or(&none);
    println!(
        "mesh {} {} geometry={} cells={cells} points={} origin={} spacing={} block={} level={} \
         refinement={} offset={}",
        mesh.name,
        mesh.kind_name(),
        joined(mesh.geometry(), ","),
        joined(points, ","),
        reals(origin),
        reals(spacing),
        block.of,
        block.level,
        joined(block.refinement, ","),
        joined(block.offset, ","),
    );
    print_attrs(&mesh.attrs);
}

fn print_version(version: &Version) -> Outcome {
    let stamp = version.stamp();
    println!(
        "version {} step {} time {:.2}",
        stamp.version, stamp.step, stamp.time
    );
    print_attrs(&version.table().attrs);
    for mesh in &version.table().meshes {
        print_mesh(mesh);
    }
    let view = version.view()?;
    for field in &version.table().fields {
        print_field(&view, field)?;
    }
    Ok(())
}

fn name_of(status: Status) -> &'static str {
    match status {
        Status::Ok => "OK",
        Status::NotReady => "NOT_READY",
        Status::EndOfStream => "END_OF_STREAM",
        Status::ProducerLost => "PRODUCER_LOST",
        Status::Revoked => "REVOKED",
    }
}

/// Prints the version that was found, and holds it. Returns the status.
fn found(found: Result<Version, ObserveError>, held: &mut Vec<Version>) -> Outcome<&'static str> {
    let version = match found {
        Ok(version) => version,
        Err(ObserveError::NotReady) => return Ok("NOT_READY"),
        Err(ObserveError::EndOfStream) => return Ok("END_OF_STREAM"),
        Err(ObserveError::ProducerLost) => return Ok("PRODUCER_LOST"),
        Err(error) => return Err(error.into()),
    };
    print_version(&version)?;
    held.push(version);
    Ok("OK")
}

fn answer(status: &str) -> Outcome {
    println!("{status}\n.");
    Ok(stdout().flush()?)
}

fn main() -> Outcome {
    let name = std::env::args()
        .nth(1)
        .ok_or("the name of the region is missing")?;
    let mut observer = Observer::attach_wait(&name, Duration::from_secs(10))?;
    let mut held = Vec::new();
    answer("ready")?;
    for line in stdin().lines() {
        let status = match line?.as_str() {
            "next" => found(observer.next(Duration::from_secs(5)), &mut held)?,
            "latest" => found(observer.latest(), &mut held)?,
            "again" => {
                print_version(&held[0])?;
                "OK"
            }
            "every" => {
                observer.begin_every_version()?;
                "OK"
            }
            other => {
                if other == "release" {
                    held.clear();
                }
                name_of(observer.status()?)
            }
        };
        answer(status)?;
    }
    Ok(())
}
