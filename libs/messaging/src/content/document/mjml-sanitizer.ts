import sanitizeHtml from 'sanitize-html';
import { isInertAttribute, sanitizingWith } from './content-sanitizer.js';
import { holdsPlaceholder } from '../merge/merge-tags.js';

// Not here: mj-include (reads files), mj-font (fetches), mj-html-attributes (sets any attribute on any tag).
const TAGS = (
  'mjml mj-head mj-body mj-title mj-preview mj-breakpoint mj-attributes mj-all mj-class mj-style mj-wrapper ' +
  'mj-section mj-group mj-column mj-text mj-button mj-image mj-divider mj-spacer mj-table mj-raw mj-hero mj-social ' +
  'mj-social-element mj-navbar mj-navbar-link mj-accordion mj-accordion-element mj-accordion-title ' +
  'mj-accordion-text mj-carousel mj-carousel-image'
).split(' ');

const OPTIONS = sanitizingWith(TAGS, Object.fromEntries(TAGS.map((tag) => [tag, ['*']])));

// MJML writes most attributes into inline styles as they are.
const UNSAFE_VALUE =
  /expression\s*\(|javascript:|vbscript:|behavior\s*:|-moz-binding|@import|__proto__|[;{}<>\\]/i;
const UNSAFE_CSS =
  /expression\s*\(|javascript:|vbscript:|behavior\s*:|-moz-binding|@import|@charset|url\s*\(|[<\\]/i;
const TEXT_ATTRIBUTE = /^(?:alt|title|href|src|name)$/;
// These end up inside CSS `url('…')` or in front of other URLs.
const URL_PART = /-(?:url|src)$/;
const PLAIN_WEB_URL = /^https?:\/\/[^\s'"()<>\\;{}]+$/i;
const STYLE_ELEMENT = /<mj-style(\s[^>]*)?>([\s\S]*?)<\/mj-style\s*>/gi;

function isInertMjmlAttribute(name: string, masked: string): boolean {
  if (!/^[a-z][a-z-]*$/.test(name) || name === 'position') return false;
  if (!isInertAttribute(name, masked)) return false;
  if (URL_PART.test(name)) return PLAIN_WEB_URL.test(masked);
  return TEXT_ATTRIBUTE.test(name) || !UNSAFE_VALUE.test(masked);
}

/**
 * Masked MJML with only known components and inert attributes. The style sheets are set aside first, since they
 * are CSS, not markup, and come back only when they fetch and hide nothing.
 */
export function sanitizeMjml(masked: string): string {
  const styles: string[] = [];
  const withoutStyles = masked.replaceAll(STYLE_ELEMENT, (_, attributes: string | undefined, css: string) => {
    if (UNSAFE_CSS.test(css) || holdsPlaceholder(css)) return '';
    const inline = /\binline\s*=/.test(attributes ?? '') ? ' inline="inline"' : '';
    styles.push(`<mj-style${inline}>${css}</mj-style>`);
    return '';
  });
  const clean = sanitizeHtml(withoutStyles, {
    ...OPTIONS,
    parser: { recognizeSelfClosing: true },
    transformTags: {
      '*': (tagName, attribs) => ({
        tagName,
        attribs: Object.fromEntries(
          Object.entries(attribs).filter(([name, value]) =>
            tagName.startsWith('mj') ? isInertMjmlAttribute(name, value) : isInertAttribute(name, value),
          ),
        ),
      }),
    },
  });
  return insertIntoHead(clean, styles.join(''));
}

/** Adds components at the end of the head, which is made when there is none. */
export function insertIntoHead(mjml: string, components: string): string {
  if (mjml.includes('</mj-head>')) return mjml.replace('</mj-head>', () => `${components}</mj-head>`);
  return mjml.replace(/<mj-body[\s>]/, (body) => `<mj-head>${components}</mj-head>${body}`);
}
