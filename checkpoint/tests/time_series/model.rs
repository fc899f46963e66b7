//! Appending, restarting and going back in any order.

use crate::common::{Version, field};
use crate::{options, read};
use proptest::prelude::*;
use tcasm_checkpoint::{SeriesOptions, TimeSeries};
use tcasm_core::field::{DType, FieldDesc};
use tcasm_core::format::stamp::Stamp;

#[derive(Clone, Debug)]
enum Act {
    /// Appends a version. Says which fields change, and whether the caller declares that.
    Append { t: bool, s: bool, declared: bool },
    /// Ends the writer, and starts again.
    Restart,
    /// Goes back by this many versions.
    Back(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let append = (any::<bool>(), any::<bool>(), any::<bool>());
    prop_oneof![
        6 => append.prop_map(|(t, s, declared)| Act::Append { t, s, declared }),
        1 => Just(Act::Restart),
        1 => (1..4_u64).prop_map(Act::Back),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Compares the series with a list of the appended versions.
    #[test]
    fn series_holds_the_appended_versions(
        acts in prop::collection::vec(act(), 1..24),
        keep in 2..9_usize,
        chapter in 2..5_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.vtkhdf");
        let options = SeriesOptions { keep, chapter, replace_later: true, ..options() };
        let mut series = TimeSeries::open(&path, "test", options.clone()).unwrap();
        let fields = ["t", "s"].map(|name| field(name, DType::F64, &[2, 3]));
        let mut model: Vec<(u64, [f64; 2])> = Vec::new();
        let (mut step, mut values) = (0, [0.0, 0.0]);
        for act in acts {
            match act {
                Act::Restart => {
                    drop(series);
                    series = TimeSeries::open(&path, "test", options.clone()).unwrap();
                }
                Act::Back(n) => step = u64::max(step, n) - n,
                Act::Append { t, s, declared } => {
                    step += 1;
                    let before = values;
                    values = [values[0] + f64::from(t), values[1] - f64::from(s)];
                    let mut version = Version::of(fields.clone());
                    for (name, value) in ["t", "s"].iter().zip(values) {
                        let bytes = bytemuck::cast_slice(&[value; 6]).to_vec();
                        version.bytes.insert((*name).to_owned(), bytes);
                    }
                    let at = Stamp { version: step, step, time: step as f64 };
                    let changed = |f: &FieldDesc| {
                        let i = usize::from(f.name == "s");
                        !declared || before[i] != values[i]
                    };
                    series.append(&version.snapshot(at), changed).unwrap();
                    model.retain(|(there, _)| *there < step);
                    model.push((step, values));
                    let old = model.len().saturating_sub(keep);
                    model.drain(..old);
                }
            }
            if model.is_empty() {
                continue;
            }
            for (i, name) in ["t", "s"].iter().enumerate() {
                let (steps, rows) = read(&path, name);
                prop_assert_eq!(steps, model.iter().map(|(step, _)| *step).collect::<Vec<_>>());
                for (row, (_, values)) in rows.iter().zip(&model) {
                    let all: Vec<u8> = bytemuck::cast_slice(&[values[i]; 6]).to_vec();
                    prop_assert_eq!(row, &all);
                }
            }
        }
    }
}
