//! Versions with named meshes of all kinds.

use crate::common::Version;
use tcasm_core::field::{
    Block, CellType, Cells, Centering, DType, FieldDesc, MeshDesc, MeshKind, Order, cells_between,
};

/// A mesh to build.
#[derive(Clone, Debug)]
pub struct Spec {
    pub kind: Kind,
    /// The fields on it.
    pub data: Vec<Datum>,
    /// The largest numbers of points and of cells, if they may change.
    pub most: Option<[usize; 2]>,
    pub block: Option<Block>,
}

/// The kind of a mesh, and its size.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Points along x, y and z.
    Uniform([usize; 3]),
    /// Points along each axis, x first.
    Rectilinear(Vec<usize>),
    /// Extents, slowest first; the order; and a ghost layer around all.
    Curvilinear(Vec<usize>, Order, bool),
    /// The type and the number of cells, the number of points, and the type of the indices.
    Same(CellType, usize, usize, DType),
    /// The types of the cells, the number of points, the types of the indices and of the offsets.
    Mixed(Vec<CellType>, usize, [DType; 2]),
    /// The number of particles, and of the components of a position.
    Particles(usize, usize, DType),
}

/// A field on a mesh.
#[derive(Clone, Debug)]
pub struct Datum {
    pub centering: Centering,
    pub dtype: DType,
    pub components: usize,
}

impl Spec {
    pub fn new(kind: Kind) -> Self {
        Spec {
            kind,
            data: [Centering::Point, Centering::Cell]
                .into_iter()
                .flat_map(|centering| {
                    [(DType::F64, 1), (DType::F32, 3)].map(|(dtype, components)| Datum {
                        centering,
                        dtype,
                        components,
                    })
                })
                .collect(),
            most: None,
            block: None,
        }
    }

    pub fn up_to(self, points: usize, cells: usize) -> Self {
        Spec {
            most: Some([points, cells]),
            ..self
        }
    }
}

/// Returns a version with these meshes, called m0, m1, ...
pub fn build(specs: &[Spec]) -> Version {
    let mut version = Version::default();
    for (number, spec) in specs.iter().enumerate() {
        Builder {
            name: format!("m{number}"),
            spec,
            version: &mut version,
        }
        .add();
    }
    version.table.check_meshes().unwrap();
    version
}

struct Builder<'a> {
    name: String,
    spec: &'a Spec,
    version: &'a mut Version,
}

