// Draws a whole field of three axes with WebGL 2: rays through a 3-D texture.

import { VERTEX, FRAGMENT } from './volume-shader.js';
import { FOCAL, frame } from './camera.js';
import { context, program, texture } from './webgl.js';

/** A renderer for one canvas. */
export class VolumeRenderer {
  /** @throws {Error} if there is no WebGL 2; the message is for the user */
  constructor(canvas) {
    const gl = context(canvas);
    this.canvas = canvas;
    this.gl = gl;
    this.program = program(gl, VERTEX, FRAGMENT);
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
