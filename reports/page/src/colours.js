// Colours that the colour-blind tell apart (Okabe and Ito's), the same in both themes and those of the
// pictures (reports/plot); neighbours differ in grey too. What
// is of the theme comes from the style sheet.

/// Of what an op is: [fill, text on it, what it is called].
const kClasses = {
  forward: ['#56b4e9', '#000', 'forward'],
  backward: ['#0072b2', '#fff', 'backward'],
  optimizer: ['#009e73', '#000', 'optimizer'],
  copy: ['#cc79a7', '#000', 'swaps and copies'],
  communication: ['#d55e00', '#fff', 'communication'],
  offload: ['#f0e442', '#000', 'host and PCIe'],
  wait: ['#f2c3a0', '#000', 'waiting for ranks'],
  host: ['#8c8c8c', '#000', 'launches of the host'],
  pause: ['#7b3f98', '#fff', 'pauses'],
  counted: ['#dddddd', '#000', 'counted, not played'],
  mark: ['#dddddd', '#000', 'nothing to do'],
};
const kClassNames = Object.keys(kClasses);
const fillOf = (cls) => (kClasses[cls] || kClasses.mark)[0];
const inkOf = (cls) => (kClasses[cls] || kClasses.mark)[1];

/// Of what the time of an update is spent on, by its name in the document.
const kUses = {
  'forward and backward': kClasses.backward[0],
  'optimizer': kClasses.optimizer[0],
  'copies': kClasses.copy[0],
  'host': kClasses.host[0],
  'exposed communication': kClasses.communication[0],
  'pipeline bubble': '#ffffff',
  'waiting for other ranks': kClasses.wait[0],
  'pauses': kClasses.pause[0],
};

/// Of memory: [name, fill, parts of the result's memory_parts_bytes].
const kMemoryGroups = [
  ['parameters', '#0072b2', ['parameters', 'parameter shard', 'gathered parameters', 'predicted parameters',
    'parameters of the round before']],
  ['gradients', '#e69f00',
    ['gradients', 'gradient shard', 'partial gradient shard', 'gradients of a micro-batch', 'gradient buckets', 'reduction buffers',
      'fp32 gradient of the shard']],
  ['optimizer states', '#009e73', ['optimizer states', 'clones of optimizer states', 'outer parameters and momentum', 'estimate of the shard']],
  ['communication buffer', '#d55e00', ['communication buffer', 'messages between stages']],
  ['activations and loss', '#56b4e9', ['activations', 'logits and loss']],
  ['allocator and context', '#8c8c8c', ['allocator slack', 'reserved']],
];

/// Stripes and dots, by which grey prints keep stacked parts apart.
const kDecals = {
  'exposed communication': {symbol: 'rect', dashArrayX: [1, 0], dashArrayY: [2, 5], rotation: -Math.PI / 4, color: '#00000055'},
  optimizer: {symbol: 'circle', dashArrayX: [[6, 6], [0, 6, 6, 0]], dashArrayY: [4, 0], symbolSize: 0.5, color: '#00000055'},
};

/// The theme's own colours, as they are now.
function themeColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {back: of('--back'), ink: of('--ink'), dim: of('--dim'), line: of('--line'), panel: of('--panel'),
    accent: of('--accent'), font: getComputedStyle(document.body).fontFamily};
}
