//! `tcasm dump`: prints a field as text, or writes it as a numpy file or as raw bytes.

use crate::args::DumpArgs;
use crate::failure::{Code, Failure};
use crate::part::Part;
use crate::subject::{Moment, Source, Subject};
use crate::target::Target;
use crate::{npy, output, plain, preview};
use ndarray::ArrayViewD;
use std::io::Write;
use tcasm_analytics::Number;
use tcasm_core::field::{self, FieldDesc, Kind, Order};
use tcasm_core::with_dtype;

pub fn run(args: &DumpArgs) -> Result<(), Failure> {
    let source = Source::pin(&args.what.name, args.what.version)?;
    let subject = source.field(&args.what.field)?;
    if args.with_ghosts && matches!(subject, Subject::Blocks(_)) {
        let text = "the array of a group has no ghost layers; leave --with-ghosts out, or name the \
                    region of a rank";
        return Err(Failure::new(Code::Usage, text));
    }
    let note = note(args, &subject)?;
    match (&args.npy, &args.raw) {
        (_, Some(target)) => target.write(args.force, |out| raw(&subject, out))?,
        (Some(target), _) => numpy(args, &subject, target)?,
        _ => return show(args, &subject, source.moment(), note),
    }
    note.iter().for_each(|note| output::note(note));
    Ok(())
}

/// Says whose values are dumped, if other hosts have a part of them.
fn note(args: &DumpArgs, subject: &Subject<'_>) -> Result<Option<String>, Failure> {
    let ranks = match subject {
        Subject::Blocks(_) if !args.slice.is_all() => {
            let part = Part::of(subject.desc(), &args.slice, false)?;
            subject.ranks(Some(part.ranges()))
        }
        _ => subject.ranks(None),
    };
    Ok(ranks.and_then(|ranks| ranks.note()))
}

/// Writes the bytes as they are in memory, or those of a group that are on this host in C order.
/// They are read in pieces.
fn raw(subject: &Subject<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    subject.read(|desc, read| {
        let (mut at, mut piece) = (0, vec![0; 4 << 20]);
        while at < desc.bytes() {
            let n = (desc.bytes() - at).min(piece.len() as u64) as usize;
            read(at, &mut piece[..n])?;
            out.write_all(&piece[..n])?;
            at += n as u64;
        }
        Ok(())
    })
}

fn numpy(args: &DumpArgs, subject: &Subject<'_>, target: &Target) -> Result<(), Failure> {
    let desc = subject.desc();
    if let Kind::Raw { type_name, .. } = &desc.kind {
        let text = format!(
            "field {:?} holds structures ({type_name}), not an array of numbers; use --raw",
            desc.name
        );
        return Err(Failure::new(Code::Usage, text));
    }
    with_dtype!(desc.dtype, T => {
        array::<T, _>(args, subject, |array| {
            target.write(args.force, |out| npy::write(array, out))
        })
    })
}

/// Maps or gathers what the arguments select of a field, and calls `work` with it.
fn array<T: Number, R>(
    args: &DumpArgs,
    subject: &Subject<'_>,
    work: impl FnOnce(ArrayViewD<'_, T>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if !args.slice.is_all() {
        return Part::of(subject.desc(), &args.slice, args.with_ghosts)?.read(subject, work);
    }
    let (version, desc) = match subject {
        Subject::Field(version, desc) => (version, *desc),
        Subject::Blocks(blocks) => {
            let here = blocks.here.clone().or_nan();
            return work(here.array::<T>()?.view());
        }
    };
    let view = version.view_of(&[desc.name.as_str()])?;
    let whole = field::view::<T>(desc, view.bytes_of(desc)?)
        .map_err(|error| Failure::new(Code::Other, error.to_string()))?;
    work(match args.with_ghosts {
        true => whole,
        false => whole.slice_move(field::interior(desc).as_slice()),
    })
}

fn show(
    args: &DumpArgs,
    subject: &Subject<'_>,
    moment: Moment,
    note: Option<String>,
) -> Result<(), Failure> {
    let desc = subject.desc();
    let note = note.map_or_else(String::new, |note| plain::line(&note));
    let mut heading = heading(desc, args.with_ghosts);
    let text = match (&desc.kind, subject) {
        (Kind::Raw { .. }, Subject::Field(version, desc)) if args.slice.is_all() => {
            let view = version.view_of(&[desc.name.as_str()])?;
            plain::line(&format!("{heading}  {moment}")) + &first_bytes(view.bytes_of(desc)?)
        }
        _ => with_dtype!(desc.dtype, T => array::<T, _>(args, subject, |array| {
            if !args.slice.is_all() {
                let shape = output::shape(array.shape());
                heading += &format!("  slice {} takes {shape}", args.slice);
            }
            let heading = plain::line(&format!("{heading}  {moment}"));
            Ok(heading + &note + &preview::corners(array))
        }))?,
    };
    output::text(&text)
}

/// Describes a field, such as `u  float64  96 x 96 (F order)  without ghost layers`.
fn heading(desc: &FieldDesc, ghosts: bool) -> String {
    if let Kind::Raw { type_name, .. } = &desc.kind {
        let (count, size) = (desc.shape.first().unwrap_or(&0), desc.components);
        return format!("{}  {count} x {type_name} of {size} bytes", desc.name);
    }
    let shape = match ghosts {
        true => desc.shape.clone(),
        false => desc.interior_shape(),
    };
    let mut text = format!("{}  {}  {}", desc.name, desc.dtype, output::shape(&shape));
    if desc.components > 1 {
        text += &format!(" ({} components)", desc.components);
    }
    if desc.order == Order::F {
        text += " (F order)";
    }
    if desc.has_ghosts() {
        text += if ghosts {
            "  with ghost layers"
        } else {
            "  without ghost layers"
        };
    }
    text
}

fn first_bytes(bytes: &[u8]) -> String {
    let line = |(at, part): (usize, &[u8])| {
        let hex: Vec<String> = part.iter().map(|b| format!("{b:02x}")).collect();
        format!("  {:04x}  {}\n", at * 16, hex.join(" "))
    };
    bytes.chunks(16).take(4).enumerate().map(line).collect()
}
