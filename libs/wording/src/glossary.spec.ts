import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SHIPPED_LOCALES } from '#kernel';
import { projectRoot } from '#platform';
import { catalogueOf, type ShippedLocale, Wording, type WordingKey } from './wording.js';

const GLOSSARY = readFileSync(join(projectRoot(), 'locales', 'GLOSSARY.md'), 'utf8');
const COLUMNS = ['email', 'subscribe', 'unsubscribe', 'everything', 'pending', 'topic', 'until', 'register'];

/** The rows of the table below a heading, without its head. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ''] = GLOSSARY.split(`## ${heading}\n`);
  const lines = (section.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const ROWS = rowsBelow('Words').map(([locale, ...cells]) => ({
  locale,
  ...Object.fromEntries(COLUMNS.map((column, index) => [column, cells[index] ?? ''])),
})) as readonly ({ readonly locale: string } & Readonly<Record<string, string>>)[];

function termsOf(locale: ShippedLocale): Readonly<Record<string, string>> {
  const row = ROWS.find((one) => one.locale === locale);
  if (row === undefined) throw new Error(`locales/GLOSSARY.md has no row for ${locale}.`);
  return row;
}

/** Texts by which people consent or unsubscribe. */
const OF_CONSENT: readonly WordingKey[] = [
  'page.accountMail',
  'optIn.asked',
  'confirm.asked',
  'confirm.withdraw',
  'confirm.ignore',
  'confirmed.topics',
  'confirmNotNeeded.subscribed',
  'unsubscribe.mailTo',
  'unsubscribe.topics',
  'unsubscribe.topicsTo',
  'unsubscribe.everythingMeans',
  'unsubscribed.topics',
  'unsubscribed.rather',
  'unsubscribedAll.text',
  'preferences.introSuppressed',
  'preferences.pause.text',
  'preferences.paused.text',
  'preferences.leave.text',
  'leaveEverything.text',
];

/** Texts that a record of consent keeps as proof. */
const KEPT_AS_PROOF: readonly WordingKey[] = [
  'confirm.asked',
  'confirm.withdraw',
  'confirm.button',
  'preferences.subscribeTo',
  'preferences.confirmTopic',
  'undo.button',
  'footer.privacyLink',
  'footer.contact',
];

const BUTTONS: readonly WordingKey[] = [
  'optIn.button',
  'confirm.button',
  'footer.unsubscribe',
  'unsubscribe.fromEverything',
  'preferences.subscribe',
  'preferences.unsubscribe',
  'preferences.leave.heading',
  'preferences.leave.button',
  'leaveEverything.yes',
];

/** Words of buttons that end a session or close an account. */
const LOGGING_OUT =
  'log out|logout|sign out|log off|leave for good|abmelden|déconnexion|se déconnecter|cerrar sesión|baja definitiva|esci|' +
  'disconnetti|annullamento definitivo|sair|sair definitivamente|terminar sessão|uitloggen|afmelden|wyloguj|wyloguj się|' +
  'odhlásit|odhlásit se|odhlásiť|odhlásiť sa|kijelentkezés|deconectare|изход|отписване от профила|αποσύνδεση|odjava|avsluta|' +
  'logga ut|log ud|afmeld|logg ut|avslutt|kirjaudu ulos|lopeta kokonaan|вийти|вихід|çıkış|çıkış yap|tümüyle ayrılın|خروج|' +
  'تسجيل الخروج|المغادرة نهائيًا|יציאה|התנתקות|עזיבה לצמיתות|ログアウト|로그아웃|退出|登出|注销';

const lower = (text: string, locale: string) => text.toLocaleLowerCase(locale);
const stems = (cell: string | undefined) => (cell ?? '').split(',').map((stem) => stem.trim());