impl Builder<'_> {
    fn add(mut self) {
        let (kind, points, cells) = self.geometry();
        let extents = |centering| match centering {
            Centering::Cell => cells.clone(),
            _ => points.clone(),
        };
        let spec = self.spec;
        for (number, datum) in spec.data.iter().enumerate() {
            let is_cell = datum.centering == Centering::Cell;
            let is_table = datum.centering == Centering::None;
            if is_cell && matches!(spec.kind, Kind::Particles(..)) {
                continue;
            }
            let name = format!("{}_d{number}", self.name);
            let shape = match is_table {
                true => vec![number + 2, 3], // of no size of the mesh
                false => extents(datum.centering),
            };
            let mut field = FieldDesc::new(&name, datum.dtype, &shape);
            field.components = datum.components;
            field.centering = datum.centering;
            field.on = Some(self.name.clone());
            field.quantity = Some(format!("q{number}"));
            let most = spec.most.filter(|_| !is_table);
            field.capacity = most.map(|most| most[usize::from(is_cell)]);
            self.push(field);
        }
        self.version.table.meshes.push(MeshDesc {
            name: self.name,
            kind,
            block: spec.block.clone(),
            attrs: Default::default(),
        });
    }

    /// Adds the geometry. Returns it, and the extents of fields on points and in cells.
    fn geometry(&mut self) -> (MeshKind, Vec<usize>, Vec<usize>) {
        match self.spec.kind.clone() {
            Kind::Uniform(points) => {
                let kind = MeshKind::Uniform {
                    points,
                    origin: [1.0, -2.0, 0.5],
                    spacing: [0.25, 0.5, 2.0],
                };
                let extents = points.into_iter().rev().skip_while(|n| *n == 1);
                structured(kind, extents.collect())
            }
            Kind::Rectilinear(along) => {
                let dtypes = [DType::F64, DType::F32, DType::F64];
                let coordinates = along.iter().zip(dtypes).enumerate();
                let coordinates = coordinates.map(|(axis, (n, dtype))| {
                    let name = format!("{}_axis{axis}", self.name);
                    self.push(FieldDesc::new(&name, dtype, &[*n]))
                });
                let coordinates = coordinates.collect();
                let extents = along.iter().rev().copied().collect();
                structured(MeshKind::Rectilinear { coordinates }, extents)
            }
            Kind::Curvilinear(extents, order, ghosts) => self.curvilinear(extents, order, ghosts),
            Kind::Same(cell_type, cells, points, dtype) => {
                let at = self.points(points);
                let corners = cell_type.points().unwrap();
                let ids = (0..cells * corners).map(|i| i * 3 % points.max(1));
                let ids = ids.collect();
                let connectivity = self.indices("ids", ids, dtype, corners, 1);
                let cells_of_it = Cells::Same {
                    cell_type,
                    connectivity,
                };
                let kind = MeshKind::Unstructured {
                    points: at,
                    cells: cells_of_it,
                };
                (kind, vec![points], vec![cells])
            }
            Kind::Mixed(types, points, dtypes) => self.mixed(&types, points, dtypes),
            Kind::Particles(count, components, dtype) => {
                let mut x = FieldDesc::new(&format!("{}_x", self.name), dtype, &[count]);
                x.components = components;
                x.capacity = self.spec.most.map(|most| most[0]);
                let positions = self.push(x);
                (MeshKind::Particles { positions }, vec![count], vec![0])
            }
        }
    }

    fn curvilinear(
        &mut self,
        extents: Vec<usize>,
        order: Order,
        ghosts: bool,
    ) -> (MeshKind, Vec<usize>, Vec<usize>) {
        let around = usize::from(ghosts);
        let mut shape: Vec<usize> = extents.iter().map(|n| n + 2 * around).collect();
        if order == Order::F {
            shape.reverse();
        }
        let mut field = FieldDesc::new(&format!("{}_at", self.name), DType::F64, &shape);
        field.components = 3;
        field.order = order;
        field.ghosts = vec![[around; 2]; shape.len()];
        let coordinates = self.push(field);
        structured(MeshKind::Curvilinear { coordinates }, extents)
    }

    fn mixed(
        &mut self,
        types: &[CellType],
        points: usize,
        dtypes: [DType; 2],
    ) -> (MeshKind, Vec<usize>, Vec<usize>) {
        let at = self.points(points);
        let mut offsets = vec![0];
        for cell in types {
            offsets.push(offsets[offsets.len() - 1] + cell.points().unwrap());
        }
        let ids = 0..offsets[types.len()];
        let ids = ids.map(|i| i * 5 % points.max(1)).collect();
        let connectivity = self.indices("ids", ids, dtypes[0], 1, 20);
        let offsets = self.indices("offsets", offsets, dtypes[1], 1, 2);
        let mut field = FieldDesc::new(&format!("{}_types", self.name), DType::U8, &[types.len()]);
        field.capacity = self.spec.most.map(|most| most[1]);
        let types: Vec<u8> = types.iter().map(|cell| cell.0).collect();
        let count = types.len();
        let types = self.with_bytes(field, types);
        let cells = Cells::Mixed {
            connectivity,
            offsets,
            types,
        };
        (
            MeshKind::Unstructured { points: at, cells },
            vec![points],
            vec![count],
        )
    }

    /// Adds the points of an unstructured mesh.
    fn points(&mut self, count: usize) -> String {
        let mut field = FieldDesc::new(&format!("{}_at", self.name), DType::F64, &[count]);
        field.components = 3;
        field.capacity = self.spec.most.map(|most| most[0]);
        self.push(field)
    }

    /// Adds integers, whose number may be `per_cell` for each cell that there may be.
    fn indices(
        &mut self,
        what: &str,
        values: Vec<usize>,
        dtype: DType,
        components: usize,
        per_cell: usize,
    ) -> String {
        let shape = [values.len() / components];
        let mut field = FieldDesc::new(&format!("{}_{what}", self.name), dtype, &shape);
        field.components = components;
        field.capacity = self.spec.most.map(|most| most[1] * per_cell);
        let bytes = values.into_iter().flat_map(|value| match dtype.size() {
            4 => (value as u32).to_le_bytes().to_vec(),
            _ => (value as u64).to_le_bytes().to_vec(),
        });
        let bytes = bytes.collect();
        self.with_bytes(field, bytes)
    }

    /// Adds a field with values of its own. Returns its name.
    fn push(&mut self, field: FieldDesc) -> String {
        let mut others = Version::of([field.clone()]);
        let mut bytes = others.bytes.remove(&field.name).unwrap();
        // All fields differ.
        let turn = self.version.table.fields.len() * field.dtype.size();
        if !bytes.is_empty() {
            let turn = turn % bytes.len();
            bytes.rotate_left(turn);
        }
        self.with_bytes(field, bytes)
    }

    fn with_bytes(&mut self, field: FieldDesc, bytes: Vec<u8>) -> String {
        let name = field.name.clone();
        assert_eq!(field.bytes(), bytes.len() as u64, "{name}");
        self.version.bytes.insert(name.clone(), bytes);
        self.version.table.fields.push(field);
        name
    }
}

/// Returns `kind` with the extents of fields on its points and in its cells.
fn structured(kind: MeshKind, extents: Vec<usize>) -> (MeshKind, Vec<usize>, Vec<usize>) {
    let cells = extents.iter().map(|n| cells_between(*n)).collect();
    (kind, extents, cells)
}
