//! The checks that the description of a field must pass before it is used.

use super::desc::FieldDesc;
use super::field_error::FieldError;

/// The largest number of dimensions of a field.
const MAX_DIMS: usize = 8;

impl FieldDesc {
    /// Checks everything that does not depend on the region, and returns the size of its memory in
    /// bytes: of all that it can hold.
    pub fn check(&self) -> Result<u64, FieldError> {
        if !valid_name(&self.name) {
            return Err(FieldError::Name(self.name.clone()));
        }
        if !valid_name(self.quantity()) {
            return Err(FieldError::Quantity {
                name: self.name.clone(),
                quantity: self.quantity().to_owned(),
            });
        }
        if self.shape.len() > MAX_DIMS {
            return Err(FieldError::TooManyDims {
                name: self.name.clone(),
                dims: self.shape.len(),
                max: MAX_DIMS,
            });
        }
        self.check_capacity()?;
        let bytes = self.checked_bytes()?;
        self.check_ghosts()?;
        self.check_global()?;
        Ok(bytes)
    }

    /// Checks the same as [`FieldDesc::check`], and that the field lies inside a region of `region`
    /// bytes.
    pub fn check_in(&self, region: u64) -> Result<(), FieldError> {
        let bytes = self.check()?;
        match self.offset.checked_add(bytes) {
            Some(end) if end <= region => Ok(()),
            _ => Err(FieldError::OutOfRegion {
                name: self.name.clone(),
                offset: self.offset,
                bytes,
                region,
            }),
        }
    }

    fn check_capacity(&self) -> Result<(), FieldError> {
        let Some(capacity) = self.capacity else {
            return Ok(());
        };
        let why = match self.slowest_axis() {
            None => "give it at least one dimension",
            Some(axis) if self.shape[axis] > capacity => "it is longer",
            Some(_) => return Ok(()),
        };
        Err(FieldError::Capacity {
            name: self.name.clone(),
            shape: self.shape.clone(),
            capacity,
            why,
        })
    }

    fn checked_bytes(&self) -> Result<u64, FieldError> {
        let shape = self.capacity_shape();
        let factors = shape.iter().chain([&self.components]);
        if factors.clone().any(|&n| n == 0) {
            return Err(FieldError::Empty {
                name: self.name.clone(),
                shape: self.shape.clone(),
                components: self.components,
            });
        }
        factors
            .map(|&n| n as u64)
            .try_fold(self.dtype.size() as u64, u64::checked_mul)
            .filter(|&b| b <= isize::MAX as u64)
            .ok_or_else(|| FieldError::Overflow {
                name: self.name.clone(),
                shape: self.shape.clone(),
            })
    }

    fn check_ghosts(&self) -> Result<(), FieldError> {
        if self.ghosts.len() != self.shape.len() {
            return Err(FieldError::GhostDims {
                name: self.name.clone(),
                ghosts: self.ghosts.len(),
                dims: self.shape.len(),
            });
        }
        let fits =
            |(g, n): (&[usize; 2], &usize)| matches!(g[0].checked_add(g[1]), Some(s) if s < *n);
        let leaves_values = |shape: &[usize]| self.ghosts.iter().zip(shape).all(fits);
        // A variable field without values has no ghost layers either.
        let is_empty = self.length() == 0;
        if leaves_values(&self.capacity_shape()) && (is_empty || leaves_values(&self.shape)) {
            Ok(())
        } else {
            Err(FieldError::GhostSize {
                name: self.name.clone(),
                ghosts: self.ghosts.clone(),
                shape: self.shape.clone(),
            })
        }
    }

    /// Checks the mesh, if there is one. Only declarations are refused because of their mesh:
    /// readers take [`FieldDesc::usable_mesh`], so that they can read the regions and files of
    /// producers that did not check it.
    pub fn check_mesh(&self) -> Result<(), FieldError> {
        let checked = self.mesh.map_or(Ok(()), |mesh| mesh.check());
        checked.map_err(|source| FieldError::Mesh {
            name: self.name.clone(),
            source,
        })
    }
}

/// Returns true if `name` is a valid name of a field, one that VTK, openPMD and a shell accept.
pub(super) fn valid_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
