import { z } from 'zod';
import { handlebarsFault } from '../merge/handlebars-tags.js';
import { isFileUrl, mergeUrlFault } from '../merge/merge-links.js';
import { MergeTagMask } from '../merge/merge-tags.js';
import { isRecord } from '../merge/template-variables.js';

/** Characters of a document; whole HTML may become longer in JSON. */
export const MAX_LENGTH = 1_300_000;
export const MAX_BLOCKS = 200;
const MAX_TEXT = 100_000;
const MAX_URL = 2_000;
const MAX_COLUMNS = 3;

/** Fault of a URL of the content, merge tags taken into account; null when it is fine. */
function urlFaultOf(url: string): string | null {
  try {
    return mergeUrlFault(new MergeTagMask().hide(url));
  } catch {
    return 'holds a merge tag that is not closed';
  }
}

const isImageSource = (url: string): boolean => /^\s*(?:https?:|\{\{)/i.test(url);

/** C0 but tabs and line breaks, DEL and C1 (ECMA-48): no reader sees them, and mail servers refuse NUL. */
const CONTROL_BUT_LAYOUT = /[^\P{Cc}\t\n\r]/u;

const words = (max: number) =>
  z
    .string()
    .max(max)
    .refine((value) => !CONTROL_BUT_LAYOUT.test(value), { error: 'must not contain control characters' })
    .refine((value) => value.isWellFormed(), { error: 'is not valid Unicode' })
    .superRefine((value, context) => {
      const fault = handlebarsFault(value);
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    });

const text = words(MAX_TEXT).min(1);
const urlWith = (faultOf: (url: string) => string | null) =>
  words(MAX_URL)
    .min(1)
    .superRefine((value, context) => {
      const fault = value === '' ? null : faultOf(value);
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    });
const url = urlWith(urlFaultOf);
const NO_IMAGE = 'must be an http or https URL, or begin with a merge tag';
const imageSource = urlWith((value) =>
  isFileUrl(value) ? null : (urlFaultOf(value) ?? (isImageSource(value) ? null : NO_IMAGE)),
);
const colour = z
  .string()
  .regex(/^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i, { error: 'must be a hex colour such as #0b57d0' });

const heading = z.strictObject({
  type: z.literal('heading'),
  level: z.int().min(1).max(3),
  text: words(1_000).min(1),
});
const textBlock = z.strictObject({ type: z.literal('text'), html: text });
const image = z.strictObject({
  type: z.literal('image'),
  src: imageSource,
  alt: words(1_000),
  href: url.optional(),
  width: z.int().min(1).max(900).optional(),
});
const button = z.strictObject({
  type: z.literal('button'),
  label: words(200).min(1),
  url,
  color: colour.optional(),
});
const divider = z.strictObject({ type: z.literal('divider') });
const spacer = z.strictObject({ type: z.literal('spacer'), height: z.int().min(1).max(500) });
const html = z.strictObject({ type: z.literal('html'), html: text });

const simpleBlocks = [heading, textBlock, image, button, divider, spacer, html] as const;
const simpleBlock = z.discriminatedUnion('type', simpleBlocks);

const columnsOf = <Block extends z.ZodType>(block: Block) =>
  z.strictObject({
    type: z.literal('columns'),
    columns: z
      .array(z.strictObject({ blocks: z.array(block) }))
      .min(2)
      .max(MAX_COLUMNS),
  });
const columns = columnsOf(simpleBlock);
/** Bytes of a whole page of HTML or of MJML: 512 KB. */
export const MAX_PAGE_BYTES = 512 * 1_024;
const page = words(MAX_PAGE_BYTES)
  .min(1)
  .refine((value) => Buffer.byteLength(value) <= MAX_PAGE_BYTES, {
    error: `must be at most ${MAX_PAGE_BYTES} bytes`,
  });

const mjmlSource = (source: z.ZodString) =>
  source
    .regex(/<mj-body[\s>]/, { error: 'must hold <mjml> with an <mj-body>' })
    .refine((value) => !isTooMuchStyle(value), {
      error: 'is too complex: its inlined style sheets hold too many rules for so many elements',
    });
const mjml = z.strictObject({ type: z.literal('mjml'), mjml: mjmlSource(text) });

const anyBlock = z.discriminatedUnion('type', [...simpleBlocks, columns, mjml]);

/** Key of a template as `access.next_key` makes it. */
export const TEMPLATE_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;
const partial = z.strictObject({
  type: z.literal('partial'),
  templateKey: z.string().regex(TEMPLATE_KEY, { error: 'must be the key of a template such as APIT-1' }),
});
/** The place in a layout for the content of those that have it. */
const contentPlace = z.strictObject({ type: z.literal('content') });
const templateSimpleBlocks = [...simpleBlocks, partial] as const;
const templateBlock = z.discriminatedUnion('type', [
  ...templateSimpleBlocks,
  columnsOf(z.discriminatedUnion('type', templateSimpleBlocks)),
  mjml,
  contentPlace,
]);

const theme = z.strictObject({
  fontFamily: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\p{L}\p{N} ,'"-]+$/u, { error: 'must be a list of font names' })
    .optional(),
  textColor: colour.optional(),
  backgroundColor: colour.optional(),
  linkColor: colour.optional(),
  width: z.int().min(320).max(900).optional(),
});

/** The one grammar of `contentJson`: blocks, or a whole page. */
const contentDocument = z.strictObject({ blocks: z.array(anyBlock), theme: theme.optional() });
const templateDocument = z.strictObject({ blocks: z.array(templateBlock), theme: theme.optional() });
const wholeHtml = z.strictObject({ html: page });
const wholeMjml = z.strictObject({ mjml: mjmlSource(page) });

export type SimpleBlock = z.output<typeof simpleBlock>;
export type ContentBlock = z.output<typeof anyBlock>;
export type ContentTheme = z.output<typeof theme>;
export type ContentBlocks = z.output<typeof contentDocument>;
/** The same in a template: partials, and a place for content, stand among them. */
export type TemplateBlocks = z.output<typeof templateDocument>;
export type TemplateBlock = TemplateBlocks['blocks'][number];
/** Blocks, or a whole page of HTML or MJML. */
export type ContentDocument = ContentBlocks | z.output<typeof wholeHtml> | z.output<typeof wholeMjml>;

const ROOT = 'contentJson';

/** The field in which a document was given: a whole page has its own. */
export function contentField(document: ContentDocument | undefined): 'contentJson' | 'html' | 'mjml' {
  if (document === undefined || 'blocks' in document) return ROOT;
  return 'html' in document ? 'html' : 'mjml';
}

/** Faults of content, by their paths. */
export type Faults = Readonly<Record<string, string>>;

/**
 * Reads the JSON text of a campaign's content. All faults come at once, keyed by their path
 * (`contentJson.blocks[2].level`, `html`, `mjml`); `contentJson` alone when the text is no JSON object.
 * @param showsFiles images may be files that go with the mail (`cid:`)
 */
export const parseContentDocument = (contentJson: string, showsFiles = false): Parsed<ContentDocument> =>
  parseDocument(contentJson, showsFiles, {
    blocks: contentDocument,
    simple: simpleBlocks,
    others: [columns, mjml],
  });

/** The same of a template, whose blocks may be partials. */
export const parseTemplateDocument = (
  contentJson: string,
  showsFiles = false,
): Parsed<Exclude<ContentDocument, ContentBlocks> | TemplateBlocks> =>
  parseDocument(contentJson, showsFiles, {
    blocks: templateDocument,
    simple: templateSimpleBlocks,
    others: [columns, mjml, contentPlace],
  });

type Parsed<Document> = { document: Document; errors?: never } | { errors: Faults; document?: never };

type BlockSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

interface Grammar<Blocks> {
  readonly blocks: z.ZodType<Blocks>;
  /** Blocks that may stand in columns, and those that may not. */
  readonly simple: readonly BlockSchema[];
  readonly others: readonly BlockSchema[];
}

function parseDocument<Blocks>(
  contentJson: string,
  showsFiles: boolean,
  grammar: Grammar<Blocks>,
): Parsed<Blocks | Exclude<ContentDocument, ContentBlocks>> {
  const message = messageBy(grammar);
  if (contentJson.length > MAX_LENGTH)
    return { errors: { [ROOT]: `must be at most ${MAX_LENGTH} characters` } };
  let value: unknown;
  try {
    value = JSON.parse(contentJson);
  } catch {
    return { errors: { [ROOT]: 'is not valid JSON' } };
  }
  if (!isRecord(value)) return { errors: { [ROOT]: 'must be an object' } };
  for (const [field, form] of [
    ['html', wholeHtml],
    ['mjml', wholeMjml],
  ] as const) {
    if (!(field in value) || 'blocks' in value) continue;
    const { data, error } = form.safeParse(value, { error: message, reportInput: true });
    return error === undefined ? { document: data } : { errors: faultsOf(error.issues, null) };
  }
  const result = grammar.blocks.safeParse(value, { error: message, reportInput: true });
  const errors = {
    ...arrangementFaults(value),
    ...(showsFiles ? {} : fileFaults(listOf(value['blocks']), `${ROOT}.blocks`)),
    ...(result.success ? {} : faultsOf(result.error.issues, ROOT)),
  };
  if (result.success && Object.keys(errors).length === 0) return { document: result.data };
  return { errors };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Rules that no single block can see: how many there are, and that `mjml` stands alone. */
function arrangementFaults(content: Readonly<Record<string, unknown>>): Faults {
  const faults: Record<string, string> = {};
  const blocks = listOf(content['blocks']);
  const nested = blocks.filter(isRecord).flatMap((block) => listOf(block['columns']));
  const count = nested
    .filter(isRecord)
    .reduce((sum, column) => sum + listOf(column['blocks']).length, blocks.length);
  if (count > MAX_BLOCKS) faults[`${ROOT}.blocks`] = `must hold at most ${MAX_BLOCKS} blocks`;
  for (const [index, block] of blocks.entries()) {
    if (blocks.length > 1 && isRecord(block) && block['type'] === 'mjml') {
      faults[`${ROOT}.blocks[${index}]`] = 'an mjml block must be the only block';
    }
  }
  return faults;
}

/** Images that are files of a mail which carries none. */
function fileFaults(blocks: readonly unknown[], path: string): Faults {
  const faults: Record<string, string> = {};
  for (const [index, block] of blocks.entries()) {
    if (!isRecord(block)) continue;
    const at = `${path}[${index}]`;
    if (block['type'] === 'image' && isFileUrl(String(block['src']))) faults[`${at}.src`] = NO_IMAGE;
    for (const [place, column] of listOf(block['columns']).entries())
      if (isRecord(column))
        Object.assign(faults, fileFaults(listOf(column['blocks']), `${at}.columns[${place}].blocks`));
  }
  return faults;
}

function faultsOf(issues: readonly z.core.$ZodIssue[], root: string | null): Faults {
  const faults: Record<string, string> = {};
  for (const issue of issues) {
    const names =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const name of names) faults[pathOf(name, root)] ??= issue.message;
  }
  return faults;
}

const pathOf = (path: readonly PropertyKey[], root: string | null): string =>
  path.reduce<string>(
    (name, key) =>
      typeof key === 'number' ? `${name}[${key}]` : `${name}${name === '' ? '' : '.'}${String(key)}`,
    root ?? '',
  );

const messageBy =
  (grammar: Pick<Grammar<unknown>, 'simple' | 'others'>) =>
  (issue: z.core.$ZodRawIssue): string => {
    switch (issue.code) {
      case 'invalid_type':
        return issue.input === undefined ? 'is required' : `must be ${nameOf(issue.expected)}`;
      case 'too_small':
        return limit('at least', Number(issue.minimum), issue.origin);
      case 'too_big':
        return limit('at most', Number(issue.maximum), issue.origin);
      case 'unrecognized_keys':
        return 'is not a known field';
      case 'invalid_union':
        return unionMessage(issue, grammar);
      default:
        return 'is not valid';
    }
  };

function unionMessage(
  issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>,
  { simple, others }: Pick<Grammar<unknown>, 'simple' | 'others'>,
): string {
  if (isRecord(issue.input) && issue.input['type'] === undefined) return 'is required';
  const depth = listOf(issue.path).filter((key) => key === 'blocks').length;
  const types = depth > 1 ? simple : [...simple, ...others];
  return `must be one of ${types.map((option) => option.shape.type.value).join(', ')}`;
}

function nameOf(type: string): string {
  if (type === 'int') return 'an integer';
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}

function limit(bound: string, value: number, origin: string): string {
  if (origin === 'string')
    return value === 1 && bound === 'at least' ? 'is required' : `must be ${bound} ${value} characters`;
  if (origin === 'array') return `must hold ${bound} ${value} entries`;
  return `must be ${bound} ${value}`;
}

/** Bound of inlining, in declarations that every element could get: 150 products with 40 rules of three come to 150 000. */
const MOST_WORK = 200_000;
/** Looks from one element at another that cost as much as a declaration. */
const LOOKS_IN_DECLARATION = 500;

/** Selectors that look at all siblings or descendants of an element: `:nth-child(2n)`, `:has(a)`, `a ~ b`. */
const LOOKING_ROUND = /~|:[\w-]+\(/g;

/** True when the sheets of an MJML source that are to be inlined are too much for its number of elements. */
export function isTooMuchStyle(source: string): boolean {
  const elements = countOf(source, /<[a-z]/gi);
  let work = 0;
  for (const sheet of inlinedSheets(source)) work += styleWork(sheet, elements);
  return work > MOST_WORK;
}

/** Read without an expression that spans a sheet: what is not closed would be read from every beginning again. */
function inlinedSheets(source: string): string[] {
  return source
    .split(/<mj-style(?=[\s>])/i)
    .slice(1)
    .filter((part) => /\binline\s*=/.test(part.slice(0, part.indexOf('>'))))
    .map((part) => part.slice(part.indexOf('>') + 1).split(/<\/mj-style/i, 1)[0] ?? '');
}

/** Cost of applying a style sheet to so many elements, in declarations that every one of them gets. */
export function styleWork(css: string, elements: number): number {
  let work = 0;
  for (const { selectors, declarations } of rulesOf(css)) {
    const most = countOf(selectors, /,/g) + 1;
    work += most * (countOf(declarations, /;/g) + 1) * elements;
    for (const selector of selectors.split(','))
      work += elements ** (countOf(selector, LOOKING_ROUND) + 1) / LOOKS_IN_DECLARATION;
  }
  return work;
}

/**
 * Rules as they follow each other, those in `@media` too. Cut at the braces, since an expression that looks for one would read
 * what holds none from every character again.
 */
function rulesOf(css: string): { readonly selectors: string; readonly declarations: string }[] {
  const parts = css.split('{');
  return parts.slice(1).map((part, index) => {
    const before = parts[index] ?? '';
    return {
      selectors: before.slice(before.lastIndexOf('}') + 1),
      declarations: part.split('}', 1)[0] ?? '',
    };
  });
}

const countOf = (css: string, pattern: RegExp): number => css.match(pattern)?.length ?? 0;
