//! One pass over a version: everything that clients want to see of it, each thing once.

use crate::frame::{Frame, Of, Pages, Probe};
use crate::image::{self, Image, Profile, ShowError, Volume};
use crate::look::{Line, Look, Slice};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use tcasm_analytics::dynamic;
use tcasm_analytics::{Histogram, Lane, Moments, Range, Scalar, blocks};
use tcasm_core::field::FieldDesc;
use tcasm_observer::{ObserveError, View, ViewError};

/// Results, each with what it is of.
type Memo<K, V> = HashMap<K, Result<Arc<V>, String>>;
/// A field, and the component or the magnitude.
type Part = (String, Option<usize>);

/// A version that is being looked at.
pub struct Pass {
    view: View,
    images: Memo<(Part, Slice), Image>,
    profiles: Memo<(Part, Line), Profile>,
    moments: Memo<Part, Moments>,
    histograms: Memo<(Part, usize), Histogram>,
    volumes: Memo<(Part, usize), Volume>,
    pages: Memo<(), Pages>,
}

fn remember<K: Hash + Eq, V>(
    memo: &mut Memo<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V, String>,
) -> Result<Arc<V>, String> {
    let made = memo.entry(key).or_insert_with(|| make().map(Arc::new));
    made.clone()
}

impl Pass {
    pub fn new(view: View) -> Self {
        Pass {
            view,
            images: Memo::new(),
            profiles: Memo::new(),
            moments: Memo::new(),
            histograms: Memo::new(),
            volumes: Memo::new(),
            pages: Memo::new(),
        }
    }

    /// Whether all that was read was the version's.
    pub fn check(&self) -> Result<(), ObserveError> {
        self.view.check()
    }

    fn field(&self, name: &str) -> Result<(&FieldDesc, &[u8]), String> {
        let desc = self
            .view
            .field(name)
            .map_err(|e: ViewError| e.to_string())?;
        let bytes = self.view.bytes_of(desc).map_err(|e| e.to_string())?;
        Ok((desc, bytes))
    }

    /// A frame with nothing in it.
    fn frame(&self, look: &Arc<Look>) -> Frame {
        Frame {
            look: look.clone(),
            stamp: self.view.stamp(),
            published: self.view.version().published(),
            ..Frame::default()
        }
    }

    /// What a look sees that is small: image, line, point.
    pub fn part(&mut self, look: &Arc<Look>) -> Frame {
        let mut frame = self.frame(look);
        if let Err(error) = self.fill_part(look, &mut frame) {
            frame = self.frame(look);
            frame.error = Some(error);
        }
        frame
    }

    fn fill_part(&mut self, look: &Look, frame: &mut Frame) -> Result<(), String> {
        self.field(&look.field)?;
        frame.image = look
            .slice
            .as_ref()
            .map(|s| self.image(look, s))
            .transpose()?;
        frame.profile = look
            .line
            .as_ref()
            .map(|l| self.profile(look, l))
            .transpose()?;
        frame.probe = look
            .probe
            .as_ref()
            .map(|at| self.probe(look, at))
            .transpose()?;
        Ok(())
    }

    /// What takes the whole field.
    pub fn whole(&mut self, look: &Arc<Look>) -> Frame {
        let mut frame = self.frame(look);
        if self.field(&look.field).is_err() {
            return frame; // told already
        }
        let (part, stamp) = (part_of(look), self.view.stamp());
        let of = |made| (stamp, made);
        frame.moments = self.moments(&part).ok().map(of);
        let bins = look.histogram.map(|bins| self.histogram(&part, bins));
        frame.histogram = told(bins).map(|made| (stamp, made));
        let volume = look.volume.map(|most| self.volume(&part, most));
        frame.volume = told(volume).map(|made| (stamp, made));
        let pages = look.pages.then(|| self.pages());
        frame.pages = told(pages).map(|made| (stamp, made));
        for name in &look.also {
            if let Ok(moments) = self.moments(&(name.clone(), None)) {
                frame.also.insert(name.clone(), (stamp, moments));
            }
        }
        frame
    }

    /// The image of a look, of this version as the one to compare with.
    pub fn other(&mut self, look: &Look) -> Result<Of<Image>, String> {
        let slice = look
            .slice
            .as_ref()
            .ok_or("nothing to compare: no slice was asked for")?;
        let image = self.image(look, slice)?;
        Ok((self.view.stamp(), image))
    }

    fn image(&mut self, look: &Look, slice: &Slice) -> Result<Arc<Image>, String> {
        let (key, view) = ((part_of(look), slice.clone()), &self.view);
        remember(&mut self.images, key, || {
            on(view, look, |desc, bytes| {
                image::image(desc, bytes, look.component, slice)
            })
        })
    }

