// Shaders that draw points and triangles in the colours of their values.

export const VERTEX = `#version 300 es
precision highp float;
in vec3 position;
in float share;             // of the range, 0 to 1; below 0 if the value is not finite
uniform vec3 right, up, back, eye;
uniform vec3 centre;        // middle of the box
uniform float scale;        // 1 over the longest side of the box
uniform vec2 stretch;       // size of the canvas over its shorter side
uniform float focal;
uniform float size;         // of a point, in pixels
out vec3 place;
out float part;
const float NEAR = 0.02, FAR = 40.0;
void main() {
  place = (position - centre) * scale;
  part = share;
  vec3 d = place - eye;
  float depth = -dot(d, back);
  float z = (depth * (FAR + NEAR) - 2.0 * FAR * NEAR) / (FAR - NEAR);
  gl_Position = vec4(vec2(dot(d, right), dot(d, up)) * focal / stretch, z, depth);
  gl_PointSize = size;
}`;

export const FRAGMENT = `#version 300 es
precision highp float;
in vec3 place;
in float part;
uniform vec3 right, up, back;
uniform sampler2D colors;
uniform vec3 invalid;
uniform bool points;
out vec4 color;
void main() {
  float index = min(floor(max(part, 0.0) * 256.0), 255.0);
  vec3 base = texture(colors, vec2((index + 0.5) / 256.0, 0.5)).rgb;
  if (part < -0.001) base = invalid;
  color = vec4(base, 1.0);
  if (points) {
    // A point is a disc.
    if (length(gl_PointCoord - 0.5) > 0.5) discard;
    return;
  }
  vec3 normal = cross(dFdx(place), dFdy(place));
  vec3 lamp = normalize(back + 0.4 * up - 0.3 * right);
  // A surface has two sides.
  float light = abs(dot(normal, lamp)) / max(length(normal), 1e-30);
  color.rgb *= 0.35 + 0.65 * light;
}`;
