import { z } from 'zod';

export const SECTIONS = ['summary', 'worked', 'improve', 'recommendation'] as const;
export type Section = (typeof SECTIONS)[number];

/** Value in a message's place, with its kind, so that each locale writes it in its own way. */
export type Value =
  | { readonly kind: 'count'; readonly value: number }
  /** 0–1, written as a percentage. */
  | { readonly kind: 'share'; readonly value: number }
  /** 0–24, written as a time of day. */
  | { readonly kind: 'hour'; readonly value: number }
  /** Somebody's words. */
  | { readonly kind: 'quote'; readonly value: string }
  /** A web address or a host name. */
  | { readonly kind: 'address'; readonly value: string }
  /** Another message, such as the name of a rate. */
  | { readonly kind: 'message'; readonly value: string };

/** One sentence of a report: a message of the locale, and its values. */
export interface Finding {
  readonly section: Section;
  readonly message: string;
  readonly values: Readonly<Record<string, Value>>;
}

export const count = (value: number): Value => ({ kind: 'count', value });
export const share = (value: number): Value => ({ kind: 'share', value });
export const hour = (value: number): Value => ({ kind: 'hour', value });
export const quote = (value: string): Value => ({ kind: 'quote', value });
export const address = (value: string): Value => ({ kind: 'address', value });
export const named = (value: string): Value => ({ kind: 'message', value });

export function finding(section: Section, message: string, values: Finding['values'] = {}): Finding {
  return { section, message, values };
}

const plural = z
  .object({
    /** The value whose number decides the form. */
    by: z.string(),
    zero: z.string().optional(),
    one: z.string().optional(),
    two: z.string().optional(),
    few: z.string().optional(),
    many: z.string().optional(),
    other: z.string(),
  })
  .strict();

const reportMessages = z.record(z.string(), z.union([z.string(), plural]));

/** The texts of one locale, by name; a text that depends on a number has a form for each category of the language. */
export type ReportMessages = z.output<typeof reportMessages>;

/** A locale that reports can be written in. */
export interface ReportLocale {
  /** BCP 47, such as `en` or `pt-BR`. */
  readonly tag: string;
  readonly messages: ReportMessages;
}

/** Reads a file of messages. Throws a `z.ZodError` when it is none. */
export function parseReportMessages(json: string): ReportMessages {
  return reportMessages.parse(JSON.parse(json));
}

const PLACEHOLDER = /\{(\w+)\}/g;

/** The names of the values that a message has places for, in all of its forms. */
export function placeholdersOf(message: ReportMessages[string]): Set<string> {
  const forms = typeof message === 'string' ? [message] : Object.values(message);
  return new Set(forms.flatMap((form) => [...form.matchAll(PLACEHOLDER)].map(([, name = '']) => name)));
}

/** The message with its places filled; `numberOf` gives the number of a value for the plural. */
function fillMessage(
  locale: ReportLocale,
  name: string,
  written: (value: string) => string,
  numberOf: (value: string) => number,
): string {
  const message = locale.messages[name];
  if (message === undefined) throw new Error(`The locale ${locale.tag} has no message ${name}.`);
  return formOf(locale, message, numberOf).replaceAll(PLACEHOLDER, (_all, value: string) => written(value));
}

function formOf(
  { tag }: ReportLocale,
  message: ReportMessages[string],
  numberOf: (value: string) => number,
): string {
  if (typeof message === 'string') return message;
  const category = new Intl.PluralRules(tag).select(numberOf(message.by));
  return message[category] ?? message.other;
}

const LONGEST_QUOTE = 100;
const LONGEST_ADDRESS = 120;

/** Below one percent, one decimal would hide what there is to see. */
const SMALL_SHARE = 0.01;

/** The report as Markdown: a heading for each section, and in each a list, or a sentence that says that it is empty. */
export function reportText(findings: readonly Finding[], locale: ReportLocale): string {
  return `${SECTIONS.map((section) => sectionText(section, findings, locale)).join('\n\n')}\n`;
}

