// Numbers as text, and round numbers for axes.

/**
 * Returns a number as text, with at most `digits` significant digits and without trailing zeros.
 */
export function number(value, digits = 6) {
  if (value === null || value === undefined) return '–';
  if (!Number.isFinite(value)) return String(value).replace('Infinity', '∞');
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return trim(value.toExponential(digits - 1));
  return String(Number(value.toPrecision(digits)));
}

/** Removes trailing zeros after the point. */
function trim(text) {
  const [mantissa, exponent] = text.split('e');
  const short = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa;
  return exponent === undefined ? short : `${short}e${exponent.replace('+', '')}`;
}

/** Returns a size in bytes as text, such as "4.00 MiB", as the command prints it. */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(2)} ${units[unit]}`;
}

/** Returns a duration in microseconds as text, such as "120 µs" or "1.2 ms". */
export function duration(us) {
  if (us === null || us === undefined) return '–';
  if (us < 1000) return `${number(us, 3)} µs`;
  return us < 1e6 ? `${number(us / 1000, 3)} ms` : `${number(us / 1e6, 3)} s`;
}

/** Returns about `count` or fewer round numbers between `low` and `high`. */
export function ticks(low, high, count) {
  const step = roundStep((high - low) / Math.max(1, count));
  if (!(step > 0) || !Number.isFinite(step)) return [];
  const marks = [];
  const most = high + step * 1e-9;
  for (let i = Math.ceil(low / step - 1e-9); i * step <= most; i += 1) marks.push(i * step);
  return marks;
}

/**
 * Returns powers of ten between `low` and `high`, and their multiples by 2 and 5 if they are few.
 */
export function logTicks(low, high, count) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const every = Math.max(1, Math.ceil((last - first) / Math.max(1, count)));
  const factors = last - first <= 2 ? [1, 2, 5] : [1];
  const marks = [];
  for (let power = first; power <= last; power += every) {
    for (const factor of factors) {
      const mark = factor * 10 ** power;
      if (mark >= low * (1 - 1e-9) && mark <= high * (1 + 1e-9)) marks.push(mark);
    }
  }
  return marks;
}

/** Returns the least number that is at least `raw` and is 1, 2 or 5 times a power of ten. */
function roundStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 5, 10].find((f) => f * power >= raw * (1 - 1e-9));
  return (factor ?? 10) * power;
}

/** Returns the labels of ticks. All get the digits that are needed to show each mark exactly. */
export function tickLabels(marks) {
  for (let digits = 2; digits < 12; digits += 1) {
    const labels = marks.map((mark) => number(Math.abs(mark) < 1e-300 ? 0 : mark, digits));
    const values = labels.map((label) => Number(label.replace('∞', 'Infinity')));
    const faithful = marks.every((m, i) => Math.abs(values[i] - m) <= Math.abs(m) * 1e-9);
    if (faithful || digits === 11) return labels;
  }
  return [];
}
