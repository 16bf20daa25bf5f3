// Colours that the colour-blind tell apart (Okabe and Ito's), the same in both themes; neighbours differ in grey too. What
// is of the theme comes from the style sheet.

/// Of what an op is: [fill, text on it, what it is called].
const kClasses = {
  forward: ['#7cc4ec', '#000', 'forward'],
  backward: ['#0067a5', '#fff', 'backward'],
  optimizer: ['#f0c419', '#000', 'optimizer'],
  copy: ['#9b8a79', '#000', 'swaps and copies'],
  communication: ['#d1560b', '#fff', 'communication'],
  wait: ['#f2c3a0', '#000', 'waiting for ranks'],
  host: ['#b8b8b8', '#000', 'launches of the host'],
  pause: ['#7b3f98', '#fff', 'pauses'],
  counted: ['#dddddd', '#000', 'counted, not played'],
  mark: ['#dddddd', '#000', 'nothing to do'],
};
const kClassNames = Object.keys(kClasses);
const fillOf = (cls) => (kClasses[cls] || kClasses.mark)[0];
const inkOf = (cls) => (kClasses[cls] || kClasses.mark)[1];

/// Of memory: [name, fill, parts of the result's memory_parts_bytes].
const kMemoryGroups = [
  ['parameters', '#0067a5', ['parameters', 'parameter shard', 'gathered parameters']],
  ['gradients', '#7cc4ec',
    ['gradients', 'gradient shard', 'gradient buckets', 'reduction buffers', 'fp32 gradient of the shard']],
  ['optimizer states', '#f0c419', ['optimizer states', 'clones of optimizer states', 'outer parameters and momentum', 'estimate of the shard']],
  ['communication buffer', '#d1560b', ['communication buffer']],
  ['activations and loss', '#008a66', ['activations', 'logits and loss']],
  ['allocator and context', '#b8b8b8', ['allocator slack', 'reserved']],
];

/// Stripes and dots, by which grey prints keep stacked parts apart.
const kDecals = {
  communication: {symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -Math.PI / 4, color: '#00000055'},
  optimizer: {symbol: 'circle', dashArrayX: [[6, 6], [0, 6, 6, 0]], dashArrayY: [4, 0], symbolSize: 0.5, color: '#00000055'},
};

/// The theme's own colours, as they are now.
function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {back: of('--back'), ink: of('--ink'), dim: of('--dim'), line: of('--line'), panel: of('--panel'),
    accent: of('--accent'), font: getComputedStyle(document.body).fontFamily};
}
