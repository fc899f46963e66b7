// Shaders that follow rays through a volume. A ray shows its greatest value, or the first value
// that reaches a level.

export const VERTEX = `#version 300 es
// One triangle that covers the canvas.
out vec2 place;
void main() {
  vec2 corner = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);
  place = corner * 2.0 - 1.0;
  gl_Position = vec4(place, 0.0, 1.0);
}`;

export const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler3D;
in vec2 place;
out vec4 color;
uniform sampler3D field;
uniform sampler2D colors;
uniform vec3 right, up, back, eye;
uniform vec3 half_box;      // half the lengths of the sides of the box
uniform vec2 stretch;       // size of the canvas over its shorter side
uniform float focal;
uniform vec3 background;
uniform int steps;
uniform bool iso;
uniform float level;        // level of the isosurface, between the ends of the range
uniform vec2 linear;        // fraction of the range = linear.x * byte + linear.y
uniform bool logarithmic;
uniform vec4 ends;          // least and greatest value of the volume, ends of the range

float fraction(float byte) {
  if (!logarithmic) return linear.x * byte + linear.y;
  float value = mix(ends.x, ends.y, byte);
  return value > 0.0 ? log(value / ends.z) / log(ends.w / ends.z) : -1.0;
}

float at(vec3 p) { return texture(field, p / (2.0 * half_box) + 0.5).r; }

vec3 map_color(float t) {
  return texture(colors, vec2((clamp(t, 0.0, 1.0) * 255.0 + 0.5) / 256.0, 0.5)).rgb;
}

vec3 slope(vec3 p) {
  vec3 h = 2.0 * half_box / vec3(textureSize(field, 0));
  vec3 dx = vec3(h.x, 0, 0), dy = vec3(0, h.y, 0), dz = vec3(0, 0, h.z);
  vec3 change = vec3(at(p + dx) - at(p - dx), at(p + dy) - at(p - dy), at(p + dz) - at(p - dz));
  return change / (2.0 * h);
}

vec3 lit(vec3 base, vec3 normal, vec3 ray) {
  vec3 lamp = normalize(back + 0.4 * up - 0.3 * right);
  // A surface has two sides.
  float light = abs(dot(normal, lamp));
  float shine = pow(max(0.0, abs(dot(normal, normalize(lamp - ray)))), 40.0);
  return base * (0.25 + 0.75 * light) + 0.15 * shine;
}

void main() {
  color = vec4(background, 1.0);
  vec3 ray = normalize(place.x * stretch.x * right + place.y * stretch.y * up - focal * back);
  vec3 a = (-half_box - eye) / ray, b = (half_box - eye) / ray;
  vec3 lower = min(a, b), upper = max(a, b);
  float enter = max(max(lower.x, lower.y), max(lower.z, 0.0));
  float leave = min(min(upper.x, upper.y), upper.z);
  if (enter >= leave) return;
  float stride = (leave - enter) / float(steps);
  float most = 0.0, before = enter;
  for (int i = 0; i <= steps; i++) {
    float way = enter + float(i) * stride;
    float value = at(eye + way * ray);
    most = max(most, value);
    if (iso && fraction(value) >= level) {
      if (i == 0) {
        // The box cuts the surface here. Its face shows the values.
        vec3 side = vec3(equal(lower, vec3(enter)));
        color = vec4(lit(map_color(fraction(value)), side, ray), 1.0);
        return;
      }
      float inside = way;
      for (int k = 0; k < 6; k++) {
        float middle = 0.5 * (before + inside);
        if (fraction(at(eye + middle * ray)) >= level) inside = middle; else before = middle;
      }
      vec3 normal = slope(eye + inside * ray);
      color = vec4(lit(map_color(level), normalize(normal + 1e-9), ray), 1.0);
      return;
    }
    before = way;
  }
  if (!iso) color = vec4(map_color(fraction(most)), 1.0);
}`;
