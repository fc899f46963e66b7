// Draws points and triangles in space with WebGL 2.

import { VERTEX, FRAGMENT } from './scene-shader.js';
import { FOCAL, frame } from './camera.js';
import { context, program, texture } from './webgl.js';

/**
 * @typedef {object} Shape
 * @property {Float32Array} positions x, y, z of each point, relative to an origin; NaN: not drawn
 * @property {Uint32Array|null} corners three points for each triangle; null: points are drawn
 * @property {((triangle: number) => number)|null} valueOf the number of the value of a triangle;
 *   null: each point has a value
 */

/** A renderer for one canvas. */
export class SceneRenderer {
  /** @throws {Error} if there is no WebGL 2; the message is for the user */
  constructor(canvas) {
    const gl = context(canvas);
    Object.assign(this, { canvas, gl, program: program(gl, VERTEX, FRAGMENT) });
    this.colors = texture(gl, gl.TEXTURE_2D, gl.NEAREST);
    this.buffers = { position: gl.createBuffer(), share: gl.createBuffer() };
    this.indices = gl.createBuffer();
    /** The shape that was uploaded, and how it is drawn. */
    this.shape = {};
    this.layout = null;
    this.shares = null;
  }

  /**
   * Draws a shape.
   * @param {Shape} shape
   * @param {Float32Array} shares of the range: one for each value; below 0: not finite
   * @param {object} view camera; centre and scale of the box; size of points; colors: 256 x 3
   *   bytes; background, invalid: 3 x 0 to 1
   */
  draw(shape, shares, view) {
    const { gl, canvas } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...view.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.useProgram(this.program);
    this.upload(shape, shares);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.colors);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, view.colors);
    this.setUniforms(view);
    const { count, indexed } = this.layout;
    if (!shape.corners) gl.drawArrays(gl.POINTS, 0, count);
    else if (indexed) gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
    else gl.drawArrays(gl.TRIANGLES, 0, count);
  }

  /** Uploads what has changed. */
  upload(shape, shares) {
    const parts = ['positions', 'corners', 'valueOf'];
    const same = this.layout && parts.every((part) => this.shape[part] === shape[part]);
    if (!same) {
      this.layout = layoutOf(shape);
      this.fill('position', 3, this.layout.positions);
      if (this.layout.indexed) {
        const { gl } = this;
        gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.indices);
        gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, this.layout.indexed, gl.STATIC_DRAW);
      }
      this.shape = shape;
    }
    const own = same && this.shares === shares;
    if (!own) this.fill('share', 1, sharesOf(this.layout, shape, shares));
    this.shares = shares;
  }

  /** Fills the buffer of an attribute. */
  fill(name, size, values) {
    const { gl } = this;
    const place = gl.getAttribLocation(this.program, name);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
  }

  setUniforms({ camera, centre, scale, size, invalid }) {
    const { gl, canvas } = this;
    const at = (name) => gl.getUniformLocation(this.program, name);
    const { right, up, back, eye } = frame(camera);
    const vectors = { right, up, back, eye, centre, invalid };
    for (const [name, v] of Object.entries(vectors)) gl.uniform3fv(at(name), v);
    const shorter = Math.min(canvas.width, canvas.height);
    gl.uniform2f(at('stretch'), canvas.width / shorter, canvas.height / shorter);
    gl.uniform1f(at('scale'), scale);
    gl.uniform1f(at('focal'), FOCAL);
    gl.uniform1f(at('size'), size);
    gl.uniform1i(at('colors'), 0);
    gl.uniform1i(at('points'), this.shape.corners ? 0 : 1);
  }
}

/** Returns the triangles all of whose corners have a place. */
function drawable({ positions, corners }) {
  const drawn = [];
  for (let t = 0; 3 * t < corners.length; t += 1) {
    // The sum is NaN if one of the numbers is.
    const sum = positions[3 * corners[3 * t]] + positions[3 * corners[3 * t + 1]]
      + positions[3 * corners[3 * t + 2]];
    if (!Number.isNaN(sum)) drawn.push(t);
  }
  return drawn;
}

/**
 * Returns how a shape is drawn: its points with an index, or each triangle with corners of its own,
 * because its colour is its own.
 */
function layoutOf(shape) {
  const { positions, corners, valueOf } = shape;
  if (!corners) return { positions, count: positions.length / 3, indexed: null };
  const drawn = drawable(shape);
  const count = 3 * drawn.length;
  const all = new Uint32Array(count);
  drawn.forEach((t, i) => {
    for (let c = 0; c < 3; c += 1) all[3 * i + c] = corners[3 * t + c];
  });
  if (!valueOf) return { positions, count, indexed: all };
  const own = new Float32Array(3 * count);
  all.forEach((point, i) => {
    for (let c = 0; c < 3; c += 1) own[3 * i + c] = positions[3 * point + c];
  });
  return { positions: own, count, indexed: null, drawn };
}

/** Returns the shares of what is drawn. */
function sharesOf({ count, drawn }, { valueOf }, shares) {
  if (!drawn) return shares;
  const own = new Float32Array(count);
  drawn.forEach((t, i) => own.fill(shares[valueOf(t)], 3 * i, 3 * i + 3));
  return own;
}
