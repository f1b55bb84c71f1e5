import {
  type BrandColours,
  BUTTON_CONTRAST,
  coloursOf,
  contrastRatio as contrastOf,
  escapeHtml,
  legibleOn,
  parseColour,
} from '#kernel';
import type { ContentBlock, ContentBlocks, ContentTheme, SimpleBlock } from './content-document.js';
import { type MarkupSanitizing, sanitizeBlockHtml, sanitizeInlineHtml } from './html-sanitizer.js';
import { withoutPlaceholders } from '../merge/merge-tags.js';
import { insertIntoHead, sanitizeMjml, styleComponents } from './mjml-sanitizer.js';
import type { Masking, Sanitizing } from './css-sanitizer.js';

/** Colours and sizes of a mail, complete. */
export interface Theme {
  readonly fontFamily: string;
  readonly textColor: string;
  readonly backgroundColor: string;
  readonly linkColor: string;
  readonly width: number;
  /** Fields that the author chose. */
  readonly chosen: ReadonlySet<string>;
  /** Colour of a button without one of its own. */
  readonly buttonColor: string;
  /** True when the author chose no colour, so that the dark variant may be ours too. */
  readonly followsReader: boolean;
  /** Colours of links and buttons in that variant. */
  readonly dark: BrandColours['dark'];
}

const DEFAULTS = {
  fontFamily: "-apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif",
  textColor: '#1f2933',
  backgroundColor: '#ffffff',
  width: 600,
};

/**
 * The theme of a document with its gaps filled. Links and buttons have the brand's colour, as on the project's pages, as far as
 * it can be read on the background (WCAG 1.4.3, 1.4.11); `brand` is #rrggbb, null for ours.
 */
export function themeOf(chosen: ContentTheme | undefined, brand: string | null = null): Theme {
  const colours = [chosen?.textColor, chosen?.backgroundColor, chosen?.linkColor];
  const given = Object.fromEntries(Object.entries(chosen ?? {}).filter(([, value]) => value !== undefined));
  const { light, dark } = coloursOf(brand === null ? null : parseColour(brand));
  const background = longHex(chosen?.backgroundColor ?? DEFAULTS.backgroundColor);
  const fields = new Set(Object.keys(given));
  return {
    ...DEFAULTS,
    linkColor: legibleOn(background, light.accent),
    buttonColor: chosen?.linkColor ?? legibleOn(background, light.accent, BUTTON_CONTRAST),
    ...given,
    chosen: fields,
    followsReader: colours.every((colour) => colour === undefined),
    dark,
  };
}

/** Contrast ratio of two hex colours, 1 to 21 (WCAG 2.2, relative luminance). */
export const contrastRatio = (one: string, other: string): number => contrastOf(longHex(one), longHex(other));

const longHex = (hex: string): string =>
  hex.length === 4 ? `#${hex.slice(1).replaceAll(/./g, '$&$&')}` : hex;

/** White or near-black, whichever reads better on the colour. */
export const readableOn = (background: string): string =>
  contrastRatio('#ffffff', background) >= contrastRatio('#111111', background) ? '#ffffff' : '#111111';

const darkCss = ({ accent, onAccent }: Theme['dark']): string => `@media (prefers-color-scheme: dark) {
  .mw-page, .mw-page > div { background-color: #16181c !important; }
  .mw-text div, .mw-text p, .mw-text li, .mw-text h1, .mw-text h2, .mw-text h3 { color: #f1f3f5 !important; }
  .mw-text a { color: ${accent} !important; }
  .mw-button td, .mw-button a { background-color: ${accent} !important; color: ${onAccent} !important; }
}`;

/** The look of plain elements for an author's own style sheets to change: they follow it in the head. */
const plainCss = (theme: Theme): string =>
  `p{margin:0 0 16px}ul,ol{margin:0 0 16px;padding:0 0 0 24px}h1,h2,h3{margin:0;line-height:1.25}a{color:${theme.linkColor}}`;

