import { describe, expect, it } from '@jest/globals';
import { messageFaults } from './message-faults.js';
import { Wording } from './wording.js';

describe('Wording', () => {
  it('puts values into the messages of a language, unescaped, and follows its plurals', () => {
    const wording = new Wording('en');
    expect(wording.text('optIn.subject', { project: '<Tea & Co>' })).toBe(
      'Please confirm your subscription to <Tea & Co>',
    );
    expect(wording.text('optIn.expiry', { hours: 1 })).toBe('The link works for 1 hour.');
    expect(wording.text('optIn.expiry', { hours: 48 })).toBe('The link works for 48 hours.');
  });

  it('takes a message apart where objects stand', () => {
    const project = { html: '<b>Tea</b>' };
    expect(new Wording('en').parts('optIn.subject', { project })).toEqual([
      'Please confirm your subscription to ',
      project,
    ]);
  });

  it("says a project's own texts in place of ours", () => {
    const wording = new Wording('en', { 'optIn.subject': 'One more step, {project}' });
    expect(wording.text('optIn.subject', { project: 'Tea' })).toBe('One more step, Tea');
  });
});

describe('A text for a message', () => {
  it.each([
    ['Only {project}', 'en', null],
    ['Hello', 'en', 'must contain {project}'],
    ['{project} {name}', 'en', 'must not contain {name}: unknown placeholder'],
    ['{project', 'en', 'must be an ICU message: check its braces'],
    ['<b>{project}</b>', 'en', 'must not contain {<b>}: unknown placeholder'],
    ...['number', 'date', 'time', 'plural, one {x} other {y}', 'select, other {y}'].map(
      (format) =>
        [
          `{project, ${format}}`,
          'en',
          'must not format {project} in another way than our text does',
        ] as const,
    ),
  ] as const)('%j: %s', (message, locale, fault) => {
    expect(messageFaults('optIn.subject', message, locale)).toBe(fault);
  });

  it('needs the plural forms of its language', () => {
    const message = '{hours, plural, one {# Stunde} other {# Stunden}}';
    expect(messageFaults('optIn.expiry', message, 'en')).toBeNull();
    expect(messageFaults('optIn.expiry', message, 'pl')).toBe('must have the plural forms few, many');
  });

  it('is one that can be written, whatever its numbers', () => {
    const message = (format: string) => `{hours, plural, one {1 hour} other {{hours, number, ${format}} h}}`;
    expect(messageFaults('optIn.expiry', message('integer'), 'en')).toBeNull();
    expect(messageFaults('optIn.expiry', '{hours} h', 'en')).toBeNull();
    for (const format of ['::currency/XX', `::.${'0'.repeat(200)}`])
      expect(messageFaults('optIn.expiry', message(format), 'en')).not.toBeNull();
  });
});