function sectionText(section: Section, findings: readonly Finding[], locale: ReportLocale): string {
  const sentences = findings.filter((one) => one.section === section).map((one) => sentence(one, locale));
  const heading = `## ${messageText(locale, `section.${section}`)}`;
  if (sentences.length === 0) return `${heading}\n\n${messageText(locale, 'nothing')}`;
  const isList = section !== 'recommendation';
  return `${heading}\n\n${sentences.map((text) => (isList ? `- ${text}` : text)).join('\n')}`;
}

function sentence({ message, values }: Finding, locale: ReportLocale): string {
  const valueOf = (name: string): Value => {
    const value = values[name];
    if (value === undefined)
      throw new Error(`The message ${message} has a place for ${name}, which it is not given.`);
    return value;
  };
  return fillMessage(
    locale,
    message,
    (name) => writtenValue(valueOf(name), locale),
    (name) => Number(valueOf(name).value),
  );
}

function messageText(locale: ReportLocale, name: string): string {
  return fillMessage(
    locale,
    name,
    (value) => value,
    () => 0,
  );
}

/** As the locale writes it: `12,345`, `24.3%`, `09:00`. */
export function writtenValue(value: Value, locale: ReportLocale): string {
  switch (value.kind) {
    case 'count':
      return new Intl.NumberFormat(locale.tag).format(value.value);
    case 'share':
      return new Intl.NumberFormat(locale.tag, {
        style: 'percent',
        maximumFractionDigits: value.value < SMALL_SHARE ? 2 : 1,
      }).format(value.value);
    case 'hour':
      return `${String(value.value % 24).padStart(2, '0')}:00`;
    case 'quote':
      return `“${plainText(value.value, LONGEST_QUOTE)}”`;
    case 'address':
      return codeSpan(value.value, LONGEST_ADDRESS);
    case 'message':
      return messageText(locale, value.value);
  }
}

/** Somebody's words inside a sentence of Markdown: one line, at most `longest` characters, without any mark-up. */
export function plainText(text: string, longest: number): string {
  return shortened(oneLine(text), longest).replaceAll(/[\\`*_[\]<>&~|#!]/g, String.raw`\$&`);
}

/** Text shown as it is, as code: nothing in it is mark-up, and no renderer makes a link of it. */
export function codeSpan(text: string, longest: number): string {
  return `\`${shortened(oneLine(text), longest).replaceAll('`', '%60')}\``;
}

/**
 * Markdown that a model wrote, made harmless: no HTML, no links and no images (their texts stay), no control characters,
 * at most `longest` characters, cut at the end of a line. An empty string when nothing is left.
 */
export function harmlessMarkdown(text: string, longest: number): string {
  const plain = text
    .replaceAll(/<(script|style)\b.*?<\/\1\s*>/gis, '')
    .replaceAll(/<[a-z!/?][^>]*>/gi, '')
    .replaceAll('<', '&lt;')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n]/gu, '')
    .replaceAll(/^ {0,3}\[[^\]]*\]:.*$/gm, '')
    .replaceAll(/!?\[([^\]]*)\]\s?(?:\([^)]*\)|\[[^\]]*\])/g, '$1')
    .replaceAll(/(?:(?:https?|ftp):\/\/|\b(?:javascript|data|vbscript|file|mailto):|\bwww\.)\S*/gi, '')
    // The removals may have put a link together (CommonMark 6.3: nothing may stand between).
    .replaceAll(/\](?=[([:])/g, '] ')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
  return cutAtLine(plain, longest);
}

function cutAtLine(text: string, longest: number): string {
  if (text.length <= longest) return text;
  const cut = text.slice(0, longest);
  const end = cut.lastIndexOf('\n');
  return (end > 0 ? cut.slice(0, end) : cut).trimEnd();
}

function shortened(text: string, longest: number): string {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join('')}…`;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
}
