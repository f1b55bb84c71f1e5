import type { Invoice } from '#billing';
import type { Wording } from '#wording';
import { html, type Html } from '../html.js';
import {
  amountOf,
  dayOf,
  type InvoiceSettings,
  isOverdue,
  isToPay,
  partyText,
  spanOf,
  standingOf,
  sumsOf,
} from './invoice-text.js';
import { page, type Page, signs } from './page-layout.js';
import { type PageView, say } from './page-view.js';

/** An invoice as a page; `pdfHref` links to its PDF. */
export function invoicePage(
  view: PageView,
  invoice: Invoice,
  settings: InvoiceSettings,
  now: Date,
  pdfHref: string,
): Page {
  const { seller, buyer } = invoice;
  const number = invoice.invoiceNumber ?? '';
  const { wording } = view;
  const standing = standingOf(invoice, now, wording);
  const sender = { name: seller.name, postalAddress: '', logoUrl: null, color: null };
  return page(
    { ...view, sender },
    {
      heading: wording.text('invoice.heading', { number }),
      shown: say(view, 'invoice.heading', { number: html`<bdi class="number">${number}</bdi>` }),
      sign: signOf(invoice, now),
      wide: true,
      body: html`<p class="standing">
          ${say(view, standing.key, { ...standing.values, amount: html`<bdi>${standing.values.amount}</bdi>` })}
        </p>
        <dl class="facts">
          ${fact(wording.text('invoice.from'), partyText(seller))}
          ${fact(wording.text('invoice.to'), partyText(buyer))}
          ${fact(wording.text('invoice.date'), dayOf(invoice.issuedAt, wording))}
          ${fact(wording.text('invoice.due'), dayOf(invoice.dueAt, wording))}
        </dl>
        ${linesOf(invoice, settings, wording)}
        ${isToPay(invoice) && settings.paymentNote !== null ? html`<p class="note"><bdi>${settings.paymentNote}</bdi></p>` : null}
        <p class="unprinted"><a href="${pdfHref}">${wording.text('invoice.download')}</a></p>`,
    },
  );
}

function fact(name: string, value: string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd><bdi>${value}</bdi></dd>
  </div>`;
}

function linesOf(invoice: Invoice, settings: InvoiceSettings, wording: Wording): Html {
  const sum = (name: string, cents: number) =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="amount"><bdi>${amountOf(invoice, cents, wording)}</bdi></td>
    </tr>`;
  return html`<table>
    <thead>
      <tr>
        <th scope="col">${wording.text('invoice.for')}</th>
        <th scope="col" class="amount">${wording.text('invoice.amount')}</th>
      </tr>
    </thead>
    <tbody>
      ${invoice.lines.map(
        (line) =>
          html`<tr>
            <td><bdi>${line.description}</bdi><span class="status">${spanOf(line, wording)}</span></td>
            <td class="amount"><bdi>${amountOf(invoice, line.amountCents, wording)}</bdi></td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      ${sumsOf(invoice, settings, wording).map(({ name, cents }) => sum(name, cents))}
    </tfoot>
  </table>`;
}

function signOf(invoice: Invoice, now: Date): Html {
  if (invoice.status === 'PAID') return signs.done;
  if (invoice.status === 'UNCOLLECTIBLE' || isOverdue(invoice, now)) return signs.late;
  return invoice.status === 'VOID' ? signs.lost : signs.letter;
}
