//! The parameters of the Gray-Scott equations, read from a TOML file.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The parameters, with the names that the literature uses. A file may omit any of them.
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

/// An error of a file of parameters.
#[derive(Debug, Error)]
pub enum ParamsError {
    /// The file cannot be read.
    #[error("cannot read the parameters in {path:?}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The content of the file is wrong.
    #[error("cannot use the parameters in {path:?}: {problem}")]
    Use {
        /// The file.
        path: PathBuf,
        /// The defect.
        problem: Box<ParamsError>,
    },
    /// The text is no TOML, or has an unknown name or a wrong type.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// A parameter is negative, infinite or NaN.
    #[error("{name} = {value} is not valid; give a finite number that is not negative")]
    NotAnAmount {
        /// The name of the parameter.
        name: &'static str,
        /// Its value.
        value: f64,
    },
    /// The length of a step is 0.
    #[error("dt = 0 would never advance; give a dt above 0")]
    NoStep,
    /// The step is too long for an explicit scheme.
    #[error(
        "dt = {dt} with a diffusion of {diffusion} is unstable; give a dt of at most {}",
        1.0 / diffusion
    )]
    Unstable {
        /// The length of a step.
        dt: f64,
        /// The larger diffusion of the two.
        diffusion: f64,
    },
}

impl Params {
    /// Reads and checks the file at `path`.
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

    /// Reads and checks the parameters in `text`. A parameter that it does not name keeps its
    /// default.
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

    /// Checks that dt * D <= 1; otherwise the shortest wave grows. (The Laplacian of the solver is
    /// the mean of the neighbours minus the cell.)
    fn check_stability(&self) -> Result<(), ParamsError> {
        let (dt, diffusion) = (self.dt, self.diffusion_u.max(self.diffusion_v));
        if dt * diffusion > 1.0 {
            return Err(ParamsError::Unstable { dt, diffusion });
        }
        Ok(())
    }
}
