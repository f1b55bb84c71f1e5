import type { CampaignOverview } from '#messaging';
import { html, type Html } from './html.js';
import { countText, shareText } from './report-text.js';

type Links = CampaignOverview['links'];
type Provider = CampaignOverview['providers'][number];

const LONGEST_ADDRESS = 160;
const USUAL_SCHEME = /^https:\/\//;

/** Shows addresses without linking them, so that nobody follows a link of the mail by mistake. */
export function linksTable(links: Links, clickers: number): Html {
  return html`<table>
      <thead>
        <tr>
          <th scope="col">Link</th>
          <th scope="col" class="amount">Mails</th>
          <th scope="col" class="amount">Share</th>
        </tr>
      </thead>
      <tbody>
        ${links.map(
          (link) =>
            html`<tr>
              <th scope="row"><bdi>${breakable(shortened(link.url.replace(USUAL_SCHEME, '')))}</bdi></th>
              <td class="amount">${countText(link.clickers)}</td>
              <td class="amount">${shareText(link.clickers, clickers)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <p class="quiet">Share of the ${countText(clickers)} mails in which a link was followed.</p>`;
}

/** On a phone each provider is a block of its own; the roles keep it a table for screen readers. */
export function providersTable(providers: readonly Provider[], isTracked: boolean): Html {
  const columns = columnsOf(isTracked);
  return html`<table class="stacked" role="table">
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader">Provider</th>
          ${columns.map(({ name }) => html`<th scope="col" role="columnheader" class="amount">${name}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${providers.map(
          (provider) =>
            html`<tr role="row">
              <th scope="row" role="rowheader"><bdi>${provider.domain ?? 'All others'}</bdi></th>
              ${columns.map(
                ({ name, count, of }) =>
                  html`<td role="cell" class="amount" data-name="${name}">
                    ${countText(count(provider))}${of === null ? null : html`<span class="status">${shareText(count(provider), of(provider))}</span>`}
                  </td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
    <p class="quiet">Providers are named from 25 mails up.</p>`;
}

interface Column {
  readonly name: string;
  readonly count: (provider: Provider) => number;
  readonly of: ((provider: Provider) => number) | null;
}

function columnsOf(isTracked: boolean): Column[] {
  const columns: Column[] = [
    { name: 'Sent', count: ({ sent }) => sent, of: null },
    { name: 'Delivered', count: ({ delivered }) => delivered, of: ({ sent }) => sent },
    { name: 'Bounced', count: ({ bounced }) => bounced, of: ({ sent }) => sent },
  ];
  if (!isTracked) return columns;
  return [
    ...columns,
    { name: 'Opened', count: ({ opened }) => opened, of: ({ delivered }) => delivered },
    { name: 'Clicked', count: ({ clicked }) => clicked, of: ({ delivered }) => delivered },
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
