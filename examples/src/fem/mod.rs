//! Heat in an L-shaped plate, by finite elements on a mesh that is refined during the run.
//!
//! - The equation is `rho c dT/dt = -div q + f` with the heat flux `q = -k grad T`, the source `f`,
//!   and a given temperature at the edge.
//! - Elements are linear triangles (P1; Thomee, "Galerkin Finite Element Methods for Parabolic
//!   Problems", chapters 1 and 15). With the basis functions `phi_i` and the lumped mass matrix,
//!   the heat capacity of each point is a third of that of the triangles around it:
//!
//!   ```text
//!   C_i dT_i/dt = sum over triangles of A q . grad phi_i  +  C_i f(x_i) / (rho c)
//!   ```
//!
//! - Explicit Euler steps. The longest stable one is 2 / lambda, where lambda is at most the
//!   largest eigenvalue of a single triangle (Irons and Treharne, 3rd Conf. Matrix Methods in
//!   Structural Mechanics (1971); Fried, J. Sound Vib. 22, 407 (1972)).
//! - The source is chosen such that a temperature that is known is the solution (a manufactured
//!   solution), so the error can be computed. It falls with the square of the size of triangles.
//! - Triangles in which the temperature varies much are refined by newest-vertex bisection
//!   (Mitchell, ACM Trans. Math. Softw. 15, 326 (1989); as in Funken, Praetorius and Wissgott,
//!   Comput. Methods Appl. Math. 11, 460 (2011)). So the numbers of points and triangles change.
//!
//! All numbers are in SI units.

mod element;
mod heat;
mod l_shape;
mod plate;
mod problem;
mod refine;

pub use element::Element;
pub use heat::Heat;
pub use l_shape::l_shape;
pub use plate::{Mesh, Plate, Size, Storage, Views};
pub use problem::SIDE;
pub use refine::{boundary, refine};
