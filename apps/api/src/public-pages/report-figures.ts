import type { CampaignOverview } from '#messaging';
import type { Wording, WordingKey } from '#wording';
import { html, type Html } from '../html.js';
import { countText, momentText, type PageView, say, shareText } from './page-view.js';

type Links = CampaignOverview['links'];
type Provider = CampaignOverview['providers'][number];
type Language = CampaignOverview['languages'][number];
type Figures = Omit<Provider, 'domain'>;

/** A provider of fewer mails might tell who got them. */
const NAMED_FROM = 25;
const LONGEST_ADDRESS = 160;
const USUAL_SCHEME = /^https:\/\//;

/** Shows addresses without linking them, so that nobody follows a link of the mail by mistake. */
export function linksTable(wording: Wording, links: Links, clickers: number): Html {
  return html`<table class="links">
      <thead>
        <tr>
          <th scope="col">${wording.text('report.link')}</th>
          <th scope="col" class="amount">${wording.text('report.mails')}</th>
          <th scope="col" class="amount">${wording.text('report.share')}</th>
        </tr>
      </thead>
      <tbody>
        ${links.map(
          (link) =>
            html`<tr>
              <th scope="row"><bdi>${breakable(shortened(link.url.replace(USUAL_SCHEME, '')))}</bdi></th>
              <td class="amount">${countText(link.clickers, wording)}</td>
              <td class="amount">${shareText(link.clickers, clickers, wording)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p class="quiet">${wording.text('report.linkShare', { clickers })}</p>`;
}

export function providersTable(wording: Wording, providers: readonly Provider[], isTracked: boolean): Html {
  const others = wording.text('report.otherProviders');
  const rows = providers.map((provider) => ({ name: provider.domain ?? others, figures: provider }));
  return html`${figuresTable(wording, wording.text('report.provider'), rows, isTracked)}
    <p class="quiet">${wording.text('report.providersFrom', { count: NAMED_FROM })}</p>`;
}

export function languagesTable(wording: Wording, languages: readonly Language[], isTracked: boolean): Html {
  const names = new Intl.DisplayNames(wording.locale, { type: 'language' });
  const others = wording.text('report.otherLanguages');
  const rows = languages.map((language) => ({
    name: language.locale === null ? others : (names.of(language.locale) ?? language.locale),
    figures: language,
  }));
  return figuresTable(wording, wording.text('report.language'), rows, isTracked);
}

/** On a phone each row is a block of its own; the roles keep it a table for screen readers. */
function figuresTable(
  wording: Wording,
  heading: string,
  rows: readonly { readonly name: string; readonly figures: Figures }[],
  isTracked: boolean,
): Html {
  const columns = columnsOf(wording, isTracked);
  return html`<table class="stacked" role="table">
    <thead role="rowgroup">
      <tr role="row">
        <th scope="col" role="columnheader">${heading}</th>
        ${columns.map(({ name }) => html`<th scope="col" role="columnheader" class="amount">${name}</th>`)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows.map(
        ({ name: row, figures }) =>
          html`<tr role="row">
            <th scope="row" role="rowheader"><bdi>${row}</bdi></th>
            ${columns.map(
              ({ name, count, of }) =>
                html`<td role="cell" class="amount" data-name="${name}">
                  ${countText(count(figures), wording)}${of === null ? null : html`<span class="status">${shareText(count(figures), of(figures), wording)}</span>`}
                </td>`,
            )}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

interface Column {
  readonly name: string;
  readonly count: (figures: Figures) => number;
  readonly of: ((figures: Figures) => number) | null;
}

function columnsOf(wording: Wording, isTracked: boolean): Column[] {
  const columns: Column[] = [
    { name: wording.text('report.sent'), count: ({ sent }) => sent, of: null },
    { name: wording.text('report.delivered'), count: ({ delivered }) => delivered, of: ({ sent }) => sent },
    { name: wording.text('report.bounced'), count: ({ bounced }) => bounced, of: ({ sent }) => sent },
  ];
  if (!isTracked) return columns;
  return [
    ...columns,
    { name: wording.text('report.opened'), count: ({ opened }) => opened, of: ({ delivered }) => delivered },
    {
      name: wording.text('report.clicked'),
      count: ({ clicked }) => clicked,
      of: ({ delivered }) => delivered,
    },
  ];
}

/** Allows line breaks in a long address after its separators. */
function breakable(url: string): Html[] {
  return url
    .split(/(?<=[/?&=])(?!\/)/)
    .map((part, index) => (index === 0 ? html`${part}` : html`<wbr />${part}`));
}

function shortened(url: string): string {
  const characters = Array.from(url);
  if (characters.length <= LONGEST_ADDRESS) return url;
  return `${characters.slice(0, LONGEST_ADDRESS - 1).join('')}…`;
}

type Timeline = CampaignOverview['timeline'];
type Point = Timeline['points'][number];
type Counted = 'sent' | 'opened' | 'clicked';

interface Panel {
  readonly id: string;
  readonly title: WordingKey;
  readonly series: readonly Counted[];
}

/** Units of the drawing; it is stretched to the width of the page. */
const WIDTH = 600;
const HEIGHT = 100;
const MOST_ROWS = 200;

/** Bars rather than a line: with so few points a line would be one large rectangle. */
const MOST_BARS = 24;

/** Points that have one in their middle to name. */
const FEWEST_FOR_MIDDLE = 6;

const WORDS = { sent: 'report.sent', opened: 'report.opened', clicked: 'report.clicked' } as const;

/** A campaign over time: mails sent, and opens and clicks, each with its own scale. */
export function timelineFigure(view: PageView, timeline: Timeline, isTracked: boolean): Html {
  const panels: Panel[] = [{ id: 'chart-sent', title: 'report.mailsSent', series: ['sent'] }];
  if (isTracked) {
    panels.push({ id: 'chart-reaction', title: 'report.opensAndClicks', series: ['opened', 'clicked'] });
  }
  return html`${panels.map((panel) => panelFigure(view, panel, timeline))}
  ${tableOf(view, timeline, isTracked)}`;
}

function panelFigure(view: PageView, { id, title, series }: Panel, timeline: Timeline): Html {
  const { interval, points } = timeline;
  const { wording } = view;
  const most = Math.max(0, ...points.flatMap((point) => series.map((name) => point[name])));
  const full = topOf(most);
  const middle = points.length < FEWEST_FOR_MIDDLE ? null : Math.floor(points.length / 2);
  const across = middle === null ? '' : `M${rounded((WIDTH * middle) / points.length)} 0V${HEIGHT}`;
  const ticks = [0, ...(middle === null ? [] : [middle]), ...(points.length > 1 ? [points.length - 1] : [])];
  return html`<figure class="chart">
    <figcaption>
      ${series.length === 1 ? html`<span class="key ${series[0] ?? ''}">${say(view, title)}</span>` : series.map((name) => html`<span class="key ${name}">${say(view, WORDS[name])}</span>`)}
      ${most === 0 ? null : html`<span class="most">${say(view, `report.most.${interval}`, { count: countText(most, wording) })}</span>`}
    </figcaption>
    <div class="plot">
      <p class="scale" aria-hidden="true">
        ${[full, full / 2, 0].map((value) => html`<span>${countText(value, wording)}</span>`)}
      </p>
      <svg
        viewBox="0 0 ${WIDTH} ${HEIGHT}"
        preserveAspectRatio="none"
        role="img"
        aria-labelledby="${id}-title ${id}-desc"
      >
        <title id="${id}-title">${say(view, title)}</title>
        <desc id="${id}-desc">${series.map((name) => html`${descriptionOf(view, name, timeline)} `)}</desc>
        <path class="grid" d="M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}${across}" />
        ${points.length > MOST_BARS ? series.map((name) => seriesPaths(name, points, full)) : bars(series, points, full)}
      </svg>
      <p class="span" aria-hidden="true">
        ${ticks.map((index) => html`<span>${momentText(points[index]?.timestamp, interval, wording)}</span>`)}
      </p>
    </div>
  </figure>`;
}

/** Multiples of a power of ten at which a scale may end. */
const TOPS = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10];

/** The even number that a scale ends with: the smallest one of few digits that holds `most`. */
function topOf(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const tops = [...TOPS, 20].map((step) => Math.round(step * power * 10) / 10);
  return tops.find((top) => top >= most && top % 2 === 0) ?? most;
}

/** The bars of the series stand beside each other; few ones stay as slim as many would be. */
function bars(series: readonly Counted[], points: readonly Point[], most: number): Html[] {
  const slot = WIDTH / points.length;
  const width = Math.min(slot * 0.7, WIDTH / MOST_BARS) / series.length;
  return points.flatMap((point, index) =>
    series.map((name, place) => {
      const left = slot * (index + 0.5) + width * (place - series.length / 2);
      const height = (point[name] / most) * HEIGHT;
      return html`<rect
        class="column ${name}"
        x="${rounded(left)}"
        y="${rounded(HEIGHT - height)}"
        width="${rounded(width)}"
        height="${rounded(height)}"
      />`;
    }),
  );
}

function seriesPaths(name: Counted, points: readonly Point[], most: number): Html {
  const stairs = stairsOf(points.map((point) => (point[name] / most) * HEIGHT));
  return html`<path class="area ${name}" d="M0 ${HEIGHT}V${stairs}V${HEIGHT}Z" />
    <path class="line ${name}" d="M0 ${stairs}" />`;
}

/** One step for each value: a count covers its whole hour. */
function stairsOf(heights: readonly number[]): string {
  const step = WIDTH / Math.max(1, heights.length);
  return heights
    .map((height, index) => `${rounded(HEIGHT - height)}H${rounded((index + 1) * step)}`)
    .join('V');
}

function rounded(number: number): string {
  return String(Math.round(number * 100) / 100);
}

function descriptionOf(view: PageView, series: Counted, { points, interval }: Timeline): Html {
  const { wording } = view;
  const name = wording.text(WORDS[series]);
  const total = points.reduce((sum, point) => sum + point[series], 0);
  const peak = points.reduce<Point | undefined>(
    (best, point) => (best === undefined || point[series] > best[series] ? point : best),
    undefined,
  );
  if (peak === undefined || total === 0) return say(view, 'report.seriesNone', { name });
  return say(view, 'report.series', {
    name,
    total: countText(total, wording),
    most: countText(peak[series], wording),
    date: momentText(peak.timestamp, interval, wording),
  });
}

/** The chart as a table, without empty rows. */
function tableOf(view: PageView, { interval, points }: Timeline, isTracked: boolean): Html {
  const { wording } = view;
  const series: Counted[] = isTracked ? ['sent', 'opened', 'clicked'] : ['sent'];
  const rows = points.filter((point) => series.some((name) => point[name] !== 0)).slice(0, MOST_ROWS);
  return html`<details class="unprinted">
    <summary>${say(view, 'report.asTable')}</summary>
    <table>
      <thead>
        <tr>
          <th scope="col">${say(view, interval === 'day' ? 'report.dayUtc' : 'report.fromUtc')}</th>
          ${series.map((name) => html`<th scope="col" class="amount">${say(view, WORDS[name])}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (point) =>
            html`<tr>
              <th scope="row">${momentText(point.timestamp, interval, wording)}</th>
              ${series.map((name) => html`<td class="amount">${countText(point[name], wording)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </details>`;
}
