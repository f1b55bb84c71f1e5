/** Which way a text runs. */
export type TextDirection = 'ltr' | 'rtl';

/** Letters of the scripts that are written from right to left (Unicode Bidi_Class R and AL). */
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Addresses of the web and of mail, which are Latin in every language. */
const ADDRESS = /(?:https?:\/\/|www\.)[!-;=?-~]*|[\w.+-]+@[\w-]+\.[\w.-]+/gi;

/**
 * The direction of most of the letters of HTML, whatever it begins with: an Arabic mail may begin with the name of a shop
 * in Latin letters.
 */
export function directionOf(html: string): TextDirection {
  const letters =
    html
      .replaceAll(/<[^>]*>|&#?\w+;/g, ' ')
      .replaceAll(ADDRESS, ' ')
      .match(/\p{L}/gu) ?? [];
  const fromRight = letters.filter((letter) => RIGHT_TO_LEFT.test(letter)).length;
  return fromRight * 2 > letters.length ? 'rtl' : 'ltr';
}
