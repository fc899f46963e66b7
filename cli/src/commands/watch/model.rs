//! What is known of the region, what is looked at, and what is seen of it.

use super::choice::{Action, Choice, part_name};
use super::colours::Scale;
use super::fields;
use super::places::{Places, Sizes};
use super::records::Records;
use std::sync::Arc;
use tcasm_analytics::Histogram;
use tcasm_core::stamp::Stamp;
use tcasm_view::frame::Of;
use tcasm_view::look::{MAX_BINS, MAX_PIXELS, Slice};
use tcasm_view::region::Field;
use tcasm_view::{Frame, Image, Look, Region, State, Update};

/// Samples that are asked for, for each that the screen has: blocks of points are whole numbers, so that fewer may come.
const FINER: usize = 2;

/// All that is drawn.
#[derive(Debug, Default)]
pub struct Model {
    pub region: Arc<Region>,
    pub choice: Choice,
    pub shown: Shown,
    pub records: Records,
    /// The help is shown.
    pub help: bool,
    /// Why what is looked at is not shown.
    pub problem: Option<String>,
    /// What the client was told last.
    look: Look,
}

/// What is on the screen of a field: what frames brought last.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// What it answers.
    pub look: Arc<Look>,
    /// The version; 0 before there is one.
    pub stamp: Stamp,
    pub image: Option<Arc<Image>>,
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

    /// Take in what is new. Whether there was anything.
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
            // The versions of another run are others.
            self.records.clear();
            (self.choice.version, self.problem) = (None, None);
        }
        self.region = region;
        self.choice.fit(&self.region.fields);
    }

    fn see(&mut self, frame: Frame) {
        if frame.look.id != self.look.id {
            return;
        }
        if let Some(problem) = frame.error {
            // What cannot be had any more may be on the screen still.
            let kept = self.shows(&frame.look);
            self.problem = (!kept).then_some(problem);
            return;
        }
        self.problem = None;
        let live = frame.look.version.is_none();
        let part = (frame.look.field.clone(), frame.look.component);
        if let Some(moments) = &frame.moments {
            self.records.note(part, moments, live);
        }
        for (name, moments) in &frame.also {
            self.records.note((name.clone(), None), moments, live);
        }
        self.shown.take(frame);
    }

    /// Whether what `look` asks for is what is shown already, though it was asked for otherwise.
    fn shows(&self, look: &Look) -> bool {
        let of = |look: &Look| (look.field.clone(), look.component, look.slice.clone());
        look.version == Some(self.shown.stamp.version) && of(look) == of(&self.shown.look)
    }

    /// Do what a key says; any closes the help. Whether there is anything to draw.
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
            // The loop's.
            Action::Quit | Action::Interrupt | Action::Suspend | Action::Redraw => {}
        }
        true
    }

    fn hold_range(&mut self) {
        self.choice.range = match self.choice.range {
            Some(_) => None,
            None => self.scale().map(|scale| [scale.low, scale.high]),
        };
    }

    fn pause(&mut self) {
        let shown = self.shown.stamp.version;
        self.choice.version = match self.choice.version {
            None if shown > 0 => Some(shown),
            _ => None,
        };
        self.problem = None;
    }

    /// Stay at an earlier or later version, of those that are kept.
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

    /// The field that is selected.
    pub fn field(&self) -> Option<&Field> {
        let index = self.choice.index(&self.region.fields)?;
        self.region.fields.get(index)
    }

    /// The field that is shown, which may be the one that was selected before.
    pub fn shown_field(&self) -> Option<&Field> {
        let mut fields = self.region.fields.iter();
        fields.find(|field| field.name == self.shown.look.field)
    }

    /// What is shown, by name.
    pub fn shown_name(&self) -> String {
        let components = self.shown_field().map_or(1, |field| field.components);
        let look = &self.shown.look;
        part_name(&look.field, components, look.component)
    }

    /// What the colours stand for.
    pub fn scale(&self) -> Option<Scale> {
        let image = self.shown.image.as_ref()?;
        Scale::of(image, self.choice.range, self.choice.log)
    }

    /// What the panels have to have room for.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            fields: self.region.fields.len(),
            observers: self.region.observers.len(),
        }
    }

    /// Whether there is something to show.
    pub fn has_version(&self) -> bool {
        self.region.state != State::Waiting && self.shown.stamp.version > 0
    }

    /// What to look at, if that is another thing than before.
    pub fn new_look(&mut self, places: &Places) -> Option<Look> {
        let look = self.wanted(places)?;
        if look == self.look {
            return None;
        }
        self.look = look;
        self.look.id += 1;
        Some(self.look.clone())
    }

    fn wanted(&self, places: &Places) -> Option<Look> {
        let field = self.field()?;
        let bins = usize::from(places.bars().width).min(MAX_BINS);
        Some(Look {
            id: self.look.id,
            field: field.name.clone(),
            component: self.choice.component,
            version: self.choice.version,
            slice: self.slice(field, places),
            probe: field.shape.is_empty().then(Vec::new),
            histogram: (bins > 0).then_some(bins),
            also: fields::others(self, places),
            ..Look::default()
        })
    }

    fn slice(&self, field: &Field, places: &Places) -> Option<Slice> {
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

impl Shown {
    fn take(&mut self, frame: Frame) {
        let part = |look: &Look| (look.field.clone(), look.component);
        if part(&frame.look) != part(&self.look) {
            *self = Shown::default();
        }
        self.look = frame.look;
        self.stamp = frame.stamp;
        self.image = frame.image.or(self.image.take());
        self.histogram = frame.histogram.or(self.histogram.take());
        self.value = frame.probe.map(|probe| probe.text).or(self.value.take());
    }
}
