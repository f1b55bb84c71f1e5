import { MergeTemplateError } from '../content.errors.js';
import { type TemplatePiece, templatePieces } from './merge-tags.js';
import { compileMergeTemplate, compilePlainTemplate, type MergeTemplate } from './merge-template.js';
import { KNOWN_VARIABLES, SAMPLE_VALUES } from './merge-values.js';

/** Result of a look at the merge tags of one part of a mail. */
export type MergeReview =
  | { readonly unreadable: string }
  | {
      readonly unreadable: null;
      /** Dotted names of the values that it uses. */
      readonly variables: readonly string[];
      /** Names that no mail has a value for. */
      readonly unknown: readonly string[];
      /** Reason why nobody's values can be filled in. */
      readonly trialFault: string | null;
    };

/** Values that mails may show beside those of each project. */
export interface KnownValues {
  readonly customKeys: readonly string[];
  /** It belongs to an automation, whose runs an event may begin: any `event.…` is known. */
  readonly hasEvent?: boolean;
  /** It belongs to a message, which has data of its own: any `data.…` is known. Null for other mails. */
  readonly message?: MessageKind | null;
}

export interface MessageKind {
  /** It is a notification, which its reader can leave. */
  readonly hasTopic: boolean;
}

/** Values that mails to an audience have, and messages do not. */
const NOT_OF_MESSAGES = /^(?:campaign|topic|links|event)\b/;
const NOT_OF_NOTIFICATIONS = /^(?:campaign|links\.view|event)\b/;

const isStrange = (name: string, { hasTopic }: MessageKind): boolean =>
  (hasTopic ? NOT_OF_NOTIFICATIONS : NOT_OF_MESSAGES).test(name);

/** Reviews a part before anybody gets it. */
export function reviewMergeTags(source: string, { customKeys, ...of }: KnownValues): MergeReview {
  const { hasEvent = false, message = null } = of;
  const isOpen = (name: string) =>
    (hasEvent && OF_EVENT.test(name)) || (message !== null && OF_DATA.test(name));
  try {
    const template = compileMergeTemplate(source, 'none');
    const unknown = unknownVariables(template, customKeys).filter((name) => !isOpen(name));
    const strange = message === null ? [] : template.variables.filter((name) => isStrange(name, message));
    return {
      unreadable: null,
      variables: template.variables,
      unknown: [...new Set([...unknown, ...strange])],
      trialFault: trialFault(template),
    };
  } catch (error) {
    if (error instanceof MergeTemplateError) return { unreadable: error.message };
    throw error;
  }
}

/** The fault of a part's merge tags, in words for its author; null where there is none. */
export function tagFault(source: string, known: KnownValues): string | null {
  const tags = reviewMergeTags(source, known);
  if (tags.unreadable !== null) return `has a merge tag that is wrong: ${tags.unreadable}`;
  const [unknown] = tags.unknown;
  if (unknown !== undefined) return `has {{ ${unknown} }}, which ${lacked(unknown, known.message)}`;
  return tags.trialFault === null ? null : `has merge tags that cannot be filled in: ${tags.trialFault}`;
}

function lacked(name: string, message: MessageKind | null = null): string {
  if (message === null) return 'is not known';
  return isStrange(name, { hasTopic: false }) && !isStrange(name, { hasTopic: true })
    ? 'only messages with topicKey have'
    : 'messages do not have';
}

/**
 * The variables of a template that no delivery will ever fill, sorted: pre-send refuses them, since they
 * would silently come out empty. A third name (`custom.tags.size`) is one that texts and lists have.
 */
export function unknownVariables(
  template: Pick<MergeTemplate, 'variables'>,
  customKeys: readonly string[],
): string[] {
  const known = new Set([...KNOWN_VARIABLES, ...customKeys.map((key) => `custom.${key}`)]);
  const unknown = template.variables.filter((name) => {
    const [root, value, ...deeper] = name.split('.');
    return !known.has(`${root}.${value}`) || deeper.some((each) => !COMPUTED.has(each));
  });
  return [...new Set(unknown)].sort();
}

/** Fills a template in once: the error when its loops or filters exceed their bounds for everybody, else null. */
export function trialFault(template: MergeTemplate): string | null {
  try {
    template.render(SAMPLE_VALUES);
    return null;
  } catch (error) {
    if (error instanceof MergeTemplateError) return error.message;
    throw error;
  }
}

const OF_EVENT = /^event(?:\.|$)/;
const OF_DATA = /^data(?:\.|$)/;

/** A merge tag's path in an event's properties, and the text that has it. */
export interface EventPath {
  /** Path of the text inside of the content: `contentJson.blocks[0].html`. */
  readonly at: string;
  readonly names: readonly string[];
}

