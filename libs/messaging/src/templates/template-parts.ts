import { matchLocale } from '#kernel';
import {
  type Faults,
  MAX_BLOCKS,
  MAX_LENGTH,
  parseContentDocument,
  parseTemplateDocument,
  type TemplateBlock,
  type TemplateBlocks,
} from '../content/document/content-document.js';
import { inLanguages, pathOf } from '../content/document/translated-content.js';
import { handlebarsFault } from '../content/merge/handlebars-tags.js';
import {
  type TemplateKind,
  type TemplateVariable,
  variableFaults,
} from '../content/merge/template-variables.js';
import type { ResolvedContent, Template, TemplateContent, TemplateTranslation } from './template.js';

/** Partials inside each other, the layout counted. */
const MAX_DEPTH = 5;
const MAX_PARTIALS = 200;
/** Characters of the documents of all languages with layout and partials put in. */
const MAX_RESOLVED = 5_000_000;

/** A template that others name. */
export interface Part extends Pick<Template, 'id' | 'templateKey' | 'kind'> {
  readonly isPublished: boolean;
  readonly content: TemplateContent;
}

type Page = { readonly html: string } | { readonly mjml: string };
type TemplateDocument = TemplateBlocks | Page;

const showsFiles = (kind: TemplateKind): boolean => kind === 'MESSAGE' || kind === 'PARTIAL';

/** The parts of a template that can name others. */
type NamingContent = Pick<TemplateContent, 'contentJson' | 'layout' | 'translations'>;

/** The documents of a template by the beginning of their paths. */
function documentsOf(content: NamingContent): readonly (readonly [string, string])[] {
  return inLanguages(content).flatMap(([locale, { contentJson }]) =>
    contentJson === null ? [] : [[pathOf(locale), contentJson] as const],
  );
}

const inColumns = (block: TemplateBlock) =>
  block.type === 'columns' ? block.columns.flatMap(({ blocks }) => blocks) : [];

const placesIn = (document: TemplateDocument): number =>
  'blocks' in document ? document.blocks.filter(({ type }) => type === 'content').length : 0;

/** Faults of a draft that it has by itself, by path. */
export function draftFaults(kind: TemplateKind, content: TemplateContent): Faults {
  const faults: Record<string, string> = { ...variableFaults(content.variables) };
  if (content.purpose !== null && kind !== 'MESSAGE') faults['purpose'] = 'is for templates of kind MESSAGE';
  if (content.variables.length > 0 && (kind === 'CAMPAIGN' || kind === 'OPT_IN'))
    faults['variables'] = 'are for templates of kind MESSAGE and PARTIAL: other mail gets no data';
  if (kind === 'PARTIAL') Object.assign(faults, faultsOfPartial(content));
  else
    for (const [locale, { subject }] of Object.entries(content.translations))
      if (subject === null) faults[`${pathOf(locale)}subject`] = 'is required';
  for (const [locale, texts] of inLanguages(content))
    for (const part of ['subject', 'previewText', 'contentText'] as const) {
      const fault = handlebarsFault(texts[part] ?? '');
      if (fault !== null) faults[`${pathOf(locale)}${part}`] ??= fault;
    }
  let places: number | null = null;
  for (const [prefix, json] of documentsOf(content)) {
    const { document, errors = {} } = parseTemplateDocument(json, showsFiles(kind));
    if (document !== undefined) places ??= placesIn(document);
    const found =
      document === undefined
        ? errors
        : faultsOfDocument(document, { kind, hasLayout: content.layout !== null, places: places ?? 0 });
    for (const [path, fault] of Object.entries(found)) faults[`${prefix}${path}`] ??= fault;
  }
  return faults;
}

function faultsOfPartial(content: TemplateContent): Faults {
  const faults: Record<string, string> = {};
  if (content.layout !== null) faults['layout'] = 'is not for a PARTIAL';
  for (const [locale, texts] of inLanguages(content))
    for (const part of ['subject', 'previewText', 'contentText'] as const)
      if (texts[part] !== null)
        faults[`${pathOf(locale)}${part}`] = 'is not for a PARTIAL, which has contentJson alone';
  return faults;
}

function faultsOfDocument(
  document: TemplateDocument,
  {
    kind,
    hasLayout,
    places,
  }: { readonly kind: TemplateKind; readonly hasLayout: boolean; readonly places: number },
): Faults {
  if (!('blocks' in document)) {
    const form = 'html' in document ? 'html' : 'mjml';
    if (kind === 'PARTIAL') return { [form]: 'is not for a PARTIAL, which has contentJson with blocks' };
    return hasLayout ? { [form]: 'cannot be put into a layout: give contentJson with blocks' } : {};
  }
  const faults: Record<string, string> = {};
  const own = placesIn(document);
  for (const [index, { type }] of document.blocks.entries()) {
    const path = `contentJson.blocks[${index}]`;
    if (type === 'content' && kind !== 'PARTIAL')
      faults[path] = 'is the place in a layout, which is a PARTIAL';
    else if (type === 'content' && own > 1) faults[path] = 'must be the only content block';
  }
  if (kind === 'PARTIAL' && own !== places && own < 2)
    faults['contentJson.blocks'] =
      'must hold a content block where contentJson does, and none where it does not';
  if (kind === 'PARTIAL' && own === 0 && document.theme !== undefined)
    faults['contentJson.theme'] = 'is for layouts, which have a content block';
  return faults;
}

