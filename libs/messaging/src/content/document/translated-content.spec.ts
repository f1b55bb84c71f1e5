import { describe, expect, it } from '@jest/globals';
import { contentFaults, contentIn, translationFor } from './translated-content.js';

const nothing = { previewText: null, contentJson: null, contentText: null };
const campaign = {
  subject: 'News',
  previewText: 'What is new',
  contentJson: '{"blocks":[]}',
  contentText: 'Hello.',
  translations: {
    de: { ...nothing, subject: 'Neues' },
    fr: { ...nothing, subject: 'Nouvelles', previewText: 'Quoi de neuf' },
    'pt-BR': { ...nothing, subject: 'Novidades', contentText: 'Olá.' },
  },
};

describe('A campaign in several languages', () => {
  it.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['pt-BR', 'pt-BR'],
    ['pt', null],
    ['ja', null],
    [null, null],
  ])('has for a reader of %j the translation %j', (locale, translation) => {
    expect(translationFor(campaign, locale)).toBe(translation);
  });

  it('says its own content under the subject of a translation without content', () => {
    const { translations: _translations, ...own } = campaign;
    expect(contentIn(campaign, null)).toEqual(own);
    expect(contentIn(campaign, 'de')).toEqual({ ...own, subject: 'Neues' });
    expect(contentIn(campaign, 'fr')).toEqual({ ...own, subject: 'Nouvelles', previewText: 'Quoi de neuf' });
  });

  it('mixes no two languages in the parts of one mail', () => {
    expect(contentIn(campaign, 'pt-BR')).toEqual(campaign.translations['pt-BR']);
  });

  it('tells what is wrong with its document and those of its translations', () => {
    const broken = { ...nothing, subject: 'Neues', contentJson: '{"blocks":[{"type":"heading","level":9}]}' };
    const faults = contentFaults({
      contentJson: broken.contentJson,
      translations: { ...campaign.translations, 'de-AT': broken },
    });
    expect(faults).toEqual({
      'contentJson.blocks[0].level': 'must be at most 3',
      'contentJson.blocks[0].text': 'is required',
      'translations.de-AT.contentJson.blocks[0].level': 'must be at most 3',
      'translations.de-AT.contentJson.blocks[0].text': 'is required',
    });
  });
});
