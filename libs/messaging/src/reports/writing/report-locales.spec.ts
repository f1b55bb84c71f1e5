import { describe, expect, it } from '@jest/globals';
import { placeholdersOf } from '../analyst/report-text.js';
import { loadReportLocale, reportLocaleTags } from './report-writing.service.js';

const english = loadReportLocale('en');

describe('The locales of reports', () => {
  it('are the files that there are', () => {
    expect(reportLocaleTags()).toEqual(expect.arrayContaining(['en', 'pl']));
    expect(() => loadReportLocale('xx')).toThrow('AI_REPORT_LOCALE must be one of en, pl, there is no xx');
    expect(() => loadReportLocale('../en')).toThrow('there is no ../en');
  });

  it.each(reportLocaleTags())(
    '%s says all that English says, with the same values and no number of its own',
    (tag) => {
      const { messages } = loadReportLocale(tag);
      expect(Object.keys(messages).sort()).toEqual(Object.keys(english.messages).sort());
      for (const [name, message] of Object.entries(messages)) {
        const original = placeholdersOf(english.messages[name] ?? '');
        expect([name, [...placeholdersOf(message)].filter((value) => !original.has(value))]).toEqual([
          name,
          [],
        ]);
        if (name !== 'engaged' && !name.startsWith('advise.'))
          expect([name, placeholdersOf(message).size]).toEqual([name, original.size]);
        expect([name, JSON.stringify(message)]).toEqual([name, expect.not.stringMatching(/\d/)]);
        if (typeof message !== 'string') {
          const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories;
          const forms = Object.keys(message).filter((form) => form !== 'by');
          expect([name, forms.sort()]).toEqual([name, [...categories].sort()]);
          expect(original.has(message.by)).toBe(true);
        }
      }
    },
  );
});
