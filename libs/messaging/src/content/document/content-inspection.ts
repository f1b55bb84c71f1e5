import sanitizeHtml from 'sanitize-html';
import { ContentCompileError } from './content-compile.errors.js';
import { isInertAttribute, withoutCondition } from './inert-elements.js';

const ACTIVE_TAGS = new Set(
  (
    'script iframe frame frameset object embed applet form base link svg math audio video source track portal ' +
    'textarea select template noscript xmp plaintext'
  ).split(' '),
);

/**
 * The last look at compiled, masked HTML, whatever way it came: nothing in it may run, frame or submit.
 * @throws {ContentCompileError} naming the tag or attribute
 */
export function assertInert(maskedHtml: string): void {
  sanitizeHtml(maskedHtml, {
    onOpenTag: (tag, attribs) => {
      if (ACTIVE_TAGS.has(tag))
        throw new ContentCompileError(`content holds <${tag}>, which mail cannot carry`);
      for (const [name, value] of Object.entries(attribs)) {
        if (!isInertAttribute(withoutCondition(name), value))
          throw new ContentCompileError(`content holds an unsafe ${name} attribute`);
      }
    },
  });
}
