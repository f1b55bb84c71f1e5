import { escapeHtml } from '#kernel';
import { templatePieces } from '../merge/merge-tags.js';

/** Sender as mails show it, and the words of their footer. */
export interface MailFooter {
  readonly senderName: string;
  readonly postalAddress: string;
  /** #rrggbb, of the project's buttons and links; null: ours. */
  readonly color: string | null;
  /** Adds nothing to a mail that nobody can leave: its author shows what is to be shown. */
  readonly isEmpty?: boolean;
  /** Adds no link to the mail on the web: there is no such page. */
  readonly hasNoView?: boolean;
  /** BCP 47, of the words. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly words: Readonly<Record<FooterLink | `${FooterLink}Link`, string>>;
  /** Addresses for questions about readers' data; each null where the sender names none. */
  readonly privacy: {
    /** https. */
    readonly url: string | null;
    /** Name of the link, and its line in a text. */
    readonly words: string;
    readonly line: string | null;
    readonly email: string | null;
    /** Line that names the e-mail address. */
    readonly contact: string | null;
  };
}

export type FooterLink = 'unsubscribe' | 'preferences' | 'view';
export type MailLink = Exclude<FooterLink, 'preferences'>;

export const LINK_TAGS: Readonly<Record<MailLink, RegExp>> = {
  unsubscribe: /^\{\{-?\s*links\.unsubscribe\s*(?:\|[^}]*)?-?\}\}/,
  view: /^\{\{-?\s*links\.view\s*(?:\|[^}]*)?-?\}\}/,
};

/** True when a text template shows `{{ links.<name> }}`. */
export const hasLinkInText = (text: string, name: MailLink): boolean =>
  templatePieces(text).some(({ kind, source }) => kind === 'output' && LINK_TAGS[name].test(source));

const ADDRESS_TAG = /^\{\{-?\s*project\.postal_address\s*(?:\|[^}]*)?-?\}\}/;

/** True when a text template shows the postal address. */
export function showsAddressInText(text: string, postalAddress: string): boolean {
  const pieces = templatePieces(text);
  if (pieces.some(({ kind, source }) => kind === 'output' && ADDRESS_TAG.test(source))) return true;
  const written = pieces.map(({ kind, source }) => (kind === 'text' ? source : ' ')).join('');
  const address = words(postalAddress);
  return address !== '' && ` ${words(written)} `.includes(` ${address} `);
}

/** Letters and digits alone: lines, commas and case may differ. */
const words = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

/** Links that a template lacks: a way to leave, and one to the mail on the web. */
export const missingLinks = (
  { hasNoView = false }: MailFooter,
  template: string,
  has: typeof hasLinkInText,
): readonly FooterLink[] => [
  ...(has(template, 'unsubscribe') ? [] : (['unsubscribe', 'preferences'] as const)),
  ...(hasNoView || has(template, 'view') ? [] : (['view'] as const)),
];

/** Without merge tags. */
export const inert = (text: string): string => text.replaceAll(/\{(?=[{%])/g, '{ ');

/** True when there is an address that a template does not show by itself. */
export const lacks = (template: string, shown: string | null, line: string | null): boolean =>
  shown !== null && line !== null && !template.includes(shown) && !template.includes(escapeHtml(shown));

function privacyText({ privacy }: MailFooter, template: string): string[] {
  const { url, line, email, contact } = privacy;
  const lines = [lacks(template, url, line) ? line : null, lacks(template, email, contact) ? contact : null];
  const said = lines.filter((each) => each !== null).map(inert);
  return said.length === 0 ? [] : [said.join('\n')];
}

/** A text template and below it what its footer adds. */
export function withFooterText(footer: MailFooter, template: string): string {
  const added = footerText(footer, template);
  return added === '' ? template : `${template.trimEnd()}\n\n--\n${added}\n`;
}

function footerText(footer: MailFooter, template: string): string {
  if (footer.isEmpty === true) return '';
  const sender = inert(`${footer.senderName}\n${footer.postalAddress}`).trim();
  const link = (name: FooterLink) =>
    inert(footer.words[`${name}Link`]).replace('{url}', () => `{{ links.${name} }}`);
  const missing = missingLinks(footer, template, hasLinkInText);
  return [
    ...(showsAddressInText(template, footer.postalAddress) ? [] : [sender]),
    ...(missing.length === 0 ? [] : [missing.map(link).join('\n')]),
    ...privacyText(footer, template),
  ].join('\n\n');
}
