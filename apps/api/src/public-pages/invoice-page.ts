import type { Invoice } from '#billing';
import { html, type Html } from './html.js';
import {
  amountOf,
  dayOf,
  type InvoiceWording,
  isOverdue,
  isToPay,
  partyText,
  spanOf,
  standingOf,
  taxText,
} from './invoice-text.js';
import { page, type Page, signs } from './page-layout.js';

/** An invoice as a page; `pdfHref` links to its PDF. */
export function invoicePage(invoice: Invoice, wording: InvoiceWording, now: Date, pdfHref: string): Page {
  const { seller, buyer, invoiceNumber } = invoice;
  return page({
    heading: `Invoice ${invoiceNumber ?? ''}`,
    sign: signOf(invoice, now),
    sender: { name: seller.name, postalAddress: '' },
    wide: true,
    body: html` <p class="standing">${standingOf(invoice, now)}</p>
      <dl class="facts">
        ${fact('From', partyText(seller))} ${fact('To', partyText(buyer))}
        ${fact('Date', dayOf(invoice.issuedAt))} ${fact('Due', dayOf(invoice.dueAt))}
      </dl>
      ${linesOf(invoice, wording)}
      ${isToPay(invoice) && wording.paymentNote !== null ? html`<p class="note"><bdi>${wording.paymentNote}</bdi></p>` : null}
      <p class="unprinted"><a href="${pdfHref}">Download as PDF</a></p>`,
  });
}

function fact(name: string, value: string): Html {
  return html`<div>
    <dt>${name}</dt>
    <dd><bdi>${value}</bdi></dd>
  </div>`;
}

function linesOf(invoice: Invoice, wording: InvoiceWording): Html {
  const sum = (name: string, cents: number) =>
    html`<tr>
      <th scope="row">${name}</th>
      <td class="amount">${amountOf(invoice, cents)}</td>
    </tr>`;
  return html`<table>
    <thead>
      <tr>
        <th scope="col">For</th>
        <th scope="col" class="amount">Amount</th>
      </tr>
    </thead>
    <tbody>
      ${invoice.lines.map(
        (line) =>
          html`<tr>
            <td><bdi>${line.description}</bdi><span class="status">${spanOf(line)}</span></td>
            <td class="amount">${amountOf(invoice, line.amountCents)}</td>
          </tr>`,
      )}
    </tbody>
    <tfoot>
      ${sum('Subtotal', invoice.subtotalCents)} ${sum(taxText(invoice, wording), invoice.taxCents)}
      ${sum('Total', invoice.amountCents)}
    </tfoot>
  </table>`;
}

function signOf(invoice: Invoice, now: Date): Html {
  if (invoice.status === 'PAID') return signs.done;
  if (invoice.status === 'UNCOLLECTIBLE' || isOverdue(invoice, now)) return signs.late;
  return invoice.status === 'VOID' ? signs.lost : signs.letter;
}
