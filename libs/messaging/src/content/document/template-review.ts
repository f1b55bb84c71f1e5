import { type CampaignContent, type CompiledContent } from './content-compiler.js';
import { lossesIn, MergeTemplateError } from '../content.errors.js';
import { compiledOrFaults } from './content-review.js';
import type { Faults } from './content-document.js';
import { inert, type MailFooter } from './mail-footer.js';
import { readableText, type SoughtLink } from './readable-text.js';
import { mapTexts, requiredDataIn, reviewMergeTags, tagsIn } from '../merge/merge-review.js';
import { compileMergeTemplate } from '../merge/merge-template.js';
import { addressAlone, type MergeValues, SAMPLE_VALUES } from '../merge/merge-values.js';
import {
  isDeclared,
  type TemplateKind,
  type TemplateVariable,
  type VariableType,
} from '../merge/template-variables.js';

/** A template in one language, with its layout and partials put in. */
export interface TemplateInput {
  readonly content: CampaignContent;
  readonly kind: TemplateKind;
  readonly variables: readonly TemplateVariable[];
  readonly customKeys: readonly string[];
  /** Its document as the author wrote it, in which faults are shown; null: none. */
  readonly written: string | null;
}

/** A value of `data` that merge tags show. */
export interface FoundVariable {
  /** Without `data.`. */
  readonly name: string;
  readonly type: VariableType;
  /** It is shown without a default. */
  readonly required: boolean;
  /** Names of what the items of a list have. */
  readonly items: readonly string[];
}

export interface TemplateReview {
  /** Keyed by the path of the template. */
  readonly faults: Faults;
  /** Pieces that no mail can carry: see `RemovedContent`. */
  readonly removed: readonly string[];
  readonly found: readonly FoundVariable[];
}

const NO_FOOTER: MailFooter = {
  senderName: '',
  postalAddress: '',
  color: null,
  isEmpty: true,
  hasNoView: true,
  locale: 'en',
  direction: 'ltr',
  words: {
    unsubscribe: '',
    preferences: '',
    view: '',
    unsubscribeLink: '',
    preferencesLink: '',
    viewLink: '',
  },
  privacy: { url: null, words: '', line: null, email: null, contact: null },
};

/** Reviews a template before it is used. Unbounded, like all here: only in a process of its own. */
export async function reviewTemplate(input: TemplateInput): Promise<TemplateReview> {
  const { content, kind } = input;
  const { subject, previewText, contentText } = content;
  const faults: Record<string, string> = {};
  const parts = { subject, previewText: previewText ?? '', contentText: contentText ?? '' };
  for (const [part, source] of Object.entries(parts)) addTagFaults(faults, part, source, input);
  // The HTML shows subject and preview too: a fault of theirs is reported for them alone.
  const sound = {
    ...content,
    subject: 'subject' in faults ? '' : subject,
    previewText: 'previewText' in faults ? null : previewText,
    contentText: 'contentText' in faults ? null : contentText,
  };
  const compiled = await compiledOrFaults(sound, NO_FOOTER);
  if ('faults' in compiled) {
    const found = foundVariables(Object.values(parts));
    for (const [path, fault] of Object.entries(compiled.faults)) faults[fieldOfTemplate(path)] = fault;
    return { faults, removed: [], found };
  }
  const { html, text, removed, isEmpty } = compiled;
  const field = fieldOfTemplate(compiled.field);
  if (content.contentJson !== null) addTagFaults(faults, field, html, input);
  if (isEmpty && kind !== 'PARTIAL' && !('contentText' in faults)) faults[field] ??= 'is empty';
  const losses = kind === 'CAMPAIGN' ? null : lossesIn(removed);
  if (losses !== null) faults[field] ??= losses;
  if (kind === 'OPT_IN') await addConfirmFaults(faults, field, { html, text });
  return { faults, removed, found: foundVariables([...Object.values(parts), html]) };
}

/** A message's `text` is the template's `contentText`. */
const fieldOfTemplate = (field: string): string => (field === 'text' ? 'contentText' : field);

