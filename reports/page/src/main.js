// Fills the page from its document, and keeps it to the theme, the width and the switches.

function main() {
  const page = JSON.parse(byId('document').textContent);
  const name = (page.sweep || page.result).scenario || 'accosim report';
  document.title = `${name} - accosim`;
  byId('title').textContent = name;
  const redraw = page.sweep ? showPageOfSweep(page) : showPageOfSchedules(page);
  showAgain(page);
  followTheme(redraw);
  followPrint(redraw);
}

function showPageOfSweep(page) {
  const charts = showSweep(page);
  new ResizeObserver(() => charts.resize()).observe(document.querySelector('main'));
  return () => {
    charts.resize();
    charts.draw();
  };
}

/// Returns what draws it anew; told whether at once.
function showPageOfSchedules(page) {
  const {result} = page;
  showAnswer(page);
  showComparison(page);
  showLadder(page);
  showRun(page);
  showWarnings(page);
  showGround(page);
  let on = result.results.map(() => true);
  const charts = makeCharts(page);
  const pictures = [['pipeline', page.pipelines], ['timeline', page.timelines]].filter(([, all]) => all.length > 0)
    .map(([id, all]) => makeTimeline(id, all));
  showSwitches(page, (chosen) => {
    on = chosen;
    showColumns(on);
    charts.draw(on);
    for (const each of pictures) each.show(on);
  });
  charts.draw(on);
  for (const each of pictures) each.show(on);
  new ResizeObserver(() => charts.draw(on)).observe(document.querySelector('main'));
  return (now) => {
    charts.draw(on);
    for (const each of pictures) each.redraw(now);
  };
}

/// The system's theme, or the one that was switched to.
function followTheme(redraw) {
  const dark = matchMedia('(prefers-color-scheme: dark)'), button = byId('theme'), root = document.documentElement;
  const isDark = () => (root.dataset.theme || (dark.matches ? 'dark' : 'light')) === 'dark';
  const tell = () => { button.textContent = isDark() ? 'light theme' : 'dark theme'; };
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    tell();
    redraw(false);
  });
  dark.addEventListener('change', () => {
    tell();
    redraw(false);
  });
  tell();
}

/// Paper is light, as wide as a sheet, and shows what is folded on a screen.
function followPrint(redraw) {
  const root = document.documentElement;
  let before = null;
  addEventListener('beforeprint', () => {
    const details = [...document.querySelectorAll('details:not(.numbers, .stays)')];
    before = {theme: root.dataset.theme, closed: details.filter((one) => !one.open)};
    root.dataset.theme = 'light';
    root.dataset.print = '';
    for (const one of details) one.open = true;
    redraw(true);
  });
  addEventListener('afterprint', () => {
    if (!before) return;
    if (before.theme) root.dataset.theme = before.theme; else delete root.dataset.theme;
    delete root.dataset.print;
    for (const one of before.closed) one.open = false;
    before = null;
    redraw(false);
  });
}

main();
