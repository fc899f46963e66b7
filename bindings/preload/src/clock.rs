//! The step and the time of a version: numbers that the program keeps in its mapping, or a count of
//! the calls.

use tcasm_producer::DType;

/// A number of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The offset of its first byte in the mapping. It need not be aligned.
    pub offset: usize,
    /// Its type: an integer, or a float.
    pub dtype: DType,
}

/// Where step and time are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// The step. Without it, versions are counted from 1.
    pub step: Option<Place>,
    /// The time. Without it, it is the step.
    pub time: Option<Place>,
}

impl Clock {
    /// Returns step and time of version number `count`. `read` copies bytes of the mapping.
    pub fn now(&self, count: u64, read: impl Fn(usize, &mut [u8]) -> bool) -> (u64, f64) {
        let number = |place: Option<Place>| place.and_then(|place| number(place, &read));
        let step = number(self.step).map_or(count, Number::step);
        let time = number(self.time).map_or(step as f64, Number::time);
        (step, time)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    /// Returns it as a step. Steps have no sign and no fraction: less than 0 is 0.
    fn step(self) -> u64 {
        match self {
            Number::Signed(n) => n.max(0) as u64,
            Number::Unsigned(n) => n,
            Number::Float(x) => x as u64,
        }
    }

    fn time(self) -> f64 {
        match self {
            Number::Signed(n) => n as f64,
            Number::Unsigned(n) => n as f64,
            Number::Float(x) => x,
        }
    }
}

/// Returns true if a step or a time can be of this type.
pub fn is_number(dtype: DType) -> bool {
    !dtype.is_complex()
}

fn number(place: Place, read: impl Fn(usize, &mut [u8]) -> bool) -> Option<Number> {
    let mut bytes = [0; 8];
    let size = place.dtype.size();
    if size > 8 || !read(place.offset, &mut bytes[..size]) {
        return None;
    }
    let unsigned = u64::from_le_bytes(bytes);
    let unused = 64 - 8 * size as u32;
    let signed = (unsigned << unused) as i64 >> unused;
    Some(match place.dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => Number::Signed(signed),
        DType::F32 => Number::Float(f32::from_bits(unsigned as u32).into()),
        DType::F64 => Number::Float(f64::from_bits(unsigned)),
        _ => Number::Unsigned(unsigned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(memory: &[u8]) -> impl Fn(usize, &mut [u8]) -> bool {
        move |offset, to| {
            let from = memory.get(offset..offset + to.len());
            from.map(|from| to.copy_from_slice(from)).is_some()
        }
    }

    fn place(offset: usize, dtype: DType) -> Option<Place> {
        Some(Place { offset, dtype })
    }

    #[test]
    fn step_and_time_are_read_from_where_the_program_keeps_them() {
        let mut memory = vec![0; 3];
        memory.extend(41i32.to_le_bytes());
        memory.extend(2.5f64.to_le_bytes());
        let clock = Clock {
            step: place(3, DType::I32),
            time: place(7, DType::F64),
        };
        assert_eq!(clock.now(9, at(&memory)), (41, 2.5));
    }

    #[test]
    fn numbers_of_every_type_are_read() {
        for (dtype, bytes, step) in [
            (DType::I8, &(-3i8).to_le_bytes()[..], 0),
            (DType::U8, &[200], 200),
            (DType::I16, &300i16.to_le_bytes(), 300),
            (DType::U16, &60000u16.to_le_bytes(), 60000),
            (DType::U32, &4_000_000_000u32.to_le_bytes(), 4_000_000_000),
            (DType::I64, &i64::MIN.to_le_bytes(), 0),
            (DType::U64, &u64::MAX.to_le_bytes(), u64::MAX),
            (DType::F32, &7.9f32.to_le_bytes(), 7),
            (DType::F64, &f64::NAN.to_le_bytes(), 0),
        ] {
            let clock = Clock {
                step: place(0, dtype),
                time: None,
            };
            assert_eq!(clock.now(1, at(bytes)), (step, step as f64), "{dtype}");
        }
    }

    #[test]
    fn without_places_versions_are_counted() {
        assert_eq!(Clock::default().now(7, at(&[])), (7, 7.0));
        let unreadable = Clock {
            step: place(8, DType::I32),
            time: place(8, DType::F64),
        };
        assert_eq!(unreadable.now(7, at(&[0; 8])), (7, 7.0));
    }
}
