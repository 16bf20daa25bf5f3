// Numbers as people read them, in one place: the same digits and units as accosim's tables (reports/human.cpp; a test
// holds the two together).

/// Rounds what lies exactly between two texts to the even one, as the program does; toFixed() alone goes up.
function fixed(value, decimals) {
  const kMore = 60;  // digits that show a double whole, from 1e-3 on
  const exact = Math.abs(value).toFixed(decimals + kMore), cut = exact.length - kMore;
  const kept = exact.slice(0, cut).replace(/\.$/, '');
  if (!/^50*$/.test(exact.slice(cut)) || Number(kept.at(-1)) % 2 === 1) return value.toFixed(decimals);
  return (value < 0 ? '-' : '') + kept;
}

function threeDigits(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '?' : value > 0 ? 'inf' : '-inf';
  if (size >= 1e5)  // as printf's %.3g
    return value.toExponential(2).replace(/\.?0+e/, 'e').replace(/e\+(\d)$/, 'e+0$1');
  return fixed(value, size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

/// In the largest of `scales`, [factor, unit] ascending, that leaves at least 1 after rounding.
function scaled(value, scales) {
  if (!Number.isFinite(value)) return threeDigits(value) + scales[0][1];
  let best = scales[0];
  for (const scale of scales) if (Math.abs(value) >= 0.9995 * scale[0]) best = scale;
  return value === 0 ? '0' + best[1] : threeDigits(value / best[0]) + best[1];
}

const two = (number) => String(number).padStart(2, '0');

/// Of a number each; null and undefined become a dash.
const format = {
  time(seconds) {
    const size = Math.abs(seconds);
    if (size < 5e-12) return '0 s';
    if (size < 999.5) return scaled(seconds, [[1e-9, ' ns'], [1e-6, ' us'], [1e-3, ' ms'], [1, ' s']]);
    if (size < 5999.5) return threeDigits(seconds / 60) + ' min';
    if (size < 999.5 * 3600) return threeDigits(seconds / 3600) + ' h';
    return threeDigits(seconds / 86400) + ' d';
  },
  /// h:mm:ss from a minute on.
  clock(seconds) {
    if (!(seconds >= 59.5 && seconds < 1e13)) return format.time(seconds);
    const whole = Math.round(seconds), minutes = Math.round(seconds / 60);
    if (whole < 360000) return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
    return `${Math.floor(minutes / 1440)} d ${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
  },
  /// Of a timeline, to a thousandth of what is near it.
  moment: (seconds) => (Math.abs(seconds) < 100 ? `${(1e3 * seconds).toFixed(3)} ms` : `${seconds.toFixed(3)} s`),
  count(value) {
    if (Math.abs(value) < 999.5 && value === Math.floor(value)) return value.toFixed(0);
    return scaled(value, [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'B'], [1e12, 'T']]);
  },
  bytes(value) {
    return scaled(value, [[1, ' B'], [1e3, ' kB'], [1e6, ' MB'], [1e9, ' GB'], [1e12, ' TB'], [1e15, ' PB']]);
  },
  memory(value) {
    return scaled(value, [[1, ' B'], [1024, ' KiB'], [1024 ** 2, ' MiB'], [1024 ** 3, ' GiB'], [1024 ** 4, ' TiB']]);
  },
  percent(fraction) {
    if (!Number.isFinite(fraction)) return '?';
    const percent = 100 * fraction;
    return `${fixed(Math.abs(percent) < 0.05 ? 0 : percent, 1)} %`;
  },
  error(fraction) {
    return (fraction >= 0 || Math.abs(fraction) < 0.0005 ? '+' : '') + format.percent(fraction);
  },
  factor: (value) => threeDigits(value) + 'x',
};

/// format[kind](value), or a dash where there is no number.
function shown(kind, value) {
  return value === null || value === undefined ? '-' : format[kind](value);
}

const money = (amount, currency) => shown('count', amount) + (currency ? `\u00a0${currency}` : '');

/// Of an axis, whose values are round: "2 s" for "2.00 s".
function axisTime(seconds) {
  return format.time(seconds).replace(/(\.\d*?)0+(?= )/, '$1').replace(/\.(?= )/, '');
}

/// "1.02 s to 1.10 s", once where both ends read alike; empty where there is no interval.
function interval(kind, low, high) {
  if (low === null || low === undefined || high === null || high === undefined) return '';
  const ends = [format[kind](low), format[kind](high)];
  return ends[0] === ends[1] ? ends[0] : ends.join(' to ');
}
