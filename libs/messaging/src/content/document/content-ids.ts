import { Parser } from 'htmlparser2';

const AT_THE_BEGINNING = /^\s*cid:([^\s"'<>]+)/gi;
const IN_LISTS = /(?:^|,)\s*cid:([^\s,"'<>]+)/gi;
const IN_STYLES = /url\(\s*["']?cid:([^\s"'()<>]+)/gi;
const IN_TAGS = /(?:=\s*["']?|url\(\s*["']?)cid:([^\s"'()<>]+)/gi;

/** Content-IDs that HTML names in attributes and styles (RFC 2392), those in comments that only Outlook reads included. */
export function contentIdsIn(html: string): string[] {
  const ids = new Set<string>();
  // An entity may stand for any letter.
  if (!/cid:|&#/i.test(html)) return [];
  let inStyle = false;
  const collect = (text: string, pattern: RegExp) => {
    for (const [, id = ''] of text.matchAll(pattern)) ids.add(unescaped(id));
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      inStyle = name === 'style';
      for (const [attribute, value] of Object.entries(attributes)) {
        collect(value, attribute === 'srcset' ? IN_LISTS : AT_THE_BEGINNING);
        collect(value, IN_STYLES);
      }
    },
    onclosetag: () => {
      inStyle = false;
    },
    ontext: (text) => {
      if (inStyle) collect(text, IN_STYLES);
    },
    oncomment: (text) => {
      if (text.startsWith('[if')) collect(text, IN_TAGS);
    },
  });
  parser.end(html);
  return [...ids];
}

function unescaped(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}
