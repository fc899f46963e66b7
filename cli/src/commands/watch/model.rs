//! The model of the screen: the state of the region, the choice of the user, and the data that is
//! shown.

use super::choice::{Action, Choice, part_name};
use super::colours::Scale;
use super::places::{Places, Sizes};
use super::records::Records;
use std::sync::Arc;
use tcasm_analytics::Histogram;
use tcasm_core::format::stamp::Stamp;
use tcasm_view::frame::Of;
use tcasm_view::mesh::{Grid, MAX_TRIANGLES, Scene};
use tcasm_view::region::{Axes, Field};
use tcasm_view::request::{MAX_ALSO, MAX_BINS, MAX_PIXELS, Slice};
use tcasm_view::{Frame, Image, Region, SceneRequest, State, Update, ViewRequest};

/// The number of samples to request, along each axis, per sample on the screen. The server averages
/// blocks of a whole number of points, so it may return fewer than requested.
const FINER: usize = 2;
/// Maximum number of points in space.
const POINTS: usize = 50_000;

/// All that is drawn.
#[derive(Debug, Default)]
pub struct Model {
    pub region: Arc<Region>,
    pub choice: Choice,
    pub shown: Shown,
    pub records: Records,
    /// True if the help is shown.
    pub help: bool,
    /// The reason why the last request could not be answered.
    pub problem: Option<String>,
    /// The last view request.
    request: ViewRequest,
}

/// The data of a field on the screen, from the last frames.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// The request that the last frame answers.
    pub request: Arc<ViewRequest>,
    /// The stamp of the version; its number is 0 before there is one.
    pub stamp: Stamp,
    pub image: Option<Arc<Image>>,
    /// The coordinates along the axes of the field in the version, if it has a uniform mesh.
    pub axes: Option<Axes>,
    /// The places of the samples of the image, if the mesh says them.
    pub grid: Option<Arc<Grid>>,
    /// The field in space, if it is on a mesh of points.
    pub scene: Option<Arc<Scene>>,
    /// True if the field has no values in the version.
    pub empty: bool,
    pub histogram: Option<Of<Histogram>>,
    pub value: Option<String>,
}

impl Model {
    pub fn new(name: &str) -> Model {
        let region = Region::waiting(name, String::new());
        Model {
            region: Arc::new(region),
            ..Model::default()
        }
    }

    /// Applies an update of the client. Returns true if it had anything new.
    pub fn apply(&mut self, update: Update) -> bool {
        let news = update.region.is_some() || update.frame.is_some();
        if let Some(region) = update.region {
            self.know(region);
        }
        if let Some(frame) = update.frame {
            self.see(frame);
        }
        news
    }

    fn know(&mut self, region: Arc<Region>) {
        if region.run != self.region.run && !self.region.run.is_empty() {
            // Version numbers of another run have another meaning.
            self.records.clear();
            (self.choice.version, self.problem) = (None, None);
        }
        self.region = region;
        self.choice.fit(&self.region.fields);
    }

    fn see(&mut self, frame: Frame) {
        if frame.request.id != self.request.id {
            return;
        }
        if let Some(problem) = frame.error {
            // If the requested version is gone but still on the screen, there is no problem.
            let kept = self.shows(&frame.request);
            self.problem = (!kept).then_some(problem);
            return;
        }
        self.problem = None;
        let live = frame.request.version.is_none();
        let part = (frame.request.field.clone(), frame.request.component);
        if let Some(moments) = &frame.moments {
            self.records.note(part, moments, live);
        }
        for (name, moments) in &frame.also {
            self.records.note((name.clone(), None), moments, live);
        }
        self.shown.take(frame);
    }

    /// Returns true if the screen already shows what `request` asks for, although another request
    /// brought it.
    fn shows(&self, request: &ViewRequest) -> bool {
        let of = |request: &ViewRequest| {
            (
                request.field.clone(),
                request.component,
                request.slice.clone(),
            )
        };
        request.version == Some(self.shown.stamp.version) && of(request) == of(&self.shown.request)
    }

    /// Applies the action of a key. If the help is shown, any key closes it. Returns true if the
    /// screen must be drawn again.
    pub fn act(&mut self, action: Option<Action>) -> bool {
        if self.help {
            self.help = false;
            return true;
        }
        let Some(action) = action else {
            return false;
        };
        let (choice, fields) = (&mut self.choice, &self.region.fields);
        match action {
            Action::Help => self.help = true,
            Action::Field(by) => choice.step(fields, by),
            Action::Cut(axis) => choice.cut(axis),
            Action::Move(by) => choice.shift(fields, by, false),
            Action::Page(by) => choice.shift(fields, by, true),
            Action::Component => choice.next_component(fields),
            Action::Map => choice.next_map(),
            Action::Log => choice.log = !choice.log,
            Action::Range => self.hold_range(),
            Action::Pause => self.pause(),
            Action::Version(by) => self.step_version(by),
            // The main loop handles these.
            Action::Quit | Action::Interrupt | Action::Suspend | Action::Redraw => {}
        }
        true
    }

    /// Keeps the range of the colours, or releases it.
    fn hold_range(&mut self) {
        self.choice.range = match self.choice.range {
            Some(_) => None,
            None => self.scale().map(|scale| [scale.low, scale.high]),
        };
    }

