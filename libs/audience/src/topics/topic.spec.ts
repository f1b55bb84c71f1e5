import { describe, expect, it } from '@jest/globals';
import { topicIn, topicNamesIn } from './topic.js';

const news = {
  name: 'News',
  description: 'What is new',
  translations: { de: { name: 'Neues', description: 'Was neu ist' }, 'pt-BR': { name: 'Novidades' } },
};

describe('A topic', () => {
  it.each([
    ['de-AT', { name: 'Neues', description: 'Was neu ist' }],
    ['pt-BR', { name: 'Novidades', description: null }],
    ['pt', { name: 'News', description: 'What is new' }],
    ['en', { name: 'News', description: 'What is new' }],
  ])('is named in the language of the reader where it can be: %s', (locale, texts) => {
    expect(topicIn(news, locale)).toEqual(texts);
  });

  it('has its place in the alphabet of that language', () => {
    const topics = ['Öl', 'Zoo', 'Oper'].map((name) => ({ name, description: null, translations: {} }));
    expect(topicNamesIn(topics, 'de')).toEqual(['Öl', 'Oper', 'Zoo']);
    expect(topicNamesIn(topics, 'sv')).toEqual(['Oper', 'Zoo', 'Öl']);
  });
});
