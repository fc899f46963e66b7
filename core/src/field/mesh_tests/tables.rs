//! Random tables with named meshes, and one with a mesh of each kind.

use crate::field::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The most points and cells of a mesh in these tests.
pub const MOST: usize = 9;

/// The sizes of a random mesh. Each kind of mesh uses some of them.
#[derive(Clone, Debug)]
pub struct Plan {
    kind: usize,
    /// Points along x, y, z.
    points: [usize; 3],
    /// The number of axes of a rectilinear or curvilinear mesh.
    axes: usize,
    /// Points and cells of a mesh without structure.
    counts: [usize; 2],
    variable: bool,
    order: Order,
}

pub fn plan() -> impl Strategy<Value = Plan> {
    let order = prop_oneof![Just(Order::C), Just(Order::F)];
    let counts = [0..=MOST, 0..=MOST];
    let points = [1usize..5, 1..5, 1..5];
    (0usize..6, points, 1usize..4, counts, any::<bool>(), order).prop_map(
        |(kind, points, axes, counts, variable, order)| Plan {
            kind,
            points,
            axes,
            counts,
            // Fields of a fixed length have at least one value.
            variable: variable || counts.contains(&0),
            order,
        },
    )
}

/// Returns a field of one dimension.
pub fn list(name: &str, dtype: DType, components: usize, len: usize) -> FieldDesc {
    let mut field = FieldDesc::new(name, dtype, &[len]);
    field.components = components;
    field
}

/// Returns a field with `shape`, whose slowest axis comes first.
pub fn grid(name: &str, order: Order, shape: &[usize]) -> FieldDesc {
    let mut shape = shape.to_vec();
    if order == Order::F {
        shape.reverse();
    }
    let mut field = FieldDesc::new(name, DType::F64, &shape);
    field.order = order;
    field
}

impl Plan {
    /// Returns a mesh called `name` and its geometry.
    fn mesh(&self, name: &str) -> (MeshDesc, Vec<FieldDesc>) {
        let field = |part: &str| format!("{name}_{part}");
        let ([x, y, z], [points, cells]) = (self.points, self.counts);
        let axes: Vec<usize> = [z, y, x][3 - self.axes..].to_vec();
        let vertices = || list(&field("points"), DType::F64, 3, points);
        let (kind, fields) = match self.kind {
            0 => (uniform(self.points), Vec::new()),
            1 => {
                let names: Vec<String> = (0..self.axes).map(|i| field(&format!("x{i}"))).collect();
                let lens = axes.iter().rev();
                let fields = names.iter().zip(lens);
                let fields = fields
                    .map(|(name, n)| list(name, DType::F32, 1, *n))
                    .collect();
                (MeshKind::Rectilinear { coordinates: names }, fields)
            }
            2 => {
                let mut at = grid(&field("at"), self.order, &axes);
                at.components = 3;
                let coordinates = at.name.clone();
                (MeshKind::Curvilinear { coordinates }, vec![at])
            }
            3 => {
                let connectivity = list(&field("cells"), DType::I64, 4, cells);
                let kind = same(&field("points"), CellType::TETRA, &connectivity.name);
                (kind, vec![vertices(), connectivity])
            }
            4 => {
                let fields = vec![
                    vertices(),
                    list(&field("cells"), DType::U32, 1, 2 * cells),
                    list(&field("offsets"), DType::U64, 1, cells + 1),
                    list(&field("types"), DType::U8, 1, cells),
                ];
                (mixed(&fields), fields)
            }
            _ => {
                let positions = field("points");
                (MeshKind::Particles { positions }, vec![vertices()])
            }
        };
        (mesh(name, kind), fields)
    }

    /// Returns a field on the points of `mesh`, one in its cells and one of its own size.
    fn fields(&self, mesh: &MeshDesc, size: &MeshSize) -> Vec<FieldDesc> {
        let field = |part: &str, shape: &[usize], centering| {
            let mut field = grid(&format!("{}_{part}", mesh.name), self.order, shape);
            field.on = Some(mesh.name.clone());
            field.quantity = Some(part.to_owned());
            field.centering = centering;
            field
        };
        vec![
            field("p", &size.points, Centering::Point),
            field("c", &size.cells, Centering::Cell),
            field("t", &[3], Centering::None),
        ]
    }

    /// Adds the mesh, its geometry and fields on it to `table`.
    pub fn add_to(&self, table: &mut FieldTable, name: &str) {
        let (mesh, geometry) = self.mesh(name);
        table.fields.extend(geometry);
        let size = table.size_of(&mesh).unwrap();
        let mut fields = self.fields(&mesh, &size);
        if self.kind == 5 {
            fields.remove(1); // particles have no cells
        }
        table.fields.extend(fields);
        table.meshes.push(mesh);
        let own = format!("{name}_");
        for field in table.fields.iter_mut().filter(|f| f.name.starts_with(&own)) {
            if self.variable && field.slowest_axis().is_some() {
                field.capacity = Some(2 * MOST + 1);
            }
        }
    }
}

pub fn mesh(name: &str, kind: MeshKind) -> MeshDesc {
    MeshDesc {
        name: name.to_owned(),
        kind,
        block: None,
        attrs: BTreeMap::new(),
    }
}

pub fn uniform(points: [usize; 3]) -> MeshKind {
    MeshKind::Uniform {
        points,
        origin: [0.0, 1.0, -1.0],
        spacing: [0.5; 3],
    }
}

pub fn same(points: &str, cell_type: CellType, connectivity: &str) -> MeshKind {
    MeshKind::Unstructured {
        points: points.to_owned(),
        cells: Cells::Same {
            cell_type,
            connectivity: connectivity.to_owned(),
        },
    }
}

/// Returns a mesh of points, connectivity, offsets and types, in this order.
pub fn mixed(fields: &[FieldDesc]) -> MeshKind {
    let name = |i: usize| fields[i].name.clone();
    MeshKind::Unstructured {
        points: name(0),
        cells: Cells::Mixed {
            connectivity: name(1),
            offsets: name(2),
            types: name(3),
        },
    }
}

/// Returns a table with a mesh of each kind, whose points and cells are `counts` where they may be
/// any.
pub fn every_kind(counts: [usize; 2]) -> FieldTable {
    let mut table = FieldTable::default();
    for kind in 0..6 {
        let plan = Plan {
            kind,
            points: [4, 3, 2],
            axes: 3,
            counts,
            variable: true,
            order: Order::C,
        };
        plan.add_to(&mut table, &format!("m{kind}"));
    }
    table
}

pub fn decoded(table: &FieldTable) -> Result<FieldTable, TableError> {
    FieldTable::decode(&table.encode().unwrap(), 1 << 20, 4096)
}
