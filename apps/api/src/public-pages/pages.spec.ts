import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, oneof, property, record, string } from 'fast-check';
import {
  alreadyConfirmedPage,
  confirmationNotNeededPage,
  confirmationSentPage,
  confirmationTooSoonPage,
  confirmedPage,
  confirmPage,
  expiredConfirmationPage,
  goneConfirmationPage,
} from './confirm-page.js';
import { failurePage, notFoundPage } from './not-found-page.js';
import type { Page } from './page-layout.js';
import { preferencesPage, type TopicPreference } from './preferences-page.js';
import {
  unsubscribedFromEverythingPage,
  unsubscribedFromTopicsPage,
  unsubscribePage,
} from './unsubscribe-page.js';

const sender = { name: 'Alpine Supplies', postalAddress: 'Marktgasse 12\n6300 Zug' };
const content = {
  sender,
  email: 'jane@example.org',
  address: 'jane@example.org',
  topicNames: ['Product news', 'Offers'],
};
type Content = typeof content;

const topicsNamed = (names: readonly string[]): TopicPreference[] =>
  names.map((topicName) => ({ topicKey: 'APIT-1', topicName, status: 'SUBSCRIBED' }));

const subscriberPages: Record<string, (content: Content) => Page> = {
  confirmPage,
  confirmedPage,
  alreadyConfirmedPage,
  expiredConfirmationPage,
  goneConfirmationPage,
  confirmationSentPage,
  confirmationTooSoonPage,
  confirmationNotNeededPage,
  unsubscribePage,
  unsubscribedFromTopicsPage,
  unsubscribedFromEverythingPage,
  preferencesPage: (given) =>
    preferencesPage({ ...given, suppressed: false, topics: topicsNamed(given.topicNames) }),
};
const everyPage = [
  ...Object.values(subscriberPages).map((make) => make(content)),
  notFoundPage,
  failurePage(500),
  failurePage(503),
];

/** What a browser makes of it: white space between tags does not matter here. */
const markupOf = (page: Page) => page.html.toString().replaceAll(/\s+/g, ' ').replaceAll('> <', '><');
const buttonsOf = (page: Page) =>
  [...markupOf(page).matchAll(/<button([^>]*)>(.*?)<\/button>/g)].map(([, attributes = '', label = '']) => ({
    label: label.replaceAll(/<[^>]*>/g, '').trim(),
    name: /name="([^"]*)"/.exec(attributes)?.[1],
    value: /value="([^"]*)"/.exec(attributes)?.[1],
  }));
/** The tags of a page in their order, without the text between them and the style sheet. */
const skeletonOf = (page: Page) => markupOf(page).match(/<[^>]*>/g);

