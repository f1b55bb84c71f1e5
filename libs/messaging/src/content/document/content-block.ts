import { z } from 'zod';
import { MergeTagMask } from '../merge/merge-tags.js';
import { mergeUrlFault } from '../merge/merge-url.js';
import { isTooMuchStyle } from './style-work.js';

const MAX_TEXT = 100_000;
const MAX_URL = 2_000;
const MAX_COLUMNS = 3;

/** Why a URL of the content is refused, merge tags taken into account; null when it is fine. */
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
    .refine((value) => value.isWellFormed(), { error: 'is not valid Unicode' });

const text = words(MAX_TEXT).min(1);
const url = words(MAX_URL)
  .min(1)
  .superRefine((value, context) => {
    const fault = value === '' ? null : urlFaultOf(value);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
const imageSource = url.refine((value) => value === '' || isImageSource(value), {
  error: 'must be an http or https URL, or begin with a merge tag',
});
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

const columns = z.strictObject({
  type: z.literal('columns'),
  columns: z
    .array(z.strictObject({ blocks: z.array(simpleBlock) }))
    .min(2)
    .max(MAX_COLUMNS),
});
const mjml = z.strictObject({
  type: z.literal('mjml'),
  mjml: text
    .regex(/<mj-body[\s>]/, { error: 'must hold <mjml> with an <mj-body>' })
    .refine((value) => !isTooMuchStyle(value), {
      error: 'is too complex: its inlined style sheets hold too many rules for so many elements',
    }),
});

const block = z.discriminatedUnion('type', [...simpleBlocks, columns, mjml]);

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

/** The one grammar of `contentJson`. */
export const contentDocument = z.strictObject({ blocks: z.array(block), theme: theme.optional() });

export const BLOCK_TYPES: readonly string[] = [...simpleBlocks, columns, mjml].map(
  (option) => option.shape.type.value,
);

export const SIMPLE_BLOCK_TYPES: readonly string[] = simpleBlocks.map((option) => option.shape.type.value);

export type SimpleBlock = z.output<typeof simpleBlock>;
export type ContentBlock = z.output<typeof block>;
export type ContentTheme = z.output<typeof theme>;
export type ContentDocument = z.output<typeof contentDocument>;