/** Rules that are inlined into the text blocks. */
export const textCss = (theme: Theme): string => `
.mw-text p { margin: 0 0 16px; }
.mw-text ul, .mw-text ol { margin: 0 0 16px; padding: 0 0 0 24px; }
[dir=rtl] .mw-text ul, [dir=rtl] .mw-text ol { padding: 0 24px 0 0; }
.mw-text h1, .mw-text h2, .mw-text h3 { margin: 0; line-height: 1.25; color: inherit; }
.mw-text a { color: ${theme.linkColor}; text-decoration: underline; }
.mw-html table[style*=padding] { border-collapse: separate; }
`;

const HEADING_SIZE = ['28px', '22px', '18px'];

const attributes = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${escapeHtml(value)}"`))
    .join('');

const text = (html: string, extra = ''): string => `<mj-text css-class="mw-text"${extra}>${html}</mj-text>`;

/** HTML with style sheets of its own, which rules of ours in its elements would outdo. */
const styledText = (html: string): string => `<mj-text css-class="mw-own">${html}</mj-text>`;

type Renderers = {
  [Type in SimpleBlock['type']]: (block: Extract<SimpleBlock, { type: Type }>, frame: BlockFrame) => string;
};

interface BlockFrame extends MarkupSanitizing {
  readonly theme: Theme;
  /** The author wrote style sheets, in this block or another. */
  readonly hasSheets: boolean;
}

const RENDERERS: Renderers = {
  heading: ({ level, text: words }, { mask }) =>
    text(
      `<h${level} style="font-size:${HEADING_SIZE[level - 1]}">${escapeHtml(mask.hideHtml(words))}</h${level}>`,
    ),
  text: ({ html }, frame) => text(sanitizeInlineHtml(frame.mask.hideHtml(html), frame)),
  html: ({ html }, frame) => {
    const clean = `<div class="mw-html">${sanitizeBlockHtml(frame.mask.hideHtml(html), frame)}</div>`;
    return frame.hasSheets ? styledText(clean) : text(clean);
  },
  image: ({ src, alt, href, width }, { mask }) =>
    `<mj-image${attributes({
      src: mask.hide(src.trim()),
      alt: mask.hideHtml(alt),
      href: href === undefined ? undefined : mask.hide(href.trim()),
      width: width === undefined ? undefined : `${width}px`,
    })}></mj-image>`,
  button: ({ label, url, color }, { theme, mask }) => {
    const background = color ?? theme.buttonColor;
    const look = {
      'css-class': color === undefined ? 'mw-button' : undefined,
      'background-color': background,
      color: readableOn(background),
    };
    return `<mj-button${attributes({ href: mask.hide(url.trim()), ...look })}>${escapeHtml(mask.hideHtml(label))}</mj-button>`;
  },
  divider: () => '<mj-divider></mj-divider>',
  // MJML's own spacer is a letter of no size, which filters look for in unwanted mail.
  spacer: ({ height }) =>
    `<mj-text padding="0" height="${height}px" line-height="${height}px">&nbsp;</mj-text>`,
};

function simpleBlock<Type extends SimpleBlock['type']>(
  block: Extract<SimpleBlock, { type: Type }>,
  frame: BlockFrame,
): string {
  return RENDERERS[block.type](block, frame);
}

const column = (blocks: readonly string[]): string => `<mj-column>${blocks.join('')}</mj-column>`;
const section = (columns: readonly string[]): string => `<mj-section>${columns.join('')}</mj-section>`;

type FrameAt = (path: string) => BlockFrame;

/** Sections of the body; neighbouring simple blocks share one, which keeps the mail small. */
function sections(blocks: readonly ContentBlock[], frameAt: FrameAt): string {
  const result: string[] = [];
  let run: string[] = [];
  const endRun = (): void => {
    if (run.length > 0) result.push(section([column(run)]));
    run = [];
  };
  for (const [index, block] of blocks.entries()) {
    const path = `contentJson.blocks[${index}]`;
    if (block.type === 'mjml') continue;
    if (block.type !== 'columns') {
      run.push(simpleBlock(block, frameAt(path)));
      continue;
    }
    endRun();
    const columns = block.columns.map(({ blocks: inner }, at) =>
      column(
        inner.map((innerBlock, place) =>
          simpleBlock(innerBlock, frameAt(`${path}.columns[${at}].blocks[${place}]`)),
        ),
      ),
    );
    result.push(section(columns));
  }
  endRun();
  return result.join('');
}