describe('every public page', () => {
  it('is a complete document with a language, a title, one main heading and a phone’s viewport', () => {
    for (const page of everyPage) {
      const markup = markupOf(page);
      expect(markup).toMatch(/^<!doctype html>\s*<html lang="en">/);
      expect(markup).toMatch(/<title>[^<]+<\/title>/);
      expect(markup.match(/<h1>/g)).toHaveLength(1);
      expect(markup).toContain('content="width=device-width, initial-scale=1"');
    }
  });

  it('runs no script and fetches nothing', () => {
    for (const page of everyPage) {
      expect(markupOf(page)).not.toMatch(
        /<script|<img|<link|<iframe|\ssrc=|\shref=|\son[a-z]+=|\sstyle=|url\(|@import/i,
      );
    }
  });

  it('posts its forms to its own address', () => {
    for (const page of everyPage) {
      for (const [tag] of markupOf(page).matchAll(/<form[^>]*>/g)) expect(tag).toBe('<form method="post">');
      expect(markupOf(page)).not.toMatch(/formaction/i);
    }
  });

  it('never shows the whole address', () => {
    for (const page of everyPage) expect(markupOf(page)).not.toContain(content.email);
    expect(markupOf(confirmPage(content))).toContain('j•••@example.org');
    expect(markupOf(unsubscribePage(content))).toContain('j•••@example.org');
  });

  it('shows names and addresses as text, whatever they contain', () => {
    const text = oneof(
      string({ unit: 'binary', minLength: 1, maxLength: 40 }),
      constantFrom(
        '</title><script>alert(1)</script>',
        '"><img src=x onerror=alert(1)>',
        "' onfocus='x",
        '</style>',
        '&amp;',
      ),
    );
    const anyContent = record({
      sender: record({ name: text, postalAddress: text }),
      email: text.map((local) => `${local}@example.org`),
      address: text.map((local) => `${local}@example.org`),
      topicNames: array(text, { minLength: 1, maxLength: 2 }),
    });
    assert(
      property(anyContent, (given) => {
        const plain = { ...content, topicNames: given.topicNames.map(() => 'Topic') };
        for (const make of Object.values(subscriberPages))
          expect(skeletonOf(make(given))).toEqual(skeletonOf(make(plain)));
      }),
    );
  });
});

describe('the confirmation page', () => {
  it('names the sender and the topics and has exactly one button', () => {
    const page = confirmPage(content);
    expect(markupOf(page)).toContain('Alpine Supplies');
    expect(markupOf(page)).toContain('<li><bdi>Product news</bdi></li><li><bdi>Offers</bdi></li>');
    expect(buttonsOf(page)).toEqual([{ label: 'Confirm subscription', name: undefined, value: undefined }]);
  });

  it.each([
    ['expired', expiredConfirmationPage(content), 410],
    ['used', alreadyConfirmedPage(content), 200],
  ])('offers a new mail when its link is %s', (_state, page, status) => {
    expect(page.status).toBe(status);
    expect(buttonsOf(page)).toEqual([{ label: 'Send me a new mail', name: 'action', value: 'resend' }]);
  });

  it('asks for nothing more once it is done', () => {
    for (const make of [
      confirmedPage,
      confirmationSentPage,
      confirmationTooSoonPage,
      confirmationNotNeededPage,
      goneConfirmationPage,
    ]) {
      expect(buttonsOf(make(content))).toEqual([]);
    }
  });
});

describe('the unsubscribe page', () => {
  const everything = { label: 'Unsubscribe from everything', name: 'scope', value: 'everything' };

  it.each([
    [['News'], 'Unsubscribe from News'],
    [['News', 'Offers'], 'Unsubscribe from News and Offers'],
    [['News', 'Offers', 'Events'], 'Unsubscribe from these 3 topics'],
    [['N'.repeat(200)], 'Unsubscribe from this topic'],
  ])('offers to leave the topics of the mail, or everything (%#)', (topicNames, label) => {
    const page = unsubscribePage({ ...content, topicNames });
    expect(buttonsOf(page)).toEqual([{ label, name: 'scope', value: 'topics' }, everything]);
    for (const name of topicNames) expect(markupOf(page)).toContain(`<li><bdi>${name}</bdi></li>`);
  });

  it('offers to leave everything when the mail had no topic', () => {
    expect(buttonsOf(unsubscribePage({ ...content, topicNames: [] }))).toEqual([everything]);
  });

  it('works for an address that has been erased', () => {
    expect(markupOf(unsubscribePage({ ...content, address: null }))).not.toContain('•••');
  });

  it('offers to leave everything after leaving the topics, and nothing after that', () => {
    expect(buttonsOf(unsubscribedFromTopicsPage(content))).toEqual([everything]);
    expect(buttonsOf(unsubscribedFromEverythingPage(content))).toEqual([]);
  });
});

describe('the preferences page', () => {
  const everything = { label: 'Unsubscribe from everything', name: 'scope', value: 'everything' };
  const topics: TopicPreference[] = [
    { topicKey: 'APIT-1', topicName: 'News', status: 'SUBSCRIBED' },
    { topicKey: 'APIT-2', topicName: 'Offers', status: 'PENDING_CONFIRMATION' },
    { topicKey: 'APIT-3', topicName: 'Events', status: 'UNSUBSCRIBED' },
    { topicKey: 'APIT-4', topicName: 'Jobs', status: 'EXPIRED' },
  ];

  it('has a button for each topic that can be left, named for it, and one for everything', () => {
    expect(buttonsOf(preferencesPage({ ...content, suppressed: false, topics }))).toEqual([
      { label: 'Unsubscribe from News', name: 'leave', value: 'APIT-1' },
      { label: 'Unsubscribe from Offers', name: 'leave', value: 'APIT-2' },
      everything,
    ]);
  });

  it('says where each topic stands', () => {
    const markup = markupOf(preferencesPage({ ...content, suppressed: false, topics }));
    for (const words of ['Subscribed', 'Waiting for your confirmation', 'Unsubscribed', 'Not confirmed']) {
      expect(markup).toContain(`<span class="status">${words}</span>`);
    }
  });

  it('says so when no mail is sent at all', () => {
    const page = preferencesPage({ ...content, suppressed: true, topics: topics.slice(2) }, true);
    expect(markupOf(page)).toContain('Your choice is saved');
    expect(markupOf(page)).toContain('sends no mail to');
    expect(buttonsOf(page)).toEqual([]);
  });
});

describe('the page of a link that does not work', () => {
  it('does not tell whose it might have been', () => {
    expect(notFoundPage.status).toBe(404);
    expect(markupOf(notFoundPage)).toContain('<footer></footer>');
    expect(markupOf(notFoundPage)).not.toContain('Alpine');
  });
});