/** Values that the mail which asks for a confirmation may show. */
const OF_OPT_IN = /^(?:subscriber\.email|links\.confirm|(?:project|topic)\.\w+)$/;
const CONFIRM = /\{\{-?\s*links\.confirm\b/;
const OF_DATA = /^data(?:\.|$)/;

/** As long, and of such letters, as a link that confirms: what a filter would change of that, it changes of this. */
const SAMPLE_CONFIRM = `https://mail.example/c/${'aB3-'.repeat(40)}Z`;
const SAMPLE_IN_WORDS = new RegExp(String.raw`(?<![\w/=&%~-])${SAMPLE_CONFIRM}(?!\.?[\w/%~-])`);
const SAMPLE_LINK: SoughtLink = {
  isTarget: (url) => url.split(/[?#]/, 1)[0] === SAMPLE_CONFIRM,
  isIn: (words) => SAMPLE_IN_WORDS.test(words),
};
/** The values that such a mail has, of a person who does not exist. */
const OPT_IN_VALUES: MergeValues = {
  ...SAMPLE_VALUES,
  subscriber: addressAlone(SAMPLE_VALUES.subscriber.email),
  links: { unsubscribe: '', preferences: '', view: '', confirm: SAMPLE_CONFIRM },
};

async function addConfirmFaults(
  faults: Record<string, string>,
  field: string,
  { html, text }: Pick<CompiledContent, 'html' | 'text'>,
): Promise<void> {
  const words = (source: string) =>
    `must show {{ links.confirm }}, the link that confirms${CONFIRM.test(source) ? ', as it is and where its reader sees it' : ''}`;
  if (!(await confirmsInHtml(html))) faults[field] ??= words(html);
  else if (!SAMPLE_LINK.isIn(filledIn(text, 'none') ?? '')) faults['contentText'] ??= words(text);
}

async function confirmsInHtml(html: string): Promise<boolean> {
  const mail = filledIn(html, 'html');
  if (mail === null) return false;
  const readable = await readableText(inert(mail), SAMPLE_LINK);
  return readable === null ? mail.includes(SAMPLE_CONFIRM) : readable.showsLink;
}

/** The part as somebody gets it; null where it cannot be filled in. */
function filledIn(source: string, escaping: 'html' | 'none'): string | null {
  try {
    return compileMergeTemplate(source, escaping).render(OPT_IN_VALUES);
  } catch (error) {
    if (error instanceof MergeTemplateError) return null;
    throw error;
  }
}

/** Adds what is wrong with the merge tags of a part, at the text that has it where the author's document shows that. */
function addTagFaults(
  faults: Record<string, string>,
  part: string,
  source: string,
  { kind, variables, customKeys, written }: TemplateInput,
): void {
  const message = kind === 'MESSAGE' ? { hasTopic: true } : null;
  const hasEvent = kind === 'CAMPAIGN' || kind === 'PARTIAL';
  const tags = reviewMergeTags(source, { customKeys, hasEvent, message });
  if (tags.unreadable !== null) {
    faults[part] ??= `has a merge tag that is wrong: ${tags.unreadable}`;
    return;
  }
  for (const name of new Set([...tags.unknown, ...tags.variables])) {
    const words = refusalOf(name, tags.unknown.includes(name), { kind, variables });
    if (words !== null) addFault(faults, placeOf(written, name, part), `has {{ ${name} }}, ${words}`);
  }
  if (tags.trialFault !== null)
    addFault(faults, part, `has merge tags that cannot be filled in: ${tags.trialFault}`);
}

function refusalOf(
  name: string,
  isUnknown: boolean,
  { kind, variables }: Pick<TemplateInput, 'kind' | 'variables'>,
): string | null {
  if (OF_DATA.test(name)) {
    if (kind === 'CAMPAIGN' || kind === 'OPT_IN') return 'which only messages have';
    return isDeclared(variables, name.slice('data.'.length)) ? null : 'which variables do not declare';
  }
  if (kind === 'OPT_IN')
    return OF_OPT_IN.test(name) ? null : 'which mail that asks for a confirmation does not have';
  if (!isUnknown || (kind === 'PARTIAL' && name === 'links.confirm')) return null;
  return kind === 'MESSAGE' ? 'which messages do not have' : 'which is not known';
}

function addFault(faults: Record<string, string>, path: string, words: string): void {
  const before = faults[path];
  if (before?.includes(words) !== true) faults[path] = before === undefined ? words : `${before}; ${words}`;
}

const OF_DOCUMENT = new Set(['contentJson', 'html', 'mjml']);

/** Path of the first text of the author's document whose merge tags name it; the part itself where none does. */
function placeOf(written: string | null, name: string, part: string): string {
  if (written === null || !OF_DOCUMENT.has(part)) return part;
  const named = new RegExp(String.raw`(?<![\w.])${name.replaceAll('.', String.raw`\s*\.\s*`)}(?![\w-])`);
  let place: string | null = null;
  mapTexts(JSON.parse(written), (text, path) => {
    if (place === null && tagsIn(text).some((tag) => named.test(tag)))
      place = path.startsWith('.blocks') ? `contentJson${path}` : path.slice(1);
    return text;
  });
  return place ?? part;
}

const DATA_PATH = /(?<![\w.])data((?:\s*\.\s*[A-Za-z_][\w-]*)+)/g;
const LOOP = /^\{%-?\s*for\s+([\w-]+)\s+in\s+data((?:\s*\.\s*[A-Za-z_][\w-]*)+)/;
const CONDITION = /^\{%-?\s*(?:if|elsif|unless)\b/;
const COMPARISON = /[=<>]|\bcontains\b/;
const OF_DATES = /\|\s*date\b/;
const OF_NUMBERS = /\|\s*(?:money|number|plus|minus|times|divided_by|modulo|round|ceil|floor|abs)\b/;

const pathIn = (dotted: string): string =>
  dotted
    .split('.')
    .slice(1)
    .map((name) => name.trim())
    .join('.')
    .replace(/\.(?:size|first|last)(?:\..*)?$/, '');

/** `["name"]`, with quotes as HTML may write them. */
const BRACKETS =
  /\[\s*(?:["']|&quot;|&apos;|&#0*3[49];)([A-Za-z_][\w-]*)(?:["']|&quot;|&apos;|&#0*3[49];)\s*\]/g;

/** The values of `data` that sources show, with the types that their merge tags suggest. */
export function foundVariables(written: readonly string[]): FoundVariable[] {
  const sources = written.map((source) => source.replaceAll(BRACKETS, '.$1'));
  const tags = sources.flatMap((source) => tagsIn(source));
  const types = new Map<string, VariableType>();
  const items = new Map<string, Set<string>>();
  const flags = new Set<string>();
  for (const tag of tags) {
    const [, item = '', list = ''] = LOOP.exec(tag) ?? [];
    if (item !== '') {
      types.set(pathIn(list), 'LIST');
      items.set(pathIn(list), namesOfItems(tags, item));
    }
    for (const [, dotted = ''] of tag.matchAll(DATA_PATH)) {
      const name = pathIn(dotted);
      const isFlag = CONDITION.test(tag) && !COMPARISON.test(tag);
      if (!types.has(name) && isFlag) flags.add(name);
      if (!isFlag && types.get(name) !== 'LIST') {
        const type = OF_DATES.test(tag) ? 'DATE' : OF_NUMBERS.test(tag) ? 'NUMBER' : 'STRING';
        if (type !== 'STRING' || !types.has(name)) types.set(name, type);
      }
    }
  }
  for (const name of flags) if (!types.has(name)) types.set(name, 'BOOLEAN');
  const required = new Set(requiredDataIn(sources));
  return [...types]
    .filter(([name]) => ![...types.keys()].some((other) => other.startsWith(`${name}.`)))
    .map(([name, type]) => ({
      name,
      type,
      required: required.has(name),
      items: [...(items.get(name) ?? [])],
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

function namesOfItems(tags: readonly string[], item: string): Set<string> {
  const shown = new RegExp(String.raw`(?<![\w.])${item}\s*\.\s*([A-Za-z_][\w-]*)`, 'g');
  return new Set(tags.flatMap((tag) => Array.from(tag.matchAll(shown), ([, name = '']) => name)));
}
