import { z } from 'zod';

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

/** Throws a `z.ZodError` when it is not what a file of messages holds. */
export function parseReportMessages(json: string): ReportMessages {
  return reportMessages.parse(JSON.parse(json));
}

const PLACEHOLDER = /\{(\w+)\}/g;

/** The names of the values that a message has places for, in all of its forms. */
export function placeholdersOf(message: ReportMessages[string]): Set<string> {
  const forms = typeof message === 'string' ? [message] : Object.values(message);
  return new Set(forms.flatMap((form) => [...form.matchAll(PLACEHOLDER)].map(([, name = '']) => name)));
}

/** The message with its places filled; `numberOf` tells the number of a value for the plural. */
export function fillMessage(
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
