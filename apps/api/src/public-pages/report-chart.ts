import type { CampaignOverview } from '#messaging';
import { html, type Html } from './html.js';
import { countText, momentText } from './report-text.js';

type Timeline = CampaignOverview['timeline'];
type Point = Timeline['points'][number];
type Counted = 'sent' | 'opened' | 'clicked';

interface Panel {
  readonly id: string;
  readonly title: string;
  readonly series: readonly Counted[];
}

/** Units of the drawing; it is stretched to the width of the page. */
const WIDTH = 600;
const HEIGHT = 100;
const MOST_ROWS = 200;

const WORDS: Readonly<Record<Counted, string>> = { sent: 'Sent', opened: 'Opened', clicked: 'Clicked' };

/** A campaign over time: mails sent, and opens and clicks, each with its own scale. */
export function timelineFigure(timeline: Timeline, isTracked: boolean): Html {
  const panels: Panel[] = [{ id: 'chart-sent', title: 'Mails sent', series: ['sent'] }];
  if (isTracked) {
    panels.push({ id: 'chart-reaction', title: 'Opens and clicks', series: ['opened', 'clicked'] });
  }
  return html`${panels.map((panel) => panelFigure(panel, timeline))} ${tableOf(timeline, isTracked)}`;
}

function panelFigure({ id, title, series }: Panel, { interval, points }: Timeline): Html {
  const most = Math.max(1, ...points.flatMap((point) => series.map((name) => point[name])));
  return html`<figure class="chart">
    <figcaption>
      ${series.length === 1 ? html`<span class="key ${series[0] ?? ''}">${title}</span>` : series.map((name) => html`<span class="key ${name}">${WORDS[name]}</span>`)}
      <span class="most">most in one ${interval}: ${countText(most)}</span>
    </figcaption>
    <svg
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-labelledby="${id}-title ${id}-desc"
    >
      <title id="${id}-title">${title} by the ${interval}</title>
      <desc id="${id}-desc">${series.map((name) => descriptionOf(name, points, interval)).join(' ')}</desc>
      <path class="grid" d="M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}" />
      ${series.map((name) => seriesPaths(name, points, most))}
    </svg>
    <p class="span" aria-hidden="true">
      <span>${momentText(points[0]?.timestamp, interval)}</span>
      <span>${points.length > 1 ? momentText(points.at(-1)?.timestamp, interval) : null}</span>
    </p>
  </figure>`;
}

function seriesPaths(name: Counted, points: readonly Point[], most: number): Html {
  const stairs = stairsOf(points.map((point) => (point[name] / most) * HEIGHT));
  return html`<path class="area ${name}" d="M0 ${HEIGHT}V${stairs}V${HEIGHT}Z" />
    <path class="line ${name}" d="M0 ${stairs}" />`;
}

/** One step for each value: a count covers its whole hour, and a single value is still a line. */
function stairsOf(heights: readonly number[]): string {
  const step = WIDTH / Math.max(1, heights.length);
  return heights
    .map((height, index) => `${rounded(HEIGHT - height)}H${rounded((index + 1) * step)}`)
    .join('V');
}

function rounded(number: number): string {
  return String(Math.round(number * 100) / 100);
}

function descriptionOf(name: Counted, points: readonly Point[], interval: Timeline['interval']): string {
  const total = points.reduce((sum, point) => sum + point[name], 0);
  const peak = points.reduce<Point | undefined>(
    (best, point) => (best === undefined || point[name] > best[name] ? point : best),
    undefined,
  );
  if (peak === undefined || total === 0) return `${WORDS[name]}: none.`;
  return `${WORDS[name]}: ${countText(total)} in all, most (${countText(peak[name])}) in the ${interval} from ${momentText(peak.timestamp, interval)}.`;
}

/** The chart as a table, without empty rows. */
function tableOf({ interval, points }: Timeline, isTracked: boolean): Html {
  const series: Counted[] = isTracked ? ['sent', 'opened', 'clicked'] : ['sent'];
  const rows = points.filter((point) => series.some((name) => point[name] !== 0)).slice(0, MOST_ROWS);
  return html`<details class="unprinted">
    <summary>The chart as a table</summary>
    <table>
      <thead>
        <tr>
          <th scope="col">${interval === 'day' ? 'Day' : 'From'} (UTC)</th>
          ${series.map((name) => html`<th scope="col" class="amount">${WORDS[name]}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (point) =>
            html`<tr>
              <th scope="row">${momentText(point.timestamp, interval)}</th>
              ${series.map((name) => html`<td class="amount">${countText(point[name])}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}
