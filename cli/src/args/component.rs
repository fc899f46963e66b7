//! The component of a vector that a command line names.

use crate::failure::{Code, Failure};
use std::str::FromStr;
use tcasm_analytics::Lane;
use tcasm_core::field::FieldDesc;

/// A component of a vector, or the length of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// The component of this number, counted from 0.
    Number(usize),
    /// The component along this axis (x is 0) of a vector with two or three components.
    Axis(usize),
    /// The Euclidean norm of all components.
    Magnitude,
}

impl FromStr for Component {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "x" => Ok(Component::Axis(0)),
            "y" => Ok(Component::Axis(1)),
            "z" => Ok(Component::Axis(2)),
            "magnitude" => Ok(Component::Magnitude),
            number => number
                .parse()
                .map(Component::Number)
                .map_err(|_| "write a number, counted from 0, or x, y, z or magnitude".to_owned()),
        }
    }
}

impl Component {
    /// Returns the lane of the field that is meant.
    pub fn of(self, desc: &FieldDesc) -> Result<Lane, Failure> {
        let components = desc.components;
        match self {
            Component::Magnitude if components > 1 => Ok(Lane::Magnitude),
            Component::Number(number) if number < components => Ok(Lane::Component(number)),
            Component::Axis(axis) if axis < components && has_axes(components) => {
                Ok(Lane::Component(axis))
            }
            _ => Err(misfit(desc)),
        }
    }
}

/// Returns true if vectors of so many components have one along each axis.
fn has_axes(components: usize) -> bool {
    (2..=3).contains(&components)
}

fn misfit(desc: &FieldDesc) -> Failure {
    let last = desc.components - 1;
    let says = match desc.components {
        1 => "is no vector; leave --component out".to_owned(),
        2 => "has 2 components; choose 0, 1, x, y or magnitude".to_owned(),
        3 => "has 3 components; choose 0 to 2, x, y, z or magnitude".to_owned(),
        n => format!("has {n} components; choose 0 to {last} or magnitude"),
    };
    Failure::new(Code::Usage, format!("field {:?} {says}", desc.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcasm_core::field::DType;

    fn lane(text: &str, components: usize) -> Result<Lane, String> {
        let mut desc = FieldDesc::new("v", DType::F32, &[4]);
        desc.components = components;
        let component: Component = text.parse()?;
        component.of(&desc).map_err(|failure| failure.message)
    }

    #[test]
    fn component_is_a_number_an_axis_or_the_magnitude() {
        assert_eq!(lane("0", 1), Ok(Lane::Component(0)));
        assert_eq!(lane("8", 9), Ok(Lane::Component(8)));
        assert_eq!(lane("y", 2), Ok(Lane::Component(1)));
        assert_eq!(lane("magnitude", 2), Ok(Lane::Magnitude));
        for (text, components, says) in [
            ("2", 2, "choose 0, 1, x, y or magnitude"),
            ("z", 2, "choose 0, 1, x, y or magnitude"),
            ("x", 9, "choose 0 to 8 or magnitude"),
            ("magnitude", 1, "leave --component out"),
            ("-1", 3, "counted from 0"),
            ("w", 3, "counted from 0"),
        ] {
            let error = lane(text, components).unwrap_err();
            assert!(error.contains(says), "{text} of {components}: {error}");
        }
    }
}
