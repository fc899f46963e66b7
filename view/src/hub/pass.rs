//! One pass over a version. It computes the data that clients want of the version, each item once.

mod merged;
mod whole;

use super::seen::{Seen, field_of, grid_of, lattice_of, places_of};
use crate::frame::{Frame, Of, Pages, Probe};
use crate::image::{self, Image, Profile, ShowError, Volume};
use crate::mesh::{self, Cache, Extent, Grid, MAX_SIDE, Scene};
use crate::region::Axes;
use crate::request::{Line, SceneRequest, Slice, ViewRequest};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use tcasm_analytics::dynamic;
use tcasm_analytics::{Histogram, Lane, Moments, Range, Scalar, blocks};
use tcasm_core::field::FieldDesc;
use tcasm_observer::View;

/// Results that were computed, each by its key.
type Memo<K, V> = HashMap<K, Result<Arc<V>, String>>;
/// The places of samples, if the mesh says them.
type FoundGrid = Result<Option<Arc<Grid>>, String>;
/// The name of a field, and a component (`None`: the magnitude).
type Part = (String, Option<usize>);

/// Fields of a version, with the results that were computed from them.
pub struct Pass {
    view: View,
    /// Surfaces and choices of points of the run so far.
    meshes: Arc<Mutex<Cache>>,
    images: Memo<(Part, Slice), Image>,
    grids: HashMap<(String, Slice), FoundGrid>,
    scenes: Memo<(Part, SceneRequest), Scene>,
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
    /// Returns a pass over the fields that `view` shows.
    pub fn new(view: View, meshes: Arc<Mutex<Cache>>) -> Self {
        Pass {
            view,
            meshes,
            images: Memo::new(),
            grids: HashMap::new(),
            scenes: Memo::new(),
            profiles: Memo::new(),
            moments: Memo::new(),
            histograms: Memo::new(),
            volumes: Memo::new(),
            pages: Memo::new(),
        }
    }

    fn field(&self, name: &str) -> Result<(&FieldDesc, &[u8]), String> {
        field_of(&self.view, name)
    }

    /// Returns a frame that has only a request and a version.
    fn frame(&self, request: &Arc<ViewRequest>) -> Frame {
        Frame {
            request: request.clone(),
            stamp: self.view.stamp(),
            published: self.view.version().published(),
            ..Frame::default()
        }
    }

    /// Computes the small parts of a request: the image, the line and the point.
    pub fn part(&mut self, request: &Arc<ViewRequest>) -> Frame {
        let mut frame = self.frame(request);
        if let Err(error) = self.fill_part(request, &mut frame) {
            frame = self.frame(request);
            frame.error = Some(error);
        }
        frame
    }

    /// Returns the shape of a field without ghost layers; empty if there is no such field.
    fn shape(&self, name: &str) -> Vec<usize> {
        if mesh::is_whole(name) {
            return self.shape_of_whole(name);
        }
        let shape = self.view.version().field(name).map(blocks::shape);
        shape.unwrap_or_default()
    }

    /// Returns true if the field has no values in this version.
    fn is_empty(&self, name: &str) -> bool {
        self.shape(name).contains(&0)
    }

    /// Returns the request with indices and sizes that fit the field in this version.
    fn fitted(&self, request: &ViewRequest) -> Result<ViewRequest, String> {
        let (desc, _) = self.field(&request.field)?;
        let mut fitted = request.fitted(desc);
        let seen = Seen(&self.view);
        if let Some(slice) = &mut fitted.slice
            && lattice_of(&seen, &request.field)?.is_some()
        {
            slice.pixels = slice.pixels.map(|count| count.min(MAX_SIDE));
        }
        Ok(fitted)
    }

    fn fill_part(&mut self, request: &ViewRequest, frame: &mut Frame) -> Result<(), String> {
        if mesh::is_whole(&request.field) {
            return self.fill_blocks(request, frame);
        }
        let (desc, _) = self.field(&request.field)?;
        frame.axes = Axes::of(desc, self.view.table());
        frame.shape = self.shape(&request.field);
        if frame.is_empty() {
            return Ok(());
        }
        let request = &self.fitted(request)?;
        if let Some(slice) = &request.slice {
            let image = self.image(request, slice)?;
            frame.grid = self.grid(request, slice, &image)?;
            frame.image = Some(image);
        }
        let scene = request.scene.as_ref();
        frame.scene = scene.map(|s| self.scene(request, s)).transpose()?;
        frame.profile = request
            .line
            .as_ref()
            .map(|l| self.profile(request, l))
            .transpose()?;
        frame.probe = request
            .probe
            .as_ref()
            .map(|at| self.probe(request, at))
            .transpose()?;
        Ok(())
    }

    /// Computes the parts of a request for which whole fields are read.
    pub fn whole(&mut self, request: &Arc<ViewRequest>) -> Frame {
        let mut frame = self.frame(request);
        frame.shape = self.shape(&request.field);
        let is_known = mesh::is_whole(&request.field) || self.field(&request.field).is_ok();
        if !is_known || frame.is_empty() {
            return frame; // The frame of the small parts has the error, if there is one.
        }
        let (part, stamp) = (part_of(request), self.view.stamp());
        let of = |made| (stamp, made);
        frame.moments = self.moments(&part).ok().map(of);
        let bins = request.histogram.map(|bins| self.histogram(&part, bins));
        frame.histogram = ok(bins).map(|made| (stamp, made));
        let volume = request.volume.map(|most| self.volume(&part, most));
        frame.volume = ok(volume).map(|made| (stamp, made));
        let pages = request.pages.then(|| self.pages());
        frame.pages = ok(pages).map(|made| (stamp, made));
        for name in &request.also {
            if !self.is_empty(name)
                && let Ok(moments) = self.moments(&(name.clone(), None))
            {
                frame.also.insert(name.clone(), (stamp, moments));
            }
        }
        frame
    }