    fn profile(&mut self, look: &Look, line: &Line) -> Result<Arc<Profile>, String> {
        let (key, view) = ((part_of(look), line.clone()), &self.view);
        remember(&mut self.profiles, key, || {
            on(view, look, |desc, bytes| {
                image::profile(desc, bytes, look.component, line)
            })
        })
    }

    fn probe(&self, look: &Look, at: &[usize]) -> Result<Probe, String> {
        let (desc, bytes) = self.field(&look.field)?;
        let values = blocks::point(desc, bytes, at).map_err(|e| e.to_string())?;
        let texts: Vec<String> = values.iter().map(Scalar::to_string).collect();
        Ok(Probe {
            at: at.to_vec(),
            values: values.iter().map(|value| value.to_f64()).collect(),
            text: texts.join(", "),
        })
    }

    /// Moments of a field: what the series are made of, too.
    pub fn moments(&mut self, part: &Part) -> Result<Arc<Moments>, String> {
        let view = &self.view;
        remember(&mut self.moments, part.clone(), || {
            let (desc, bytes) = field_of(view, &part.0)?;
            let all = dynamic::moments(desc, bytes).map_err(|e| e.to_string())?;
            let lane = lane(desc, part.1);
            let moments = all.get(lane).cloned();
            moments.ok_or_else(|| format!("{:?} has no component {:?}", part.0, part.1))
        })
    }

    fn histogram(&mut self, part: &Part, bins: usize) -> Result<Arc<Histogram>, String> {
        // The range is known from the moments, so that values need not be read twice for it.
        let moments = self.moments(part)?;
        let ends = (moments.min, moments.max);
        let view = &self.view;
        remember(&mut self.histograms, (part.clone(), bins), || {
            let (desc, bytes) = field_of(view, &part.0)?;
            let made = |range| dynamic::histogram(desc, bytes, bins, range);
            let all = match ends {
                (Some(low), Some(high)) => made(Range::Given(low.to_f64(), high.to_f64())),
                _ => made(Range::Auto),
            };
            // Too few numbers between them, perhaps: then bins are made wider.
            let all = all
                .or_else(|_| made(Range::Auto))
                .map_err(|e| e.to_string())?;
            let histogram = all.get(lane(desc, part.1)).cloned();
            histogram.ok_or_else(|| format!("{:?} has no component {:?}", part.0, part.1))
        })
    }

    fn volume(&mut self, part: &Part, most: usize) -> Result<Arc<Volume>, String> {
        let view = &self.view;
        remember(&mut self.volumes, (part.clone(), most), || {
            let (desc, bytes) = field_of(view, &part.0)?;
            image::volume(desc, bytes, part.1, most).map_err(|e| e.to_string())
        })
    }

    fn pages(&mut self) -> Result<Arc<Pages>, String> {
        let view = &self.view;
        remember(&mut self.pages, (), || {
            changed(view).map_err(|e| e.to_string())
        })
    }
}

fn part_of(look: &Look) -> Part {
    (look.field.clone(), look.component)
}

fn told<T>(result: Option<Result<T, String>>) -> Option<T> {
    result.and_then(Result::ok)
}

fn field_of<'v>(view: &'v View, name: &str) -> Result<(&'v FieldDesc, &'v [u8]), String> {
    let desc = view.field(name).map_err(|e| e.to_string())?;
    let bytes = view.bytes_of(desc).map_err(|e| e.to_string())?;
    Ok((desc, bytes))
}

fn on<T>(
    view: &View,
    look: &Look,
    show: impl FnOnce(&FieldDesc, &[u8]) -> Result<T, ShowError>,
) -> Result<T, String> {
    let (desc, bytes) = field_of(view, &look.field)?;
    show(desc, bytes).map_err(|e| e.to_string())
}

fn lane(desc: &FieldDesc, component: Option<usize>) -> Lane {
    match component {
        Some(component) => Lane::Component(component),
        None if desc.components == 1 => Lane::Component(0),
        None => Lane::Magnitude,
    }
}

/// Most numbers of a map of changed pages.
const BINS: usize = 1024;

/// The pages that this version changed, as far as there are fields.
fn changed(view: &View) -> Result<Pages, tcasm_core::index::IndexError> {
    let set = view.changes()?.pages;
    let ends = view.table().fields.iter().map(|field| field.range().end);
    let pages = ends.max().unwrap_or(0).div_ceil(view.page_size()?) as usize;
    let pages_per_bin = pages.div_ceil(BINS).max(1);
    let share = |bin: usize| {
        let first = bin * pages_per_bin;
        let bin = first..(first + pages_per_bin).min(pages);
        let (all, changed) = (bin.len(), set.count_in(bin));
        (changed * 254 / all) as u8 + u8::from(changed > 0)
    };
    Ok(Pages {
        pages,
        changed: set.count_in(0..pages),
        pages_per_bin,
        bins: (0..pages.div_ceil(pages_per_bin)).map(share).collect(),
    })
}
