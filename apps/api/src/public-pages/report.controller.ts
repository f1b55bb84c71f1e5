import { Get, Param, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { type CampaignOverview, CampaignOverviewQuery } from '#messaging';
import type { WordingKey } from '#wording';
import { renderMarkdown } from '../docs/markdown.js';
import { html, type Html } from '../html.js';
import { page, type Page, signs } from './page-layout.js';
import { PageLinksService } from './page-links.service.js';
import { countText, dateText, type PageView, say, shareText } from './page-view.js';
import { expiredLinkPage, PublicPage, sendPage } from './public-page.js';
import { languagesTable, linksTable, providersTable, timelineFigure } from './report-figures.js';

interface FunnelStep {
  readonly name: WordingKey;
  readonly count: number;
  /** The whole that its share is of, in words, and its count. */
  readonly of: readonly [words: WordingKey, count: number] | null;
}

/** Headings of the report are below those of the page. */
const REPORT_LEVEL = 2;
/** A language model may have written the report, so its links are not trusted. */
const noLink = (): null => null;

/** A campaign's report for anybody who has its link: counts only, nothing about a person. */
export function reportPage(view: PageView, overview: CampaignOverview): Page {
  const { name, subject, queuedAt, isTracked, statistics, timeline, links, languages } = overview;
  const { wording } = view;
  const sentAt = say(view, 'report.sentAt', { date: dateText(statistics.collectedAt ?? queuedAt, wording) });
  const asOf = statistics.lastUpdatedAt;
  const title = (key: WordingKey) => wording.text(key);
  return page(view, {
    heading: name,
    shown: html`<bdi>${name}</bdi>`,
    sign: signs.chart,
    wide: true,
    body: html`<p class="standing"><bdi>${subjectText(subject)}</bdi></p>
      <p class="quiet">
        ${sentAt} ${asOf === null ? null : say(view, 'report.asOf', { date: dateText(asOf, wording) })}
      </p>
      ${section('funnel', title('report.funnel'), [funnelTable(view, funnelOf(overview)), factsOf(view, overview)])}
      ${timeline.points.length === 0 ? null : section('timeline', title('report.timeline'), [timelineFigure(view, timeline, isTracked), quiet(say(view, 'report.utc'))])}
      ${isTracked && links.length > 0 ? section('links', title('report.links'), linksTable(wording, links, statistics.uniqueClicks)) : null}
      ${languages.length > 0 ? section('languages', title('report.languages'), languagesTable(wording, languages, isTracked)) : null}
      ${section('providers', title('report.providers'), providersOf(view, overview))}
      ${writtenReport(view, overview)}`,
  });
}

function section(id: string, heading: string, body: Html | readonly Html[]): Html {
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    ${body}
  </section>`;
}

function quiet(text: Html): Html {
  return html`<p class="quiet">${text}</p>`;
}

/** While a campaign goes on, slow counts are refreshed from time to time. */
function providersOf(view: PageView, overview: CampaignOverview): Html[] {
  const { isBrokenDown, brokenDownAt, providers, isTracked } = overview;
  if (!isBrokenDown) return [quiet(say(view, 'report.counting'))];
  const table = providersTable(view.wording, providers, isTracked);
  if (brokenDownAt === null) return [table];
  return [table, quiet(say(view, 'report.countedAt', { date: dateText(brokenDownAt, view.wording) }))];
}

function funnelOf({ statistics, isTracked }: CampaignOverview): FunnelStep[] {
  const { totalSent, totalDelivered, uniqueOpens, uniqueClicks } = statistics;
  const steps: FunnelStep[] = [
    { name: 'report.sent', count: totalSent, of: null },
    { name: 'report.delivered', count: totalDelivered, of: ['report.ofSent', totalSent] },
  ];
  if (!isTracked) return steps;
  const ofDelivered = ['report.ofDelivered', totalDelivered] as const;
  return [
    ...steps,
    { name: 'report.opened', count: uniqueOpens, of: ofDelivered },
    { name: 'report.clicked', count: uniqueClicks, of: ofDelivered },
  ];
}

function funnelTable(view: PageView, steps: readonly FunnelStep[]): Html {
  const { wording } = view;
  const whole = Math.max(1, steps[0]?.count ?? 1);
  return html`<table class="funnel">
    <thead class="spoken">
      <tr>
        <th scope="col">${say(view, 'report.step')}</th>
        <th scope="col">${say(view, 'report.mails')}</th>
        <th scope="col">${say(view, 'report.share')}</th>
      </tr>
    </thead>
    <tbody>
      ${steps.map(
        ({ name, count, of }) =>
          html`<tr>
            <th scope="row">
              ${say(view, name)}
              <svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect class="whole" width="100" height="1" />
                <rect class="part" width="${Math.min(100, (count / whole) * 100).toFixed(2)}" height="1" />
              </svg>
            </th>
            <td class="amount">${countText(count, wording)}</td>
            <td class="amount">
              ${of === null ? null : html`${shareText(count, of[1], wording)}<span class="status">${say(view, of[0])}</span>`}
            </td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function factsOf(view: PageView, { statistics, isTracked }: CampaignOverview): Html {
  const { wording } = view;
  const { totalDelivered, totalBounced, hardBounced, softBounced, totalSent } = statistics;
  const facts = [
    ['report.unsubscribed', statistics.totalUnsubscribed, totalDelivered],
    ['report.complained', statistics.spamComplaints, totalDelivered],
    ['report.hardBounced', hardBounced, totalSent],
    ['report.softBounced', softBounced, totalSent],
  ] as const;
  const note = totalBounced === totalSent ? 'report.noneArrived' : 'report.untracked';
  return html`<dl class="facts figures">
      ${facts.map(
        ([name, count, whole]) =>
          html`<div>
            <dt>${say(view, name)}</dt>
            <dd>
              ${countText(count, wording)} <span class="status">${shareText(count, whole, wording)}</span>
            </dd>
          </div>`,
      )}
    </dl>
    ${isTracked ? null : quiet(say(view, note))}`;
}

function writtenReport(view: PageView, { report }: CampaignOverview): Html | null {
  if (report === null) return null;
  const { content, locale, aiModelId: model, generatedAt } = report;
  const by = model === null ? 'report.writtenByMachine' : 'report.writtenBy';
  const on = generatedAt === null ? by : (`${by}On` as const);
  const values = {
    ...(model !== null && { model }),
    ...(generatedAt !== null && { date: dateText(generatedAt, view.wording) }),
  };
  return section('report', view.wording.text('report.inWords'), [
    html`<div class="written" lang="${locale}" dir="auto">
      ${renderMarkdown(content, noLink, { highestLevel: REPORT_LEVEL }).html}
    </div>`,
    quiet(say(view, on, values)),
  ]);
}

const TAG = /\{\{-?([\s\S]*?)-?\}\}|\{%[\s\S]*?%\}/g;
const DEFAULT = /\|\s*default:\s*(?:"([^"]*)"|'([^']*)')/;

/** A subject rendered for an unknown reader: `Hello {{ … | default: "you" }}` is `Hello you`. */
function subjectText(subject: string): string {
  return subject
    .replaceAll(TAG, (_, output: string | undefined) => {
      if (output === undefined) return '';
      const [, double, single] = DEFAULT.exec(output) ?? [];
      return double ?? single ?? '…';
    })
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A campaign's report, for anybody who has its link. */
@PublicPage('r')
export class ReportController {
  constructor(
    private readonly links: PageLinksService,
    private readonly overviews: CampaignOverviewQuery,
  ) {}

  @Get(':token')
  async show(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const link = await this.links.open(token, 'report');
    const view = await this.links.view(request, link);
    if (link.expired) return sendPage(reply, expiredLinkPage({ ...view, sender: null }));
    const overview = await this.overviews.of(link.scope, link.id);
    if (overview === null) throw new NotFoundError();
    sendPage(reply, reportPage(view, overview));
  }
}
