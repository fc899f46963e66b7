//! The parameters of the Gray-Scott equations, as a TOML file.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The parameters, with the names that the literature uses. A file need not give all of them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// `F`: how fast u is fed in (and u, v are washed out).
    #[serde(rename = "F")]
    pub feed: f64,
    /// `k`: how fast v decays.
    #[serde(rename = "k")]
    pub kill: f64,
    /// `Du`: diffusion of u.
    #[serde(rename = "Du")]
    pub diffusion_u: f64,
    /// `Dv`: diffusion of v.
    #[serde(rename = "Dv")]
    pub diffusion_v: f64,
    /// `dt`: length of a step.
    pub dt: f64,
    /// `noise`: amplitude of the noise added to the rate of u.
    pub noise: f64,
    /// `seed`: chooses the noise.
    pub seed: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            feed: 0.02,
            kill: 0.048,
            diffusion_u: 0.2,
            diffusion_v: 0.1,
            dt: 1.0,
            noise: 1e-7,
            seed: 1,
        }
    }
}

/// Why a file of parameters cannot be used.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum ParamsError {
    #[error("cannot read the parameters in {path:?}: {source}")]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("cannot use the parameters in {path:?}: {problem}")]
    Use {
        path: PathBuf,
        problem: Box<ParamsError>,
    },
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    #[error("{name} = {value} makes no sense; give a finite number that is not negative")]
    NotAnAmount { name: &'static str, value: f64 },
    #[error("dt = 0 would never advance; give a step above 0")]
    NoStep,
    #[error(
        "dt = {dt} with a diffusion of {diffusion} is unstable; give a dt of at most {}",
        1.0 / diffusion
    )]
    Unstable { dt: f64, diffusion: f64 },
}

impl Params {
    /// Read and check the file at `path`.
    pub fn read(path: &Path) -> Result<Self, ParamsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ParamsError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text).map_err(|problem| ParamsError::Use {
            path: path.to_owned(),
            problem: Box::new(problem),
        })
    }

    /// Read and check the parameters in `text`; what it does not name keeps its default.
    pub fn parse(text: &str) -> Result<Self, ParamsError> {
        let params: Params = toml::from_str(text)?;
        params.check()?;
        Ok(params)
    }

    fn check(&self) -> Result<(), ParamsError> {
        let amounts = [
            ("F", self.feed),
            ("k", self.kill),
            ("Du", self.diffusion_u),
            ("Dv", self.diffusion_v),
            ("dt", self.dt),
            ("noise", self.noise),
        ];
        let sensible = |x: f64| x.is_finite() && x >= 0.0;
        if let Some(&(name, value)) = amounts.iter().find(|(_, x)| !sensible(*x)) {
            return Err(ParamsError::NotAnAmount { name, value });
        }
        if self.dt == 0.0 {
            return Err(ParamsError::NoStep);
        }
        self.check_stability()
    }

    /// The shortest wave grows unless dt * D <= 1, the Laplacian here being the mean of the neighbours less the cell.
    fn check_stability(&self) -> Result<(), ParamsError> {
        let (dt, diffusion) = (self.dt, self.diffusion_u.max(self.diffusion_v));
        if dt * diffusion > 1.0 {
            return Err(ParamsError::Unstable { dt, diffusion });
        }
        Ok(())
    }
}
