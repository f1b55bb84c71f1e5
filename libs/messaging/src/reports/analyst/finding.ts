export const SECTIONS = ['summary', 'worked', 'improve', 'recommendation'] as const;
export type Section = (typeof SECTIONS)[number];

/** What stands in a message's place: told by kind, so that each locale writes it in its own way. */
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

/** One sentence of a report: which message of the locale, and what it says. */
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