    /// Stays at the version that is shown, or follows the newest again.
    fn pause(&mut self) {
        let shown = self.shown.stamp.version;
        self.choice.version = match self.choice.version {
            None if shown > 0 => Some(shown),
            _ => None,
        };
        self.problem = None;
    }

    /// Goes to the previous or next kept version and stays there.
    fn step_version(&mut self, by: isize) {
        let (kept, live) = (&self.region.versions, self.choice.version.is_none());
        let here = self.choice.version.unwrap_or(self.shown.stamp.version);
        let next = match by {
            ..0 => kept.iter().rev().find(|version| **version < here),
            _ if live => return,
            _ => kept.iter().find(|version| **version > here),
        };
        if here > 0 {
            self.choice.version = Some(next.copied().unwrap_or(here));
        }
    }

    /// Returns the selected field.
    pub fn field(&self) -> Option<&Field> {
        let index = self.choice.index(&self.region.fields)?;
        self.region.fields.get(index)
    }

    /// Returns the fields that are listed if there is room for `rows` of them. The selected field
    /// is among them.
    pub fn fields_in_sight(&self, rows: usize) -> &[Field] {
        let fields = &self.region.fields;
        let selected = self.choice.index(fields).unwrap_or(0);
        let last_first = fields.len().saturating_sub(rows);
        let first = selected.saturating_sub(rows / 2).min(last_first);
        &fields[first..(first + rows).min(fields.len())]
    }

    /// Returns the field that is shown. Until the next frame arrives this is the one that was
    /// selected before.
    pub fn shown_field(&self) -> Option<&Field> {
        let mut fields = self.region.fields.iter();
        fields.find(|field| field.name == self.shown.request.field)
    }

    /// Returns the name of the field, magnitude or component that is shown.
    pub fn shown_name(&self) -> String {
        let components = self.shown_field().map_or(1, |field| field.components);
        let request = &self.shown.request;
        part_name(&request.field, components, request.component)
    }

    /// Returns the scale of the colours.
    pub fn scale(&self) -> Option<Scale> {
        let (kept, log) = (self.choice.range, self.choice.log);
        match &self.shown.scene {
            Some(scene) => Scale::of_points(scene, kept, log),
            None => Scale::of(self.shown.image.as_ref()?, kept, log),
        }
    }

    /// Returns the numbers of rows that the panels need.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            fields: self.region.fields.len(),
            observers: self.region.observers.len(),
        }
    }

    /// Returns true if a version is shown.
    pub fn has_version(&self) -> bool {
        self.region.state != State::Waiting && self.shown.stamp.version > 0
    }

    /// Returns the view request for the current choice, if it differs from the last request.
    pub fn new_request(&mut self, places: &Places) -> Option<ViewRequest> {
        let request = self.wanted(places)?;
        if request == self.request {
            return None;
        }
        self.request = request;
        self.request.id += 1;
        Some(self.request.clone())
    }

    fn wanted(&self, places: &Places) -> Option<ViewRequest> {
        let field = self.field()?;
        let bins = usize::from(places.bars().width).min(MAX_BINS);
        Some(ViewRequest {
            id: self.request.id,
            field: field.name.clone(),
            component: self.choice.component,
            version: self.choice.version,
            slice: self.slice(field, places),
            scene: is_in_space(field).then_some(SceneRequest {
                points: POINTS,
                surface: false,
                triangles: MAX_TRIANGLES,
            }),
            probe: field.shape.is_empty().then(Vec::new),
            histogram: (bins > 0).then_some(bins),
            also: self.others(places),
            ..ViewRequest::default()
        })
    }

    /// Returns the names of the fields that are listed besides the selected one, to request their
    /// moments.
    fn others(&self, places: &Places) -> Vec<String> {
        let rows = usize::from(places.fields.height.saturating_sub(1));
        let whole = self.choice.component.is_some();
        let other = |field: &&Field| !field.raw && (whole || field.name != self.choice.field);
        let fields = self.fields_in_sight(rows).iter().filter(other);
        let names = fields.map(|field| field.name.clone());
        names.take(MAX_ALSO).collect()
    }

    fn slice(&self, field: &Field, places: &Places) -> Option<Slice> {
        if is_in_space(field) {
            return None;
        }
        let [rows, cols] = places.pixels();
        let axes = self.choice.plane(field.shape.len())?;
        let pixels = [rows, cols].map(|count| (count * FINER).min(MAX_PIXELS));
        (rows > 0 && cols > 0).then(|| Slice {
            axes,
            at: self.choice.at.clone(),
            rows: None,
            cols: None,
            pixels,
        })
    }
}

/// Returns true if a field is on points in space, not on a grid that has slices.
pub fn is_in_space(field: &Field) -> bool {
    matches!(field.mesh_kind, Some("particles" | "unstructured"))
}

impl Shown {
    fn take(&mut self, frame: Frame) {
        let part = |request: &ViewRequest| (request.field.clone(), request.component);
        if part(&frame.request) != part(&self.request) {
            *self = Shown::default();
        }
        self.empty = frame.is_empty();
        self.request = frame.request;
        self.stamp = frame.stamp;
        if frame.image.is_some() {
            self.grid = frame.grid;
        }
        self.axes = frame.axes.or(self.axes.take());
        self.image = frame.image.or(self.image.take());
        self.scene = frame.scene.or(self.scene.take());
        self.histogram = frame.histogram.or(self.histogram.take());
        self.value = frame.probe.map(|probe| probe.text).or(self.value.take());
    }
}
