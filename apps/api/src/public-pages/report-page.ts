import type { CampaignOverview } from '#messaging';
import { html, type Html } from './html.js';
import { page, type Page, type PageSender, signs } from './page-layout.js';
import { timelineFigure } from './report-chart.js';
import { renderMarkdown } from '../markdown/markdown.js';
import { linksTable, providersTable } from './report-tables.js';
import { countText, dateText, shareText, subjectText } from './report-text.js';

interface FunnelStep {
  readonly name: string;
  readonly count: number;
  /** The name and count of the whole that its share is of. */
  readonly of: readonly [name: string, count: number] | null;
}

/** Headings of the report are below those of the page. */
const REPORT_LEVEL = 2;
/** A language model may have written the report, so its links are not trusted. */
const noLink = (): null => null;

/** A campaign's report for anybody who has its link: counts only, nothing about a person. */
export function reportPage(overview: CampaignOverview, sender: PageSender): Page {
  const { name, subject, queuedAt, isTracked, statistics, timeline, links, providers } = overview;
  return page({
    heading: name,
    sign: signs.chart,
    sender,
    wide: true,
    body: html`<p class="standing"><bdi>${subjectText(subject)}</bdi></p>
      <p class="quiet">
        Sent ${dateText(statistics.collectedAt ?? queuedAt)}.
        ${statistics.lastUpdatedAt === null ? null : html`As of ${dateText(statistics.lastUpdatedAt)}.`}
      </p>
      ${section('funnel', 'From sending to clicking', [funnelTable(funnelOf(overview)), factsOf(overview)])}
      ${timeline.points.length === 0 ? null : section('timeline', 'Over time', [timelineFigure(timeline, isTracked), quiet('Times are in UTC.')])}
      ${isTracked && links.length > 0 ? section('links', 'Most followed links', linksTable(links, statistics.uniqueClicks)) : null}
      ${section('providers', 'By mailbox provider', overview.isBrokenDown ? [providersTable(providers, isTracked), ...brokenDown(overview)] : quiet('Links and providers are being counted. They are here in a minute.'))}
      ${writtenReport(overview)}`,
  });
}

/** For an expired link. */
export const expiredReportPage: Page = page({
  status: 410,
  heading: 'This link has expired',
  sign: signs.late,
  sender: null,
  body: html`<p>Please ask whoever gave it to you for a new one.</p>`,
});

function section(id: string, heading: string, body: Html | readonly Html[]): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    ${body}
  </section>`;
}

function quiet(text: string): Html {
  return html`<p class="quiet">${text}</p>`;
}

/** While a campaign goes on, slow counts are refreshed from time to time. */
function brokenDown({ brokenDownAt }: CampaignOverview): Html[] {
  return brokenDownAt === null ? [] : [quiet(`Links and providers as of ${dateText(brokenDownAt)}.`)];
}

function funnelOf({ statistics, isTracked }: CampaignOverview): FunnelStep[] {
  const { totalSent, totalDelivered, uniqueOpens, uniqueClicks } = statistics;
  const steps: FunnelStep[] = [
    { name: 'Sent', count: totalSent, of: null },
    { name: 'Delivered', count: totalDelivered, of: ['sent', totalSent] },
  ];
  if (!isTracked) return steps;
  const ofDelivered = ['delivered', totalDelivered] as const;
  return [
    ...steps,
    { name: 'Opened', count: uniqueOpens, of: ofDelivered },
    { name: 'Clicked', count: uniqueClicks, of: ofDelivered },
  ];
}

function funnelTable(steps: readonly FunnelStep[]): Html {
  const whole = Math.max(1, steps[0]?.count ?? 1);
  return html`<table class="funnel">
    <thead class="spoken">
      <tr>
        <th scope="col">Step</th>
        <th scope="col">Mails</th>
        <th scope="col">Share</th>
      </tr>
    </thead>
    <tbody>
      ${steps.map(
        ({ name, count, of }) =>
          html`<tr>
            <th scope="row">
              ${name}
              <svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect class="whole" width="100" height="1" />
                <rect class="part" width="${Math.min(100, (count / whole) * 100).toFixed(2)}" height="1" />
              </svg>
            </th>
            <td class="amount">${countText(count)}</td>
            <td class="amount">
              ${of === null ? null : html`${shareText(count, of[1])}<span class="status">of ${of[0]}</span>`}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function factsOf({ statistics, isTracked }: CampaignOverview): Html {
  const { totalDelivered, totalBounced, hardBounced, softBounced, totalSent } = statistics;
  const facts = [
    ['Unsubscribed', statistics.totalUnsubscribed, shareText(statistics.totalUnsubscribed, totalDelivered)],
    ['Complained', statistics.spamComplaints, shareText(statistics.spamComplaints, totalDelivered)],
    ['Bounced for good', hardBounced, shareText(hardBounced, totalSent)],
    ['Bounced for now', softBounced, shareText(softBounced, totalSent)],
  ] as const;
  const note = 'Opens and clicks were not tracked.';
  return html`<dl class="facts figures">
      ${facts.map(
        ([name, count, share]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${countText(count)} <span class="status">${share}</span></dd>
          </div>`,
      )}
    </dl>
    ${isTracked ? null : quiet(totalBounced === totalSent ? 'No mail arrived.' : note)}`;
}

function writtenReport({ report }: CampaignOverview): Html | null {
  if (report === null) return null;
  const { content, locale, aiModelId, generatedAt } = report;
  const at = generatedAt === null ? '' : ` on ${dateText(generatedAt)}`;
  return section('report', 'In words', [
    html`<div class="written" lang="${locale}">${renderMarkdown(content, noLink, REPORT_LEVEL).html}</div>`,
    quiet(`Written by ${aiModelId ?? 'a machine'}${at}.`),
  ]);
}