const EVENT_PATH = /(?<![\w.])event((?:\s*\.\s*[A-Za-z_][\w-]*)+)/g;
/** Liquid reads these from a list or text itself. */
const COMPUTED = new Set(['size', 'first', 'last']);

/** The paths in an event's properties that merge tags name, once each; those of a loop's items are its own. */
export function eventPathsIn(content: Readonly<Record<string, unknown>>): EventPath[] {
  const found = new Map<string, EventPath>();
  mapTexts(content, (text, path) => {
    for (const tag of tagsIn(text))
      for (const [, dotted = ''] of tag.matchAll(EVENT_PATH)) {
        const names = dotted
          .split('.')
          .slice(1)
          .map((name) => name.trim());
        const end = names.findIndex((name) => COMPUTED.has(name));
        const sought = end < 0 ? names : names.slice(0, end);
        const known = sought.join('.');
        if (known !== '' && !found.has(known)) found.set(known, { at: path.slice(1), names: sought });
      }
    return text;
  });
  return [...found.values()];
}

/** Result of a look at a message before it is accepted. */
export interface MessageReview {
  /** Field that the HTML is from, or `text`; where there are faults, they name theirs. */
  readonly field: string;
  /** Every fault by the field of the message. */
  readonly faults: Readonly<Record<string, string>>;
  /** Dotted paths in `data` that it shows without a default. */
  readonly requiredData: readonly string[];
  /** Dotted paths in `data` that it shows: an object there would be shown as nothing. Those behind filters only where all is plain. */
  readonly shownData: readonly string[];
  /** Content-IDs of the files that it shows (`cid:`). */
  readonly contentIds: readonly string[];
  /** Its parts where their merge tags have logic, which its data may make impossible; null where they are plain. */
  readonly logic: LogicSources | null;
}

/** Templates of the parts of a message. */
export type LogicSources = Readonly<Record<'subject' | 'html' | 'text', string>>;

/** Review of a message without content; of one with faults alone, when these are put in. */
export const EMPTY_REVIEW: MessageReview = {
  field: 'text',
  faults: {},
  requiredData: [],
  shownData: [],
  contentIds: [],
  logic: null,
};

export type KnownInMessage = MessageKind & Pick<KnownValues, 'customKeys'>;

/** Faults of the merge tags in parts of a message, by part. */
export function messageTagFaults(
  parts: Readonly<Record<string, string>>,
  { customKeys, hasTopic }: KnownInMessage,
): Record<string, string> {
  const faults = Object.entries(parts).map(
    ([part, source]) => [part, tagFault(source, { customKeys, message: { hasTopic } })] as const,
  );
  return Object.fromEntries(faults.filter((named): named is [string, string] => named[1] !== null));
}

/** Review of a message that is text alone; null where its merge tags have logic, for which there are processes. */
export function reviewPlainMessage(
  parts: Readonly<Record<'subject' | 'text', string>>,
  known: KnownInMessage,
): MessageReview | null {
  const sources = Object.values(parts);
  try {
    if (sources.some((source) => compilePlainTemplate(source, 'none') === null)) return null;
  } catch (error) {
    if (!(error instanceof MergeTemplateError)) throw error;
  }
  const faults = messageTagFaults(parts, known);
  const sound = Object.entries(parts).flatMap(([part, source]) => (part in faults ? [] : [source]));
  return {
    field: 'text',
    faults,
    requiredData: requiredDataIn(sound),
    shownData: shownDataIn(sound),
    contentIds: [],
    logic: null,
  };
}

/** Parts of a message, if their merge tags have logic. */
export const withLogic = (parts: LogicSources): LogicSources | null =>
  Object.values(parts).every(isPlain) ? null : parts;

const isPlain = (source: string): boolean => compilePlainTemplate(source, 'none') !== null;

