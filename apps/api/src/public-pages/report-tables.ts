import type { CampaignOverview } from '#messaging';
import type { Wording } from '#wording';
import { html, type Html } from '../html.js';
import { countText, shareText } from './report-text.js';

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
