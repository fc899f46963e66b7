// Draws a whole field of three axes with WebGL 2: rays through a 3-D texture.

import { VERTEX, FRAGMENT } from './volume-shader.js';
import { FOCAL, frame } from './camera.js';

const NO_WEBGL = 'This browser has no WebGL 2, which the 3-D view needs. Slices work without it.';

/** A renderer for one canvas. */
export class VolumeRenderer {
  /** @throws {Error} if there is no WebGL 2; the message is for the user */
  constructor(canvas) {
    // Keep the buffer after drawing, because the image may be saved.
    const gl = canvas.getContext('webgl2', { antialias: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error(NO_WEBGL);
    this.canvas = canvas;
    this.gl = gl;
    this.program = program(gl);
    this.values = texture(gl, gl.TEXTURE_3D, gl.LINEAR);
    this.colors = texture(gl, gl.TEXTURE_2D, gl.NEAREST);
    this.uploaded = null;
  }

  /**
   * Draws a volume.
   * @param {{shape: number[], values: Uint8Array, min: number, max: number}} block see frames.js
   * @param {object} view camera; lengths: of the box along x, y, z; range; iso; level; colors: 256
   *   x 3 bytes; background: 3 x 0 to 1
   */
  draw(block, view) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.useProgram(this.program);
    this.upload(block);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.colors);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, view.colors);
    this.setUniforms(block, view);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  /** Uploads the block as a texture, unless it is there. x is its fastest axis, as in the block. */
  upload({ shape, values }) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_3D, this.values);
    if (this.uploaded === values) return;
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    const [depth, height, width] = shape;
    const [target, format, type] = [gl.TEXTURE_3D, gl.RED, gl.UNSIGNED_BYTE];
    gl.texImage3D(target, 0, gl.R8, width, height, depth, 0, format, type, values);
    this.uploaded = values;
  }

  setUniforms(block, { camera, lengths, range, iso, level, background }) {
    const { gl, canvas } = this;
    const at = (name) => gl.getUniformLocation(this.program, name);
    const { right, up, back, eye } = frame(camera);
    const half = lengths.map((l) => l / 2);
    const vectors = { right, up, back, eye, background, half_box: half };
    for (const [name, v] of Object.entries(vectors)) {
      gl.uniform3fv(at(name), v);
    }
    const shorter = Math.min(canvas.width, canvas.height);
    gl.uniform2f(at('stretch'), canvas.width / shorter, canvas.height / shorter);
    gl.uniform1f(at('focal'), FOCAL);
    gl.uniform1i(at('field'), 0);
    gl.uniform1i(at('colors'), 1);
    gl.uniform1i(at('steps'), Math.ceil(1.7 * Math.max(...block.shape)));
    gl.uniform1i(at('iso'), iso ? 1 : 0);
    gl.uniform1f(at('level'), level);
    // Compute in doubles here: the floats of the shader cannot resolve a small range far from zero.
    const width = range.high - range.low;
    gl.uniform2f(at('linear'), (block.max - block.min) / width, (block.min - range.low) / width);
    gl.uniform1i(at('logarithmic'), range.log ? 1 : 0);
    gl.uniform4f(at('ends'), block.min, block.max, range.low, range.high);
  }
}

function program(gl) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
    const log = gl.getShaderInfoLog(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) {
      throw new Error(`The 3-D view cannot be drawn here: ${log}`);
    }
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) {
    throw new Error(`The 3-D view cannot be drawn here: ${gl.getProgramInfoLog(made)}`);
  }
  return made;
}

function texture(gl, kind, filter) {
  const made = gl.createTexture();
  gl.bindTexture(kind, made);
  for (const name of ['TEXTURE_MIN_FILTER', 'TEXTURE_MAG_FILTER']) {
    gl.texParameteri(kind, gl[name], filter);
  }
  for (const name of ['TEXTURE_WRAP_S', 'TEXTURE_WRAP_T', 'TEXTURE_WRAP_R']) {
    gl.texParameteri(kind, gl[name], gl.CLAMP_TO_EDGE);
  }
  return made;
}