/** The keys that a template names itself: its layout and the partials in its documents. */
export function keysIn(content: NamingContent): readonly string[] {
  const blocks = documentsOf(content).flatMap(([, json]) => {
    const document = JSON.parse(json) as TemplateDocument;
    return 'blocks' in document ? document.blocks : [];
  });
  const keys = blocks
    .flatMap((block) => [block, ...inColumns(block)])
    .flatMap((block) => (block.type === 'partial' ? [block.templateKey] : []));
  return [...new Set([...(content.layout === null ? [] : [content.layout]), ...keys])];
}

export interface Resolved {
  readonly content: ResolvedContent;
  /** Keyed by the path of the template that was resolved. */
  readonly faults: Faults;
  /** The same for parts that are not published. */
  readonly unpublished: Faults;
}

/** Bounds of one document as it is put together. */
interface Assembly {
  readonly locale: string | null;
  readonly prefix: string;
  blocks: number;
  partials: number;
}

/** Puts layouts and partials into templates. */
export class TemplateResolver {
  #faults: Record<string, string> = {};
  #unpublished: Record<string, string> = {};
  #used = new Map<string, Part>();

  /** `parts` by key: all that the templates name, directly or not. */
  constructor(private readonly parts: ReadonlyMap<string, Part>) {}

  resolve({ templateKey, kind, content }: Pick<Part, 'templateKey' | 'kind' | 'content'>): Resolved {
    this.#faults = {};
    this.#unpublished = {};
    this.#used = new Map();
    const { layout, ...own } = content;
    const documents = new Map(documentsOf(content));
    const isOfParts = keysIn(content).length > 0;
    /** `writtenIn`: the language whose document it is. */
    const assemble = (json: string | null, locale: string | null, writtenIn = locale): string | null =>
      json === null
        ? null
        : this.#document({ templateKey, kind, layout }, json, {
            prefix: pathOf(writtenIn),
            locale,
            blocks: 0,
            partials: 0,
          });
    if (layout !== null && !documents.has(''))
      this.#faults['contentJson'] = 'is required for what is put into a layout';
    const contentJson = assemble(own.contentJson, null);
    const translations = Object.entries(own.translations).map(
      ([locale, other]): [string, TemplateTranslation] => {
        if (other.contentJson !== null)
          return [locale, { ...other, contentJson: assemble(other.contentJson, locale) }];
        if (other.contentText !== null || !isOfParts) return [locale, other];
        // It says the template's own content, with the partials of its language.
        const { previewText, contentText } = own;
        const ofLanguage = assemble(own.contentJson, locale, null);
        return [
          locale,
          { ...other, previewText: other.previewText ?? previewText, contentJson: ofLanguage, contentText },
        ];
      },
    );
    const size = [contentJson, ...translations.map(([, other]) => other.contentJson)].reduce(
      (sum, json) => sum + (json?.length ?? 0),
      0,
    );
    if (isOfParts && size > MAX_RESOLVED)
      this.#faults['contentJson'] =
        `becomes more than ${MAX_RESOLVED} characters with layout and partials in all languages`;
    return {
      content: {
        ...own,
        contentJson,
        translations: Object.fromEntries(translations),
        variables: kind === 'MESSAGE' || kind === 'PARTIAL' ? this.#variables(own.variables) : [],
      },
      faults: this.#faults,
      unpublished: this.#unpublished,
    };
  }

  #document(
    { templateKey, kind, layout }: Pick<Part, 'templateKey' | 'kind'> & { readonly layout: string | null },
    json: string,
    assembly: Assembly,
  ): string {
    const document = JSON.parse(json) as TemplateDocument;
    if (!('blocks' in document)) return json;
    if (keysIn({ contentJson: json, layout, translations: {} }).length === 0 && placesIn(document) === 0)
      return json;
    const { prefix, locale } = assembly;
    const inner = this.#expanded(document.blocks, [templateKey], assembly, null);
    const around = layout === null ? null : this.#part(layout, 'layout', [templateKey]);
    let { blocks, theme } = { blocks: inner, theme: document.theme };
    if (around !== null && layout !== null) {
      const outer = documentIn(around, locale);
      if (placesIn(outer) === 0) this.#faults['layout'] = `is ${layout}, which has no content block`;
      blocks = this.#expanded(outer.blocks, [templateKey, layout], assembly, 'layout').flatMap((block) =>
        block.type === 'content' ? inner : [block],
      );
      if (outer.theme !== undefined) theme = { ...outer.theme, ...theme };
    }
    blocks = blocks.filter(({ type }) => type !== 'content');
    const whole = JSON.stringify({ blocks, ...(theme !== undefined && { theme }) });
    if (whole.length > MAX_LENGTH)
      this.#faults[`${prefix}contentJson`] ??=
        `becomes more than ${MAX_LENGTH} characters with layout and partials`;
    const [[path, fault] = []] = Object.entries(parseContentDocument(whole, showsFiles(kind)).errors ?? {});
    if (path !== undefined)
      this.#faults[`${prefix}contentJson`] ??= `has with layout and partials a fault: ${path} ${fault}`;
    return whole;
  }

  /** @param at path for faults of what a part names; null: the place in the template itself */
  #expanded(
    blocks: readonly TemplateBlock[],
    chain: readonly string[],
    assembly: Assembly,
    at: string | null,
    path = 'contentJson.blocks',
  ): TemplateBlock[] {
    return blocks.flatMap((block, index): TemplateBlock[] => {
      const place = at ?? `${assembly.prefix}${path}[${index}]`;
      if (block.type === 'columns') {
        const columns = block.columns.map((column, number) => {
          const inside = `${path}[${index}].columns[${number}].blocks`;
          return {
            blocks: this.#expanded(column.blocks, chain, assembly, at, inside) as typeof column.blocks,
          };
        });
        return [{ ...block, columns }];
      }
      if (block.type !== 'partial') {
        assembly.blocks += 1;
        return [block];
      }
      assembly.partials += 1;
      if (assembly.blocks > MAX_BLOCKS || assembly.partials > MAX_PARTIALS) {
        this.#faults[`${assembly.prefix}contentJson`] ??=
          `has with layout and partials more than ${MAX_BLOCKS} blocks or ${MAX_PARTIALS} partials`;
        return [];
      }
      const where = at ?? `${place}.templateKey`;
      const part = this.#part(block.templateKey, where, chain);
      if (part === null) return [];
      const document = documentIn(part, assembly.locale);
      if (placesIn(document) > 0) this.#faults[where] ??= `${named(block.templateKey, chain)} is a layout`;
      return this.#expanded(document.blocks, [...chain, block.templateKey], assembly, where);
    });
  }

  /** A part that can stand there; null, with the fault noted, for another. */
  #part(key: string, where: string, chain: readonly string[]): Part | null {
    const part = this.parts.get(key);
    const refuse = (words: string): null => {
      this.#faults[where] ??= `${named(key, chain)} ${words}`;
      return null;
    };
    if (chain.includes(key)) {
      this.#faults[where] ??= `names itself: ${[...chain, key].join(' → ')}`;
      return null;
    }
    if (part === undefined) return refuse('is no template');
    if (part.kind !== 'PARTIAL')
      return refuse(`is a ${part.kind}: only a PARTIAL can be put into another template`);
    if (chain.length > MAX_DEPTH)
      return refuse(`is more than ${MAX_DEPTH} partials deep: ${chain.join(' → ')}`);
    if (!part.isPublished) this.#unpublished[where] ??= `${named(key, chain)} is not published`;
    this.#used.set(key, part);
    return part;
  }

  /** The template's own declarations, and those of its parts behind them. */
  #variables(own: readonly TemplateVariable[]): readonly TemplateVariable[] {
    const all = new Map(own.map((variable) => [variable.name, { variable, key: '' }]));
    for (const [key, { content }] of this.#used)
      for (const variable of content.variables) {
        const known = all.get(variable.name);
        if (known === undefined) all.set(variable.name, { variable, key });
        else if (known.variable.type !== variable.type)
          this.#faults['variables'] ??=
            `has ${variable.name} as ${known.variable.type}${known.key === '' ? '' : ` in ${known.key}`}, and ${key} as ${variable.type}`;
      }
    const merged = [...all.values()].map(({ variable }) => variable);
    const [[, fault] = []] = Object.entries(variableFaults(merged));
    if (fault !== undefined && Object.keys(variableFaults(own)).length === 0)
      this.#faults['variables'] ??= `together with those of partials: ${fault}`;
    return merged;
  }
}

/** Part of a template that is not the first of a chain: `APIT-3 in APIT-2`. */
function named(key: string, chain: readonly string[]): string {
  return chain.length > 1 ? `${key} in ${chain.at(-1)}` : key;
}

function documentIn({ content: { contentJson, translations } }: Part, locale: string | null): TemplateBlocks {
  const language = matchLocale([locale], Object.keys(translations));
  const json = (language === null ? undefined : translations[language]?.contentJson) ?? contentJson;
  const document = json === null ? { blocks: [] } : (JSON.parse(json) as TemplateDocument);
  return 'blocks' in document ? document : { blocks: [] };
}
