# What the report page is made of, in the order of the page: names in this folder. Read by CMake when accosim is built.
set(page_scripts
  src/format.js
  src/dom.js
  src/colours.js
  src/lanes.js
  src/sections.js
  src/charts.js
  src/sweep.js
  src/timeline_view.js
  src/timeline_draw.js
  src/timeline.js
  src/main.js)
set(page_files template.html style.css echarts.js ${page_scripts})
