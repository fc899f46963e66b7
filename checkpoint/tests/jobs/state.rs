//! The values that the ranks of a job have at each step.

use crate::world::{COLUMNS, ROWS, World};
use std::collections::BTreeMap;
use tcasm_core::field::{Attr, Centering, DType, FieldDesc, FieldTable, GlobalPlace, Mesh, Order};

/// The fields of a rank, and their bytes.
pub struct State {
    pub table: FieldTable,
    pub bytes: BTreeMap<String, Vec<u8>>,
}

impl World {
    /// Returns what a rank has at a step.
    pub fn state(&self, step: u64, rank: u32) -> State {
        let first = rank as usize * ROWS;
        let mut u = FieldDesc::new("u", DType::F64, &[ROWS + 2, COLUMNS]);
        u.ghosts = vec![[1, 1], [0, 0]];
        u.mesh = Some(Mesh {
            origin: [0.0, first as f64 * 0.5, 0.0],
            spacing: [0.25, 0.5, 1.0],
        });
        u.global = self
            .global
            .then(|| place([self.rows(), COLUMNS], [first, 0]));
        // A vector in Fortran order, in blocks along its second axis.
        let mut v = FieldDesc::new("v", DType::F32, &[5, 4]);
        (v.order, v.components, v.centering) = (Order::F, 3, Centering::Cell);
        v.global = Some(place(
            [5, 4 * self.ranks() as usize],
            [0, 4 * rank as usize],
        ));
        let mut list = FieldDesc::new("list", DType::I64, &[1 + rank as usize]);
        list.lost = rank == 1 && self.lost == Some(step);
        let rows = (first..first + ROWS + 2).map(|row| row as isize - 1);
        let u_values: Vec<f64> = rows
            .flat_map(|row| (0..COLUMNS).map(move |column| (row, column)))
            .map(|(row, column)| match usize::try_from(row) {
                Ok(row) if row < self.rows() => (self.u)(step, row, column),
                _ => -1.0,
            })
            .collect();
        let v_values: Vec<f32> = (0..60)
            .map(|i| v_value(step, i % 3, i / 3 % 5, rank as usize * 4 + i / 15))
            .collect();
        let list_values: Vec<i64> = (0..=i64::from(rank))
            .map(|i| step as i64 * 100 + i)
            .collect();
        let mut state = State {
            table: FieldTable {
                attrs: BTreeMap::from([("rank".to_owned(), Attr::Int(rank.into()))]),
                ..FieldTable::default()
            },
            bytes: BTreeMap::new(),
        };
        state.add(u, &u_values);
        if self.vector {
            state.add(v, &v_values);
        }
        state.add(list, &list_values);
        if self
            .more
            .is_some_and(|(from, of)| from <= step && of == rank)
        {
            state.add(FieldDesc::new("w", DType::F64, &[1]), &[step as f64]);
        }
        if self.meshes {
            crate::meshes::add(&mut state, step, rank);
        }
        state
    }
}

impl State {
    /// Adds a field with its values, behind those that are there.
    pub fn add<T: bytemuck::NoUninit>(&mut self, mut field: FieldDesc, values: &[T]) {
        let last = self.table.fields.last();
        field.offset = last.map_or(0, |f| (f.offset + f.bytes()).next_multiple_of(4096));
        let bytes = bytemuck::cast_slice(values).to_vec();
        assert_eq!(bytes.len() as u64, field.bytes(), "{}", field.name);
        self.bytes.insert(field.name.clone(), bytes);
        self.table.fields.push(field);
    }
}

pub fn v_value(step: u64, component: usize, i: usize, j: usize) -> f32 {
    (step as usize * 10_000 + component * 1000 + i * 100 + j) as f32
}

fn place(shape: [usize; 2], offset: [usize; 2]) -> GlobalPlace {
    GlobalPlace {
        shape: shape.to_vec(),
        offset: offset.to_vec(),
    }
}