    /// Computes the image of a request from this version, to compare another version with.
    pub fn other(&mut self, request: &ViewRequest) -> Result<Of<Image>, String> {
        if mesh::is_whole(&request.field) {
            return Err("several blocks are not compared; ask for one of them".to_owned());
        }
        if self.is_empty(&request.field) {
            return Err("the version to compare with has no values of this field".to_owned());
        }
        let request = self.fitted(request)?;
        let slice = request
            .slice
            .as_ref()
            .ok_or("there is nothing to compare: the request has no slice")?;
        let image = self.image(&request, slice)?;
        Ok((self.view.stamp(), image))
    }

    fn image(&mut self, request: &ViewRequest, slice: &Slice) -> Result<Arc<Image>, String> {
        let (key, view) = ((part_of(request), slice.clone()), &self.view);
        remember(&mut self.images, key, || {
            on(view, request, |desc, bytes| {
                image::image(desc, bytes, request.component, slice)
            })
        })
    }

    fn profile(&mut self, request: &ViewRequest, line: &Line) -> Result<Arc<Profile>, String> {
        let (key, view) = ((part_of(request), line.clone()), &self.view);
        remember(&mut self.profiles, key, || {
            let profile = on(view, request, |desc, bytes| {
                image::profile(desc, bytes, request.component, line)
            })?;
            let places = places_of(&Seen(view), &request.field, &profile)?;
            Ok(Profile { places, ..profile })
        })
    }

    /// Returns the places of the samples of a slice; `None` if the mesh says nothing of them.
    fn grid(&mut self, request: &ViewRequest, slice: &Slice, image: &Image) -> FoundGrid {
        let (key, view) = ((request.field.clone(), slice.clone()), &self.view);
        let made = self.grids.entry(key).or_insert_with(|| {
            let grid = grid_of(&Seen(view), &request.field, slice, image)?;
            Ok(grid.map(Arc::new))
        });
        made.clone()
    }

    fn scene(
        &mut self,
        request: &ViewRequest,
        wanted: &SceneRequest,
    ) -> Result<Arc<Scene>, String> {
        let (part, component) = (part_of(request), request.component);
        // Where there are no moments, there is no scene either, and its error says more.
        let moments = self.moments(&part);
        let whole = moments.map_or_else(|_| Extent::default(), |moments| Extent::from(&*moments));
        let (view, meshes, name) = (&self.view, &self.meshes, &request.field);
        remember(&mut self.scenes, (part, *wanted), || {
            let mut cache = meshes.lock().unwrap_or_else(PoisonError::into_inner);
            let scene = mesh::scene(&Seen(view), name, component, whole, wanted, &mut cache);
            scene.map_err(|e| e.to_string())
        })
    }

    fn probe(&self, request: &ViewRequest, at: &[usize]) -> Result<Probe, String> {
        let (desc, bytes) = self.field(&request.field)?;
        let values = blocks::point(desc, bytes, at).map_err(|e| e.to_string())?;
        let texts: Vec<String> = values.iter().map(Scalar::to_string).collect();
        Ok(Probe {
            at: at.to_vec(),
            values: values.iter().map(|value| value.to_f64()).collect(),
            text: texts.join(", "),
        })
    }

    /// Computes the moments of a field. The series consist of them, too.
    pub fn moments(&mut self, part: &Part) -> Result<Arc<Moments>, String> {
        if mesh::is_whole(&part.0) {
            return self.moments_of_whole(part);
        }
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
        if mesh::is_whole(&part.0) {
            return self.histogram_of_whole(part, bins);
        }
        // The moments have the range, so the values need not be read twice for it.
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
            // There may be too few numbers between the ends. `Auto` makes the bins wider then.
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
            let volume = image::volume(desc, bytes, part.1, most).map_err(|e| e.to_string())?;
            let spacing = Axes::of(desc, view.table()).map(|axes| axes.spacing);
            Ok(Volume { spacing, ..volume })
        })
    }

    fn pages(&mut self) -> Result<Arc<Pages>, String> {
        let view = &self.view;
        remember(&mut self.pages, (), || {
            changed(view).map_err(|e| e.to_string())
        })
    }
}

fn part_of(request: &ViewRequest) -> Part {
    (request.field.clone(), request.component)
}

fn ok<T>(result: Option<Result<T, String>>) -> Option<T> {
    result.and_then(Result::ok)
}

fn on<T>(
    view: &View,
    request: &ViewRequest,
    show: impl FnOnce(&FieldDesc, &[u8]) -> Result<T, ShowError>,
) -> Result<T, String> {
    let (desc, bytes) = field_of(view, &request.field)?;
    show(desc, bytes).map_err(|e| e.to_string())
}

fn lane(desc: &FieldDesc, component: Option<usize>) -> Lane {
    match component {
        Some(component) => Lane::Component(component),
        None if desc.components == 1 => Lane::Component(0),
        None => Lane::Magnitude,
    }
}

/// Maximum number of bins in a map of changed pages.
const BINS: usize = 1024;

/// Returns the pages that this version changed, up to the end of the last field.
fn changed(view: &View) -> Result<Pages, tcasm_core::format::index::IndexError> {
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