interface MjmlFrame {
  /** Masked and escaped already. */
  readonly title: string;
  readonly preview: string;
  /** BCP 47; null where it is not known: then none is claimed. */
  readonly language: string | null;
  readonly theme: Theme;
}

/** Characters that a list of mails shows of one at most. */
const PREVIEW_LENGTH = 150;

/** The preview, filled up with characters that show nothing: they keep the mail's first words out of lists of mails. */
function filled(preview: string): string {
  return preview + '&zwnj;&nbsp;'.repeat(Math.max(0, PREVIEW_LENGTH - withoutPlaceholders(preview).length));
}

/** The part of an MJML head that every mail gets. */
function head(frame: MjmlFrame): string {
  const preview = frame.preview === '' ? '' : `<mj-preview>${filled(frame.preview)}</mj-preview>`;
  return `<mj-title>${frame.title}</mj-title>${preview}`;
}

/** Style of the whole page by an author's style sheets. */
interface PageStyle {
  readonly sheets: readonly string[];
  /** They style `body` itself. */
  readonly isStyled: boolean;
}

function themedHead(frame: MjmlFrame, direction: TextDirection, page: PageStyle): string {
  const { theme } = frame;
  const start = direction === 'rtl' ? 'right' : 'left';
  const hasDarkLook = theme.followsReader || page.sheets.some((css) => DARK_RULE.test(css));
  const scheme = hasDarkLook ? 'light dark' : 'light';
  const inherits = (field: keyof Theme) => page.isStyled && !theme.chosen.has(field);
  const font = inherits('fontFamily') ? 'inherit' : escapeHtml(theme.fontFamily.replaceAll('"', "'"));
  const colour = inherits('textColor') ? 'inherit' : theme.textColor;
  const plain = page.sheets.length > 0 ? plainCss(theme) : '';
  const dark = theme.followsReader ? darkCss(theme.dark) : '';
  return `${head(frame)}<mj-raw><meta name="color-scheme" content="${scheme}"><meta name="supported-color-schemes" content="${scheme}"></mj-raw>
<mj-attributes><mj-all font-family="${font}"></mj-all>
<mj-section padding="0" direction="${direction}"></mj-section>
<mj-column direction="${direction}"></mj-column>
<mj-text align="${start}" color="${colour}" font-size="16px" line-height="1.5" padding="8px 24px"></mj-text>
<mj-image padding="8px 24px"></mj-image>
<mj-button font-size="16px" font-weight="600" border-radius="6px" inner-padding="14px 28px" padding="16px 24px" align="${start}"></mj-button>
<mj-divider border-color="#c4cbd4" border-width="1px" padding="16px 24px"></mj-divider></mj-attributes>
<mj-style>${NARROW}${dark}${plain}</mj-style>`;
}

