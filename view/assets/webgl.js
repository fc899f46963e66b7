// Programs and textures of WebGL 2.

const NO_WEBGL = 'This browser has no WebGL 2, which the 3-D view needs. Slices work without it.';

/**
 * Returns the WebGL context of a canvas. It keeps its picture, because the picture may be saved.
 * @throws {Error} if there is no WebGL 2; the message is for the user
 */
export function context(canvas) {
  const gl = canvas.getContext('webgl2', { antialias: false, preserveDrawingBuffer: true });
  if (!gl) throw new Error(NO_WEBGL);
  return gl;
}

/** Compiles a program. @throws {Error} if that fails; the message is for the user */
export function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
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

export function texture(gl, kind, filter) {
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
