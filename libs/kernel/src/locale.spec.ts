import { describe, expect, it } from '@jest/globals';
import {
  isTimeZone,
  matchLocale,
  parseFileLocale,
  parseLocale,
  SHIPPED_LOCALES,
  shippedLocale,
} from './locale.js';

describe('A locale', () => {
  it.each([
    ['de', 'de'],
    ['de-at', 'de-AT'],
    ['ZH-hant-tw', 'zh-Hant-TW'],
    [' pt-BR ', 'pt-BR'],
    ['iw', 'he'],
  ])('%j is read as %s', (text, locale) => {
    expect(parseLocale(text)).toBe(locale);
    expect(parseFileLocale(text)).toBe(locale);
  });

  it.each([
    ['en_US', 'en-US'],
    ['zh_CN', 'zh-CN'],
    ['zh_Hant_TW', 'zh-Hant-TW'],
    ['pt_BR.UTF-8', 'pt-BR'],
    ['de_DE@euro', 'de-DE'],
  ])('%j of a file is read as %s', (text, locale) => {
    expect(parseLocale(text)).toBeNull();
    expect(parseFileLocale(text)).toBe(locale);
  });

  it.each([
    '',
    'de_',
    '_AT',
    'C.UTF-8',
    'xx',
    'qqx',
    'german',
    'd',
    'de-',
    '*',
    `de-x-${'a'.repeat(8)}-${'b'.repeat(8)}-${'c'.repeat(8)}-dddd`,
  ])('%j is refused', (text) => {
    expect(parseLocale(text)).toBeNull();
    expect(parseFileLocale(text)).toBeNull();
  });

  it.each([
    [['de-AT', 'en'], ['en', 'de'], 'de'],
    [['de-AT'], ['de', 'de-AT'], 'de-AT'],
    [[null, 'fr'], ['en', 'fr'], 'fr'],
    [['ca', 'es-MX'], ['en', 'es'], 'es'],
    [['no'], ['en', 'nb'], 'nb'],
    [['nb-NO'], ['no'], 'no'],
    [['de'], ['de-AT'], null],
    [[], ['en'], null],
  ] as const)('of readers who want %j is, of %j, %s', (wanted, available, found) => {
    expect(matchLocale(wanted, available)).toBe(found);
  });

  it.each([
    ['pt', 'pt-BR'],
    ['pt-BR', 'pt-BR'],
    ['pt-PT', 'pt-PT'],
    ['pt-AO', 'pt-PT'],
    ['zh', 'zh'],
    ['zh-CN', 'zh'],
    ['zh-Hans-HK', 'zh'],
    ['zh-TW', 'zh-Hant'],
    ['zh-HK', 'zh-Hant'],
    ['zh-Hant-TW', 'zh-Hant'],
    ['de-AT', 'de'],
    ['no', 'nb'],
    ['tlh', null],
  ])('%s is answered in ours that its readers read: %s', (wanted, ours) => {
    expect(shippedLocale([null, wanted])).toBe(ours);
    expect(shippedLocale([wanted, 'fr'])).toBe(ours ?? 'fr');
  });

  it('that is shipped is written as it is read', () => {
    expect(SHIPPED_LOCALES.map((locale) => parseLocale(locale))).toEqual(SHIPPED_LOCALES);
  });
});

describe('A time zone', () => {
  it.each([
    'Europe/Berlin',
    'UTC',
    'CET',
    'PST8PDT',
    'Asia/Kolkata',
    'America/Argentina/Buenos_Aires',
    'Etc/GMT+5',
  ])('%s is one', (text) => {
    expect(isTimeZone(text)).toBe(true);
  });

  it.each([
    '',
    '+02:00',
    'Berlin',
    'Europe/Atlantis',
    'Europe / Berlin',
    'UTC; drop',
    'BST',
    'aet',
    'SystemV/PST8',
    'US/Pacific-New',
  ])('%j is none', (text) => {
    expect(isTimeZone(text)).toBe(false);
  });
});
