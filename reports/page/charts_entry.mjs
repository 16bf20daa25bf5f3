// The parts of Apache ECharts that the page's charts are drawn with, and no others: bars, our own intervals (a custom
// series), a legend, tooltips, descriptions for screen readers, as SVG, which prints sharply.
export {init} from 'echarts/core';
import {use} from 'echarts/core';
import {BarChart, CustomChart} from 'echarts/charts';
import {AriaComponent, GridComponent, LegendComponent, TooltipComponent} from 'echarts/components';
import {SVGRenderer} from 'echarts/renderers';

use([BarChart, CustomChart, AriaComponent, GridComponent, LegendComponent, TooltipComponent, SVGRenderer]);
