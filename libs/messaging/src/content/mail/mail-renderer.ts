import { LRUCache } from 'lru-cache';
import { MergeTemplateError } from '../content.errors.js';
import type { MergeEscaping } from '../merge/merge-output.js';
import { compileMergeTemplate, compilePlainTemplate, type MergeTemplate } from '../merge/merge-template.js';
import type { MergeValues } from '../merge/merge-values.js';
import { encodeBody, type EncodedBody } from './body-encoding.js';

/** The parts of a mail: as templates, or as its recipient gets them. */
export interface MailParts {
  readonly subject: string;
  /** The sender's, in From. */
  readonly fromName: string;
  readonly html: string;
  readonly text: string;
}

/** Compiled parts of a mail. */
export type MailTemplates = Readonly<Record<keyof MailParts, MergeTemplate>>;

function templatesOf<Template>(
  { subject, fromName, html, text }: MailParts,
  compile: (source: string, escaping: MergeEscaping) => Template,
): Record<keyof MailParts, Template> {
  return {
    subject: compile(subject, 'header'),
    fromName: compile(fromName, 'header'),
    html: compile(html, 'html'),
    text: compile(text, 'none'),
  };
}

/** Bounds of a mail that is filled in and encoded within a millisecond or so. */
const MOST_SLOTS = 300;
const LONGEST_PLAIN = 256_000;

/**
 * Templates of a mail whose merge tags are plain and few: each recipient only fills their slots. Null where logic, length or
 * number of merge tags ask for a process of its own.
 */
export function plainTemplatesOf(parts: MailParts): MailTemplates | null {
  if (parts.html.length + parts.text.length > LONGEST_PLAIN) return null;
  const { subject, fromName, html, text } = templatesOf(parts, compilePlainTemplate);
  if (subject === null || fromName === null || html === null || text === null) return null;
  const plain = { subject, fromName, html, text };
  const slots = Object.values(plain).reduce((sum, part) => sum + (part.slots?.texts.length ?? Infinity), 0);
  return slots > MOST_SLOTS ? null : plain;
}

/** A mail's parts with logic in their merge tags, or too many of them; `key` names this content. */
export interface LogicParts extends MailParts {
  readonly key: string;
}

export interface RenderInput {
  readonly parts: LogicParts;
  /** Values of one recipient each. */
  readonly values: readonly MergeValues[];
  /** CPU time after which no further recipient's is begun. */
  readonly sliceMs: number;
}

/** The parts as a recipient gets them, as text and ready for the wire. */
export interface RenderedMail extends MailParts {
  readonly bodies: { readonly html: EncodedBody; readonly text: EncodedBody };
}

/** Mails of as many recipients as there was time for, at least one. */
export type RenderedBatch = readonly Rendered[];

type Rendered = RenderedMail | { readonly fault: string };

const KEPT = 4;
/** Characters of a part that is filled in. */
export const LONGEST_PART = 2_000_000;

/** Fills in mails with logic in their merge tags; keeps the templates that it parsed last. */
export class MailRenderer {
  readonly #parsed = new LRUCache<string, MailTemplates>({ max: KEPT });

  render({ parts, values, sliceMs }: RenderInput): RenderedBatch {
    const parsed = this.#parse(parts);
    const begun = cpuMs();
    const rendered: Rendered[] = [];
    for (const one of values) {
      rendered.push(renderOne(parsed, one));
      if (cpuMs() - begun >= sliceMs) break;
    }
    return rendered;
  }

  #parse(parts: LogicParts): MailTemplates {
    const known = this.#parsed.get(parts.key);
    if (known !== undefined) return known;
    const parsed = templatesOf(parts, compileMergeTemplate);
    this.#parsed.set(parts.key, parsed);
    return parsed;
  }
}

/** @throws {MergeTemplateError} */
export const filledIn = (
  { subject, fromName, html, text }: MailTemplates,
  values: MergeValues,
): MailParts => ({
  subject: subject.render(values),
  fromName: fromName.render(values),
  html: html.render(values),
  text: text.render(values),
});

function renderOne(parsed: MailTemplates, values: MergeValues): Rendered {
  try {
    const parts = filledIn(parsed, values);
    const { html, text } = parts;
    if (Math.max(html.length, text.length) > LONGEST_PART) return { fault: 'output limit exceeded' };
    const bodies = { html: asText(encodeBody(html)), text: asText(encodeBody(text)) };
    return { ...parts, bodies };
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

/** CPU time of this process so far. */
export const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