const DATA_PATH = /(?<![\w.])data((?:\s*\.\s*[A-Za-z_][\w-]*)+)/g;
const HAS_DEFAULT = /\|\s*default\b/;
const LOOP = /^\{%-?\s*for\b/;

/**
 * The paths in a message's data that it cannot do without: shown without a default, or gone through by a loop; `order.id`. None in
 * a text whose merge tags are not closed.
 */
export function requiredDataIn(texts: readonly string[]): string[] {
  const pieces = texts.flatMap((text) => piecesIfClosed(text) ?? []);
  const needing = pieces.filter(
    ({ kind, source }) =>
      (kind === 'output' && !HAS_DEFAULT.test(source)) || (kind === 'tag' && LOOP.test(source)),
  );
  const paths = needing.flatMap(({ source }) =>
    [...source.matchAll(DATA_PATH)].map(([, dotted = '']) => {
      const names = namesIn(dotted);
      const end = names.findIndex((name) => COMPUTED.has(name));
      return (end < 0 ? names : names.slice(0, end)).join('.');
    }),
  );
  return distinctPaths(paths);
}

/** Names in `.order.id`, which may have blanks around its dots. */
function namesIn(dotted: string): string[] {
  return dotted
    .split('.')
    .slice(1)
    .map((name) => name.trim());
}

function distinctPaths(paths: readonly string[]): string[] {
  return [...new Set(paths)].filter((path) => path !== '').sort();
}

/** Outputs that show something to every reader. */
const ALWAYS_SHOWN = /\|\s*default\b|\b(?:campaign|project|topic)\s*\.|\bsubscriber\s*\.\s*email\b/;

/** True of a text that is nothing but values, none of which every reader has. */
export function mayBeEmpty(text: string): boolean {
  const pieces = piecesIfClosed(text) ?? [];
  const isShown = ({ kind, source }: TemplatePiece) =>
    kind === 'output' ? ALWAYS_SHOWN.test(source) : kind === 'text' && source.trim() !== '';
  return pieces.some(({ kind }) => kind === 'output') && !pieces.some(isShown);
}

/** True of a URL that begins with a value of its reader, which not every reader has. */
export function beginsWithReaderValue(url: string): boolean {
  const [first] = piecesIfClosed(url.trim()) ?? [];
  return (
    first?.kind === 'output' &&
    /\b(?:subscriber|custom)\b/.test(first.source) &&
    !ALWAYS_SHOWN.test(first.source)
  );
}

const SHOWN_AS_IT_IS = /^\{\{-?\s*data((?:\s*\.\s*[A-Za-z_][\w-]*)+)\s*(\|[^]*)?-?\}\}$/;

/** The paths in a message's data that are shown as they are, and behind filters where no tag decides what is shown; `order.id`. */
export function shownDataIn(texts: readonly string[]): string[] {
  const shown = texts.flatMap((text) => {
    const pieces = piecesIfClosed(text) ?? [];
    let plain: boolean | undefined;
    return pieces.flatMap(({ kind, source }) => {
      const [, dotted = '', filters] = (kind === 'output' && SHOWN_AS_IT_IS.exec(source)) || [];
      return filters === undefined || (plain ??= isPlain(text)) ? [namesIn(dotted).join('.')] : [];
    });
  });
  return distinctPaths(shown);
}

/** `custom.plan` and `custom["plan"]`, with quotes as HTML may write them. */
const CUSTOM = /\bcustom\s*(?:\.\s*(\w+)|\[\s*(?:["']|&quot;|&apos;|&#0*3[49];)(\w+))/g;

/** Content as its author wrote it: texts, and documents as JSON text. */
export interface WrittenContent {
  readonly texts: unknown;
  readonly documents: readonly string[];
}

/** The keys of the custom fields that merge tags name: also in a part that is never shown, or cannot be compiled yet. */
export function customKeysIn({ texts, documents }: WrittenContent): string[] {
  const keys = new Set<string>();
  mapTexts([texts, ...documents.map(parsed)], (text) => {
    for (const tag of tagsIn(text))
      for (const [, name, quoted] of tag.matchAll(CUSTOM)) keys.add(name ?? quoted ?? '');
    return text;
  });
  return [...keys];
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document) as unknown;
  } catch {
    return document;
  }
}

/** Merge tags of a text as written; the whole text where they are not closed. */
export function tagsIn(text: string): readonly string[] {
  const pieces = piecesIfClosed(text);
  return pieces?.flatMap(({ kind, source }) => (kind === 'text' ? [] : [source])) ?? [text];
}

function piecesIfClosed(text: string): readonly TemplatePiece[] | null {
  try {
    return templatePieces(text);
  } catch {
    return null;
  }
}

/** The body with each of its texts replaced by what `map` returns for it and its path behind `body`. */
export function mapTexts(body: unknown, map: (text: string, path: string) => unknown, path = ''): unknown {
  if (typeof body === 'string') return map(body, path);
  if (Array.isArray(body))
    return body.map((item: unknown, index) => mapTexts(item, map, `${path}[${index}]`));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, mapTexts(value, map, `${path}.${name}`)]),
  );
}

/** Faults of the merge tags in the body of an automation's webhook, by the path of the text. */
export function bodyFaults(body: unknown, customKeys: readonly string[]): Record<string, string> {
  const faults: Record<string, string> = {};
  mapTexts(body, (text, path) => {
    const fault = tagFault(text, { customKeys, hasEvent: true });
    if (fault !== null) faults[`body${path}`] = fault;
    return text;
  });
  return faults;
}
