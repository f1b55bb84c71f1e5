import { encodeBody, type EncodedBody } from '../mime/body-encoding.js';
import {
  compileMergeTemplate,
  type MergeTemplate,
  MergeTemplateError,
  type MergeValues,
} from '../merge/merge-template.js';

/** A mail's parts with logic in their merge tags, or too many of them. */
export interface LogicParts {
  /** Names this content. */
  readonly key: string;
  readonly subject: string;
  readonly fromName: string;
  readonly html: string;
  readonly text: string;
}

export interface RenderInput {
  readonly parts: LogicParts;
  /** Of one recipient each. */
  readonly values: readonly MergeValues[];
  /** CPU time after which no further recipient's is begun. */
  readonly sliceMs: number;
}

/** The parts as a recipient gets them, as text and ready for the wire. */
export interface RenderedMail {
  readonly subject: string;
  readonly fromName: string;
  readonly html: string;
  readonly bodies: { readonly html: EncodedBody; readonly text: EncodedBody };
  readonly text: string;
}

/** Of as many recipients as there was time for: at least one. */
export type RenderedBatch = readonly (RenderedMail | { readonly fault: string })[];

interface Parsed {
  readonly subject: MergeTemplate;
  readonly fromName: MergeTemplate;
  readonly html: MergeTemplate;
  readonly text: MergeTemplate;
}

const KEPT = 4;
const LONGEST_PART = 2_000_000;

/** Fills mails in whose merge tags hold logic; keeps what it parsed last. */
export class MailRenderer {
  readonly #parsed = new Map<string, Parsed>();

  render({ parts, values, sliceMs }: RenderInput): RenderedBatch {
    const parsed = this.#parse(parts);
    const begun = cpuMs();
    const rendered: (RenderedMail | { readonly fault: string })[] = [];
    for (const one of values) {
      rendered.push(renderOne(parsed, one));
      if (cpuMs() - begun >= sliceMs) break;
    }
    return rendered;
  }

  #parse({ key, subject, fromName, html, text }: LogicParts): Parsed {
    const known = this.#parsed.get(key);
    if (known !== undefined) return known;
    const parsed = {
      subject: compileMergeTemplate(subject, 'header'),
      fromName: compileMergeTemplate(fromName, 'header'),
      html: compileMergeTemplate(html, 'html'),
      text: compileMergeTemplate(text, 'none'),
    };
    for (const oldest of [...this.#parsed.keys()].slice(0, this.#parsed.size + 1 - KEPT))
      this.#parsed.delete(oldest);
    this.#parsed.set(key, parsed);
    return parsed;
  }
}

function renderOne(parsed: Parsed, values: MergeValues): RenderedMail | { readonly fault: string } {
  try {
    const subject = parsed.subject.render(values);
    const fromName = parsed.fromName.render(values);
    const html = parsed.html.render(values);
    const text = parsed.text.render(values);
    if (Math.max(html.length, text.length) > LONGEST_PART) return { fault: 'output limit exceeded' };
    return {
      subject,
      fromName,
      html,
      text,
      bodies: { html: asText(encodeBody(html)), text: asText(encodeBody(text)) },
    };
  } catch (error) {
    if (error instanceof MergeTemplateError) return { fault: error.message };
    throw error;
  }
}

/** Text crosses to another process at the cost of copying it. */
const asText = ({ encoding, content }: EncodedBody): EncodedBody => ({
  encoding,
  content: [
    content.map((octets) => (typeof octets === 'string' ? octets : octets.toString('latin1'))).join(''),
  ],
});

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
