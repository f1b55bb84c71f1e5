import { escapeHtml } from '#kernel';

/** Markup that is safe to send: only the `html` tag makes it. */
export class Html {
  readonly #markup: string;

  /** `literals` come from our source, `values` from anywhere. */
  constructor(literals: readonly string[], values: readonly HtmlValue[]) {
    this.#markup = literals.map((literal, index) => literal + markupOf(values[index])).join('');
  }

  toString(): string {
    return this.#markup;
  }
}

export type HtmlValue = string | number | Html | null | readonly HtmlValue[];

/**
 * A template that escapes all values, for text and for quoted attributes. Nested templates and lists of them are
 * inserted as they are, null as nothing. Strings are always escaped.
 */
export function html(literals: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(literals, values);
}

function markupOf(value: HtmlValue | undefined): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.map((item) => markupOf(item)).join('');
  return escapeHtml(String(value));
}
