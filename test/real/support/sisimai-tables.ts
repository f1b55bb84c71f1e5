import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A phrase of a refusal, and what sisimai takes it for. */
export interface SisimaiPhrase {
  readonly reason: string;
  readonly phrase: string;
}

const QUOTED = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"/g;
const COMMENT = /^\s*#.*$/gm;
/** Shorter ones are parts of phrases, and codes. */
const isPhrase = (text: string) => text.trim().length >= 10 && text.trim().split(/\s+/).length >= 2;

/** The phrases of a checkout of github.com/sisimai/p5-sisimai, each once. */
export function sisimaiPhrases(directory: string): SisimaiPhrase[] {
  const folder = (name: string) => {
    const path = join(directory, 'lib/Sisimai', name);
    const files = readdirSync(path).filter((file) => file.endsWith('.pm'));
    return files.toSorted().map((file) => ({ file, source: readFileSync(join(path, file), 'utf8') }));
  };
  const ofReasons = folder('Reason').flatMap(({ file, source }) => {
    const [, body = ''] = /sub match \{(.*?)\n\}/s.exec(source) ?? [];
    const reason = file.replace('.pm', '').toLowerCase();
    return quotedIn(body.replaceAll(COMMENT, '')).map((phrase) => ({ reason, phrase }));
  });
  const ofHosts = folder('Rhost').flatMap(({ source }) => phrasesOfHost(source));
  const seen = new Set<string>();
  return [...ofReasons, ...ofHosts].filter(({ phrase }) => {
    const key = phrase.trim().toLowerCase();
    if (!isPhrase(phrase) || seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** `'blocked' => [` begins the phrases of a reason, `['550', '5.7.1', '…'],` is one of them. */
function phrasesOfHost(source: string): SisimaiPhrase[] {
  const found: SisimaiPhrase[] = [];
  let reason = '';
  for (const line of (source.split('__END__')[0] ?? '').replaceAll(COMMENT, '').split('\n')) {
    const [begins = '', next] = /^\s*'(\w+)'\s*=>\s*\[/.exec(line) ?? [];
    reason = next ?? reason;
    const isCode = line.includes('=~') || line.includes('index') || /=>\s*'/.test(line);
    if (reason === '' || isCode) continue;
    found.push(...quotedIn(line.slice(begins.length)).map((phrase) => ({ reason, phrase })));
  }
  return found;
}

function quotedIn(text: string): string[] {
  return [...text.matchAll(QUOTED)].map(([, single, double]) => single ?? double ?? '');
}
