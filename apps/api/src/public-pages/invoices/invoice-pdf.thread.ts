import { parentPort, workerData } from 'node:worker_threads';
import { Wording } from '#wording';
import { invoicePdf } from './invoice-pdf.js';
import type { InvoicePdfOrder, InvoicePdfResult } from './invoice.controller.js';

const { invoice, settings, locale, overrides, now } = workerData as InvoicePdfOrder;
const { pdf, unprintable } = await invoicePdf(invoice, settings, new Wording(locale, overrides), now);
const result: InvoicePdfResult = { pdf: new Uint8Array(pdf), unprintable };
parentPort?.postMessage(result, [result.pdf.buffer]);
