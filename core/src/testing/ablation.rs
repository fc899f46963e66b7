//! Adaptive mechanisms that can be left out, to measure what each of them gains.
//!
//! Only the benchmark `tcasm-ablation` enables the feature `ablation`. Without it [`without`] is
//! always false, and what remains of this module are names. With it, nothing changes either, as
//! long as the environment does not set [`VARIABLE`].

/// The environment variable that names the mechanisms to leave out, separated by commas. A text
/// that [`parse`] refuses leaves out none.
pub const VARIABLE: &str = "TCASM_WITHOUT";

macro_rules! mechanisms {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// A mechanism that can be left out, and what happens instead.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Mechanism {$($(#[$doc])* $variant),*}

        impl Mechanism {
            /// All mechanisms, in order.
            pub const ALL: &[Mechanism] = &[$(Mechanism::$variant),*];

            /// Returns the name of the mechanism, as in [`VARIABLE`] and in tables.
            pub fn name(self) -> &'static str {
                match self {$(Mechanism::$variant => $name),*}
            }
        }
    };
}

mechanisms! {
    /// Deferred capture. Without it every chunk is captured inline.
    Deferral = "deferral",
    /// Sharing cold chunks with planes. Without it live memory is never shared.
    Sharing = "sharing",
    /// Compaction. Without it pages stay in the planes in which they were captured.
    Compaction = "compaction",
    /// Assembly of scattered chunks for many observers. Without it each observer collects the pages
    /// that have changed.
    Assembly = "assembly",
    /// Pages that change again and again keep a free frame for one or two epochs, and all pages do
    /// while new pages change. Without it only pages that changed in this generation or the last
    /// one keep a free frame.
    Epochs = "epochs",
    /// Only pages that are likely to change keep a free frame. Without it every page keeps one.
    Recency = "recency",
    /// The windows of scans for which free frames keep their memory become longer when memory is
    /// needed again soon. Without it all windows have the same length.
    Windows = "windows",
    /// The price of deferred capture contains how long early stores waited. Without it they cost
    /// nothing.
    Waiting = "waiting",
    /// A chunk that becomes inline again stays inline for twice as many versions each time. Without
    /// it all pauses have the same length.
    Penalties = "penalties",
    /// Nothing is expected for a while in chunks in which most expectations failed. Without it all
    /// chunks are trusted.
    Doubts = "doubts",
    /// Pages that changed in the last two versions are left unprotected and compared. Without it
    /// all pages are protected.
    Prediction = "prediction",
    /// Live memory that is not being written is gathered into huge pages. Without it live memory
    /// stays small pages, except for chunks whose capture is deferred.
    HugePages = "huge",
    /// Observers copy scattered chunks within their budget. Without it they map every run, until
    /// mappings run short.
    Copies = "copies",
}

/// The error for a name that no mechanism has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no mechanism {name:?}; the mechanisms are {}", names())]
pub struct UnknownMechanism {
    /// The unknown name.
    pub name: String,
}

fn names() -> String {
    let names: Vec<_> = Mechanism::ALL.iter().map(|m| m.name()).collect();
    names.join(", ")
}

impl std::str::FromStr for Mechanism {
    type Err = UnknownMechanism;

    fn from_str(name: &str) -> Result<Self, UnknownMechanism> {
        let mut all = Mechanism::ALL.iter().copied();
        all.find(|m| m.name() == name).ok_or(UnknownMechanism {
            name: name.to_owned(),
        })
    }
}

/// Returns the mechanisms that a text names, separated by commas. An empty text names none.
pub fn parse(text: &str) -> Result<Vec<Mechanism>, UnknownMechanism> {
    let names = text.split(',').map(str::trim);
    names
        .filter(|name| !name.is_empty())
        .map(str::parse::<Mechanism>)
        .collect()
}

#[cfg(feature = "ablation")]
mod on {
    use super::{Mechanism, VARIABLE, parse};
    use std::cell::Cell;
    use std::marker::PhantomData;
    use std::sync::LazyLock;

    /// The mechanisms that the environment leaves out, a bit for each.
    static OF_PROCESS: LazyLock<u32> = LazyLock::new(|| {
        let named = parse(&std::env::var(VARIABLE).unwrap_or_default());
        let named = named.unwrap_or_default().into_iter();
        named.fold(0, |all, mechanism| all | bit(mechanism))
    });

    thread_local! {
        /// The mechanisms that [`leave_out`] leaves out in this thread.
        static OF_THREAD: Cell<u32> = const { Cell::new(0) };
    }

    fn bit(mechanism: Mechanism) -> u32 {
        1 << mechanism as u8
    }

    /// Returns true if `mechanism` is left out: by the environment, or in this thread by
    /// [`leave_out`].
    pub fn without(mechanism: Mechanism) -> bool {
        (*OF_PROCESS | OF_THREAD.get()) & bit(mechanism) != 0
    }

    /// Leaves `mechanism` out of what the calling thread does, until the result is dropped. Other
    /// threads, such as those of other tests, go on as before.
    pub fn leave_out(mechanism: Mechanism) -> LeftOut {
        let before = OF_THREAD.get();
        OF_THREAD.set(before | bit(mechanism));
        LeftOut {
            before,
            thread: PhantomData,
        }
    }

    /// Ends what [`leave_out`] began when it is dropped. It stays in its thread.
    #[must_use]
    pub struct LeftOut {
        before: u32,
        thread: PhantomData<*const ()>,
    }

    impl Drop for LeftOut {
        fn drop(&mut self) {
            OF_THREAD.set(self.before);
        }
    }
}

#[cfg(feature = "ablation")]
pub use on::{LeftOut, leave_out, without};

/// Returns true if `mechanism` is left out, which never happens in a build without the feature
/// `ablation`.
#[cfg(not(feature = "ablation"))]
#[inline(always)]
pub const fn without(_mechanism: Mechanism) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_parsed_as_its_mechanism_and_an_unknown_one_is_an_error() {
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.name().parse::<Mechanism>(), Ok(*mechanism));
        }
        let two = vec![Mechanism::Sharing, Mechanism::Epochs];
        assert_eq!(parse("sharing, epochs,"), Ok(two));
        assert_eq!(parse(""), Ok(Vec::new()));
        let error = parse("sharing,epoch").unwrap_err().to_string();
        assert!(
            error.contains("\"epoch\"") && error.contains("doubts"),
            "{error}"
        );
    }

    #[test]
    fn no_mechanism_is_left_out_unless_somebody_asks() {
        assert!(!Mechanism::ALL.iter().any(|m| without(*m)));
    }

    #[cfg(feature = "ablation")]
    #[test]
    fn mechanism_is_left_out_in_one_thread_until_the_end() {
        let outer = leave_out(Mechanism::Sharing);
        let inner = leave_out(Mechanism::Doubts);
        assert!(without(Mechanism::Sharing) && without(Mechanism::Doubts));
        assert!(!without(Mechanism::Windows));
        let elsewhere = std::thread::spawn(|| without(Mechanism::Sharing));
        assert!(!elsewhere.join().unwrap());
        drop(inner);
        assert!(without(Mechanism::Sharing) && !without(Mechanism::Doubts));
        drop(outer);
        assert!(!without(Mechanism::Sharing));
    }
}