describe('The words of the glossary', () => {
  it('are those of each language that we write', () => {
    expect(ROWS.map(({ locale }) => locale).toSorted()).toEqual([...SHIPPED_LOCALES].toSorted());
  });

  it('that are kept as proof have a version for each time that they changed', () => {
    const texts = SHIPPED_LOCALES.map((locale) => KEPT_AS_PROOF.map((key) => catalogueOf(locale)[key]));
    const fingerprint = createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16);
    const versions = rowsBelow('Versions of what is kept as proof');
    expect(versions.map(([version]) => version)).toEqual(versions.map((_, index) => String(index + 1)));
    expect(versions.at(-1)?.at(-1)).toBe(`\`${fingerprint}\``);
  });
});

describe.each(SHIPPED_LOCALES)('The words of consent in %s', (locale) => {
  const catalogue = catalogueOf(locale);
  const terms = termsOf(locale);

  it('are those of the glossary', () => {
    expect(catalogue['preferences.subscribe']).toBe(terms['subscribe']);
    expect(catalogue['preferences.unsubscribe']).toBe(terms['unsubscribe']);
    expect(catalogue['unsubscribe.fromEverything']).toBe(terms['everything']);
    expect(catalogue['preferences.leave.button']).toBe(terms['everything']);
    expect(catalogue['preferences.status.pending']).toBe(terms['pending']);
    expect(lower(catalogue['unsubscribe.fromCount'], locale)).toContain(lower(terms['topic'] ?? '', locale));
  });

  it('name e-mail as the channel', () => {
    const named = (key: WordingKey) =>
      stems(terms['email']).some((stem) => lower(catalogue[key], locale).includes(lower(stem, locale)));
    expect(OF_CONSENT.filter((key) => !named(key))).toEqual([]);
  });

  it('say on which day mail starts again after a pause, rather than until when there is none', () => {
    const word = new RegExp(`(?<!\\p{L})${terms['until'] ?? ''}(?!\\p{L})`, 'iu');
    const inside = /[\p{Script=Hira}\p{Script=Hang}\p{Script=Han}]/u.test(terms['until'] ?? '');
    const text = catalogue['preferences.paused.text'];
    expect(inside ? text.includes(terms['until'] ?? '') : word.test(text)).toBe(false);
  });

  it('show on a button what its accessible name says', () => {
    const wording = new Wording(locale);
    const topic = 'News';
    const pairs = [
      ['preferences.subscribe', 'preferences.subscribeTo'],
      ['preferences.unsubscribe', 'preferences.unsubscribeFrom'],
      ['preferences.confirm', 'preferences.confirmTopic'],
    ] as const;
    for (const [shown, spoken] of pairs)
      expect(lower(wording.text(spoken, { topic }), locale)).toContain(lower(wording.text(shown), locale));
    for (const days of [7, 30, 90])
      expect(wording.text('preferences.pause.forDays', { days })).toContain(
        wording.text('preferences.pause.days', { days }),
      );
  });

  it('say on the button what is confirmed, and only lead on from the mail', () => {
    expect(catalogue['confirm.button'].length).toBeGreaterThan(catalogue['preferences.confirm'].length);
    expect(lower(catalogue['optIn.button'], locale)).not.toContain(
      lower(catalogue['preferences.confirm'], locale),
    );
    expect(catalogue['optIn.button'].length).toBeLessThanOrEqual(24);
    expect(catalogue['optIn.link'].startsWith(catalogue['optIn.button'])).toBe(true);
  });

  it('are not those of logging out', () => {
    const words = new Set(LOGGING_OUT.split('|'));
    expect(BUTTONS.filter((key) => words.has(lower(catalogue[key], locale)))).toEqual([]);
  });

  it('quote “everything” as its button says it', () => {
    const quoted =
      /[“”„«»‘「״]\s*(.+?)\s*[“”»«’」״]/.exec(catalogue['unsubscribe.everythingMeans'])?.[1] ?? '-';
    expect(lower(catalogue['unsubscribe.fromEverything'], locale)).toContain(lower(quoted, locale));
  });
});