const DARK_RULE = /prefers-color-scheme\s*:\s*dark/i;
const PAGE_RULE = /(?:^|[\s,{}])(?:body|html)\s*[,{]/i;

/** An author's wide tables and images fit a phone, or move by themselves: the mail never moves sideways. */
const NARROW = `@media only screen and (max-width:480px) {
  .mw-html { max-width: calc(100vw - 48px); overflow-x: auto; }
  .mw-html table { max-width: 100% !important; }
  .mw-html img { max-width: 100% !important; height: auto !important; }
}
`;

const languageOf = ({ language }: MjmlFrame): string => (language === null ? '' : ` lang="${language}"`);

/** Masked MJML source of a document, without its footer. */
export function documentMjml(
  document: ContentBlocks,
  frame: MjmlFrame,
  { mask, removed, showsFiles }: Masking,
): string {
  const [first] = document.blocks;
  if (first?.type === 'mjml')
    return authoredMjml(first.mjml, frame, {
      mask,
      removed: removed.at('contentJson.blocks[0].mjml'),
      showsFiles,
    });
  const sheets: string[] = [];
  const markup = markupOf(document);
  const hasSheets = markup.some((html) => /<style[\s>]/i.test(html));
  const body = sections(document.blocks, (path) => ({
    theme: frame.theme,
    mask,
    sheets,
    hasSheets,
    removed: removed.at(`${path}.html`),
    showsFiles,
  }));
  const hasOwnColours = [...markup, ...sheets].some((css) => COLOUR.test(css));
  const theme = { ...frame.theme, followsReader: frame.theme.followsReader && !hasOwnColours };
  const page = { sheets, isStyled: sheets.some((css) => PAGE_RULE.test(css)) };
  const background =
    page.isStyled && !theme.chosen.has('backgroundColor')
      ? ''
      : ` background-color="${theme.backgroundColor}"`;
  const direction = directionOf(body);
  return `<mjml dir="${direction}"${languageOf(frame)}><mj-head>${themedHead({ ...frame, theme }, direction, page)}${styleComponents(sheets)}</mj-head><mj-body css-class="mw-page" width="${theme.width}px"${background}>${body}</mj-body></mjml>`;
}

/** Masked MJML of a whole mail as its author wrote it, without a footer. */
export function authoredMjml(source: string, frame: MjmlFrame, sanitizing: Sanitizing): string {
  const clean = sanitizeMjml(sanitizing.mask.hideHtml(source), sanitizing);
  const own = clean.replaceAll(/<mj-title>[\s\S]*?<\/mj-title>/g, '');
  const withoutPreview =
    frame.preview === '' ? own : own.replaceAll(/<mj-preview>[\s\S]*?<\/mj-preview>/g, '');
  const root = withoutPreview.replace(/<mjml(?![^>]*\slang=)/, (tag) => tag + languageOf(frame));
  return insertIntoHead(root, head(frame));
}

/** Our dark variant would mix with colours of the author. */
const COLOUR = /\b(?:color|background|background-color|bgcolor)\s*[:=]/i;

/** HTML that the author wrote. */
function markupOf({ blocks }: ContentBlocks): string[] {
  const simple = blocks.flatMap((block) =>
    block.type === 'columns' ? block.columns.flatMap((each) => each.blocks) : [block],
  );
  return simple.flatMap((block) => (block.type === 'text' || block.type === 'html' ? [block.html] : []));
}

const BODY_COLOUR = /<mj-body\s[^>]*background-color="(#(?:[\da-f]{3}|[\da-f]{6}))"/i;

/** White on the dark page of an author's MJML; else the colour of the theme. */
function footerColour(mjml: string): string {
  const background = BODY_COLOUR.exec(mjml)?.[1];
  return background !== undefined && readableOn(background) === '#ffffff' ? ' color="#ffffff"' : '';
}

/** Adds a section at the end of the body. */
export function appendSection(mjml: string, html: string): string {
  const at = mjml.lastIndexOf('</mj-body>');
  const look = ` font-size="16px" line-height="1.5" padding="8px 24px"${footerColour(mjml)}`;
  const footer = `<mj-section css-class="mw-footer" padding="24px 0">${column([text(html, look)])}</mj-section>`;
  return at < 0 ? mjml : mjml.slice(0, at) + footer + mjml.slice(at);
}

/** Direction of a text. */
type TextDirection = 'ltr' | 'rtl';

/** Letters of the scripts that are written from right to left (Unicode Bidi_Class R and AL). */
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Addresses of the web and of mail, which are Latin in every language. */
const ADDRESS = /(?:https?:\/\/|www\.)[!-;=?-~]*|[\w.+-]+@[\w-]+\.[\w.-]+/gi;

/**
 * The direction of most of the letters of HTML, whatever it begins with: an Arabic mail may begin with the name of a shop
 * in Latin letters.
 */
function directionOf(html: string): TextDirection {
  const letters =
    html
      .replaceAll(/<[^>]*>|&#?\w+;/g, ' ')
      .replaceAll(ADDRESS, ' ')
      .match(/\p{L}/gu) ?? [];
  const fromRight = letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length;
  return fromRight * 2 > letters.length ? 'rtl' : 'ltr';
}
