import { describe, expect, it } from '@jest/globals';
import { SHIPPED_LOCALES } from '#kernel';
import { Wording } from '#wording';
import {
  array,
  assert,
  codePoint,
  constantFrom,
  oneof,
  property,
  record,
  string,
} from '#testing/random/properties';
import {
  alreadyConfirmedPage,
  confirmationNotNeededPage,
  confirmationSentPage,
  confirmationTooSoonPage,
  confirmedPage,
  confirmPage,
  confirmText,
  expiredConfirmationPage,
  goneConfirmationPage,
} from './confirm.controller.js';
import { addressGonePage, failurePage, notFoundPage } from './public-page.js';
import type { Page } from './page-layout.js';
import type { PageSender, SenderView } from './page-view.js';
import { joinText, leaveEverythingPage, preferencesPage, type ShownTopic } from './preferences.controller.js';
import {
  tooLateToUndoPage,
  undonePage,
  unsubscribedFromEverythingPage,
  unsubscribedFromTopicsPage,
  unsubscribePage,
} from './unsubscribe.controller.js';

const UNDO_ID = '019aa3b5-0000-7000-8000-000000000000';
const sender = {
  name: 'Alpine Supplies',
  postalAddress: 'Marktgasse 12\n6300 Zug',
  logoUrl: null,
  color: null,
};
const view: SenderView = { wording: new Wording('en'), locale: 'en', version: null, sender };
const content = {
  sender,
  email: 'jane@example.org',
  address: 'jane@example.org',
  topicNames: ['Product news', 'Offers'],
};
type Content = Omit<typeof content, 'sender'> & {
  readonly sender: Pick<PageSender, 'name' | 'postalAddress'>;
};
/** The same, written on behalf of a sender. */
const from = ({ sender: given }: Content): SenderView => ({ ...view, sender: { ...sender, ...given } });

const topicsNamed = (names: readonly string[]): ShownTopic[] =>
  names.map((name) => ({
    topicKey: 'APIT-1',
    name,
    description: name,
    status: 'SUBSCRIBED',
    isActive: true,
  }));
const standing = { ...content, timeZone: null, suppressed: null, pausedUntil: null };

const subscriberPages: Record<string, (content: Content) => Page> = {
  confirmPage: (given) => confirmPage(from(given), given),
  confirmedPage: (given) => confirmedPage(from(given), given),
  alreadyConfirmedPage: (given) => alreadyConfirmedPage(from(given), given),
  expiredConfirmationPage: (given) => expiredConfirmationPage(from(given), given),
  goneConfirmationPage: (given) => goneConfirmationPage(from(given)),
  confirmationSentPage: (given) => confirmationSentPage(from(given), given),
  confirmationTooSoonPage: (given) => confirmationTooSoonPage(from(given), given),
  confirmationNotNeededPage: (given) => confirmationNotNeededPage(from(given), given),
  unsubscribePage: (given) => unsubscribePage(from(given), given),
  unsubscribedFromTopicsPage: (given) => unsubscribedFromTopicsPage(from(given), given, UNDO_ID),
  unsubscribedFromEverythingPage: (given) =>
    unsubscribedFromEverythingPage(from(given), 'MARKETING', UNDO_ID),
  undonePage: (given) => undonePage(from(given), given.topicNames),
  tooLateToUndoPage: (given) => tooLateToUndoPage(from(given)),
  addressGonePage: (given) => addressGonePage(from(given), 404),
  leaveEverythingPage: (given) => leaveEverythingPage(from(given), given),
  preferencesPage: (given) =>
    preferencesPage(from(given), { ...standing, ...given, topics: topicsNamed(given.topicNames) }, [7, 30]),
  suppressedPreferencesPage: (given) =>
    preferencesPage(from(given), { ...standing, ...given, suppressed: 'MARKETING', topics: [] }, []),
  pausedPreferencesPage: (given) =>
    preferencesPage(from(given), { ...standing, ...given, pausedUntil: new Date(0), topics: [] }, []),
};
const everyPage = [
  ...Object.values(subscriberPages).map((make) => make(content)),
  notFoundPage(view),
  failurePage(view, 500),
  failurePage(view, 503),
];

const undo = { label: 'That was a mistake: keep me subscribed', name: 'undo', value: UNDO_ID };

/** HTML of a page as a browser reads it: without the white space between tags, which does not matter here. */
const markupOf = (page: Page) => page.html.toString().replaceAll(/\s+/g, ' ').replaceAll('> <', '><');
const buttonsOf = (page: Page) =>
  [...markupOf(page).matchAll(/<button([^>]*)>(.*?)<\/button>/g)].map(([, attributes = '', label = '']) => ({
    label: /aria-label="([^"]*)"/.exec(attributes)?.[1] ?? label.replaceAll(/<[^>]*>/g, '').trim(),
    name: /name="([^"]*)"/.exec(attributes)?.[1],
    value: /value="([^"]*)"/.exec(attributes)?.[1],
  }));
/** The tags of a page in their order, without the text between them and the style sheet. */
const skeletonOf = (page: Page) =>
  markupOf(page)
    .replaceAll(/aria-label="[^"]*"/g, '')
    .match(/<[^>]*>/g);

describe('every public page', () => {
  it('is a complete document with a language, a title, one main heading and a phone’s viewport', () => {
    for (const page of everyPage) {
      const markup = markupOf(page);
      expect(markup).toMatch(/^<!doctype html>\s*<html lang="en" dir="ltr">/);
      expect(markup).toMatch(/<title>[^<]+<\/title>/);
      expect(markup.match(/<h1>/g)).toHaveLength(1);
      expect(markup).toContain('content="width=device-width, initial-scale=1"');
    }
  });

  it('runs no script and fetches nothing', () => {
    for (const page of everyPage) {
      expect(markupOf(page).replaceAll(/ href="\?lang=[\w-]+"/g, '')).not.toMatch(
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
    expect(markupOf(confirmPage(view, content))).toContain('j•••@example.org');
    expect(markupOf(unsubscribePage(view, content))).toContain('j•••@example.org');
  });

  it('shows names and addresses as text, whatever they contain', () => {
    const text = oneof(
      string({ unit: codePoint, minLength: 1, maxLength: 40 }),
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
        const plain = { ...content, topicNames: given.topicNames.map((name) => 'T'.repeat(name.length)) };
        for (const make of Object.values(subscriberPages))
          expect(skeletonOf(make(given))).toEqual(skeletonOf(make(plain)));
      }),
    );
  });
});

describe('the confirmation page', () => {
  it('names the sender and the topics and has exactly one button', () => {
    const page = confirmPage(view, content);
    expect(markupOf(page)).toContain('Alpine Supplies');
    expect(markupOf(page)).toContain('<li><bdi>Product news</bdi></li><li><bdi>Offers</bdi></li>');
    expect(buttonsOf(page)).toEqual([{ label: 'Confirm subscription', name: undefined, value: undefined }]);
  });

  it('tells that consent can be withdrawn before it is given, and keeps that with the consent', () => {
    for (const locale of SHIPPED_LOCALES) {
      const inTheirs: SenderView = { ...view, wording: new Wording(locale) };
      const withdraw = inTheirs.wording.text('confirm.withdraw');
      const markup = markupOf(confirmPage(inTheirs, content));
      expect(markup.indexOf(withdraw)).toBeGreaterThan(0);
      expect(markup.indexOf(withdraw)).toBeLessThan(markup.indexOf('<button>'));
      expect(confirmText(inTheirs, content)).toContain(withdraw);
    }
  });

  it('keeps the privacy policy and the contact that it shows with the words of consent', () => {
    const privacyUrl = 'https://alpine.example/privacy?a=1&b=2';
    const told: SenderView = {
      ...view,
      sender: { ...sender, privacyUrl, contactEmail: 'data@alpine.example' },
    };
    const markup = markupOf(confirmPage(told, content));
    expect(markup).toContain(
      '<a href="https://alpine.example/privacy?a=1&amp;b=2" rel="noreferrer">Privacy policy</a>',
    );
    expect(markup).toContain('Contact: <a href="mailto:data@alpine.example">');
    const kept = `Privacy policy: ${privacyUrl}\nContact: data@alpine.example`;
    expect(confirmText(told, content)).toMatch(/every email has a link for it\.\nConfirm subscription\n/);
    expect(confirmText(told, content).endsWith(kept)).toBe(true);
    const [topic] = topicsNamed(['News']);
    expect(topic && joinText(told, topic)).toBe(`Subscribe to News\n${kept}`);
    expect(topic && joinText(view, topic)).toBe('Subscribe to News');
  });

  it.each([
    ['expired', expiredConfirmationPage(view, content), 410],
    ['used', alreadyConfirmedPage(view, content), 200],
  ])('offers a new mail when its link is %s', (_state, page, status) => {
    expect(page.status).toBe(status);
    expect(buttonsOf(page)).toEqual([{ label: 'Send me a new email', name: 'action', value: 'resend' }]);
  });

  it('asks for nothing more once it is done', () => {
    for (const make of [
      confirmedPage,
      confirmationSentPage,
      confirmationTooSoonPage,
      confirmationNotNeededPage,
      goneConfirmationPage,
    ]) {
      expect(buttonsOf(make(view, content))).toEqual([]);
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
    const page = unsubscribePage(view, { ...content, topicNames });
    expect(buttonsOf(page)).toEqual([{ label, name: 'scope', value: 'topics' }, everything]);
    for (const name of topicNames) expect(markupOf(page)).toContain(`<li><bdi>${name}</bdi></li>`);
  });

  it('offers to leave everything when the mail had no topic', () => {
    expect(buttonsOf(unsubscribePage(view, { ...content, topicNames: [] }))).toEqual([everything]);
  });

  it('offers to undo it afterwards, and everything only behind one more press', () => {
    const left = unsubscribedFromTopicsPage(view, content, UNDO_ID);
    expect(buttonsOf(left)).toEqual([undo, everything]);
    expect(markupOf(left)).toMatch(
      /<details><summary>[^<]*Rather get no emails.*Unsubscribe from everything.*<\/details>/,
    );
    expect(buttonsOf(unsubscribedFromTopicsPage(view, content, null))).toEqual([everything]);
    expect(buttonsOf(unsubscribedFromEverythingPage(view, 'MARKETING', UNDO_ID))).toEqual([undo]);
    expect(buttonsOf(unsubscribedFromEverythingPage(view, 'MARKETING', null))).toEqual([]);
  });
});

describe('the preferences page', () => {
  const everything = { label: 'Unsubscribe from everything', name: 'scope', value: 'everything' };
  const topics: ShownTopic[] = [
    { topicKey: 'APIT-1', name: 'News', description: null, status: 'SUBSCRIBED', isActive: true },
    {
      topicKey: 'APIT-2',
      name: 'Offers',
      description: 'Every week',
      status: 'PENDING_CONFIRMATION',
      isActive: true,
    },
    { topicKey: 'APIT-3', name: 'Events', description: null, status: 'UNSUBSCRIBED', isActive: true },
    { topicKey: 'APIT-4', name: 'Jobs', description: null, status: 'EXPIRED', isActive: true },
    { topicKey: 'APIT-5', name: 'Press', description: null, status: null, isActive: true },
  ];

  it('has buttons for each topic, named for it, for a pause and for leaving everything', () => {
    expect(buttonsOf(preferencesPage(view, { ...standing, topics }, [7, 90]))).toEqual([
      { label: 'Unsubscribe from News', name: 'leave', value: 'APIT-1' },
      { label: 'Confirm Offers', name: 'join', value: 'APIT-2' },
      { label: 'Unsubscribe from Offers', name: 'leave', value: 'APIT-2' },
      { label: 'Subscribe to Events', name: 'join', value: 'APIT-3' },
      { label: 'Subscribe to Jobs', name: 'join', value: 'APIT-4' },
      { label: 'Subscribe to Press', name: 'join', value: 'APIT-5' },
      { label: 'Pause for 7 days', name: 'pause', value: '7' },
      { label: 'Pause for 90 days', name: 'pause', value: '90' },
      everything,
    ]);
  });

  it('lets a topic that takes no consents be left, and no more', () => {
    const closed = topics.map((topic) => ({ ...topic, isActive: false }));
    expect(buttonsOf(preferencesPage(view, { ...standing, topics: closed }, []))).toEqual([
      { label: 'Unsubscribe from News', name: 'leave', value: 'APIT-1' },
      { label: 'Unsubscribe from Offers', name: 'leave', value: 'APIT-2' },
      everything,
    ]);
  });

  it('says where each topic stands and what it is about', () => {
    const markup = markupOf(preferencesPage(view, { ...standing, topics }, []));
    for (const words of [
      'Subscribed',
      'Waiting for your confirmation',
      'Unsubscribed',
      'Not confirmed',
      'Not subscribed',
    ]) {
      expect(markup).toContain(`<span class="status">${words}</span>`);
    }
    expect(markup).toContain('<bdi>Every week</bdi>');
  });

  it('says on which day of the reader mail starts again, and offers to end the pause', () => {
    const pausedUntil = new Date('2026-12-21T23:30:00.000Z');
    const inAuckland = { ...standing, timeZone: 'Pacific/Auckland', pausedUntil, topics: [] };
    expect(markupOf(preferencesPage(view, inAuckland, []))).toContain('start again on 22 December 2026.');
    const ofBerlin: SenderView = { ...view, sender: { ...sender, timeZone: 'Europe/Berlin' } };
    const unknown = { ...standing, pausedUntil, topics: [] };
    expect(markupOf(preferencesPage(ofBerlin, unknown, []))).toContain('start again on 22 December 2026.');
    const page = preferencesPage(view, { ...standing, pausedUntil, topics: topics.slice(0, 1) }, [7, 30, 90]);
    expect(markupOf(page)).toContain('Emails start again on 21 December 2026.');
    expect(buttonsOf(page)).toEqual([
      { label: 'Get emails again now', name: 'resume', value: 'yes' },
      { label: 'Unsubscribe from News', name: 'leave', value: 'APIT-1' },
      everything,
    ]);
  });

  it('asks once more before everything is left', () => {
    expect(buttonsOf(leaveEverythingPage(view, content))).toEqual([
      { label: 'Yes, unsubscribe from everything', name: 'confirm', value: 'everything' },
      { label: 'No, keep my preferences', name: undefined, value: undefined },
    ]);
  });

  it('says so when no mail is sent at all, and who can change that', () => {
    const saved = { heading: 'preferences.saved', undoId: null } as const;
    const page = preferencesPage(view, { ...standing, suppressed: 'MARKETING', topics }, [7], saved);
    expect(markupOf(page)).toContain('Your choice is saved');
    expect(markupOf(page)).toContain('sends no emails to');
    expect(markupOf(page)).toContain('please write to <b><bdi>Alpine Supplies</bdi></b>');
    expect(buttonsOf(page)).toEqual([]);
  });

  it('offers to undo what was just left, behind the topics', () => {
    const left = { heading: 'preferences.saved', undoId: UNDO_ID } as const;
    const page = preferencesPage(view, { ...standing, topics: topics.slice(0, 1) }, [], left);
    expect(buttonsOf(page)).toEqual([
      { label: 'Unsubscribe from News', name: 'leave', value: 'APIT-1' },
      undo,
      everything,
    ]);
    const all = preferencesPage(view, { ...standing, suppressed: 'MARKETING', topics }, [], left);
    expect(buttonsOf(all)).toEqual([undo]);
    expect(markupOf(all)).not.toContain('please write to');
  });
});

describe('leaving everything', () => {
  const ACCOUNT_MAIL = 'Only emails about your account or your orders may still come.';
  const saysSo = (page: Page) => markupOf(page).includes(ACCOUNT_MAIL);

  it('says wherever it is offered, and when it is done, that receipts still come', () => {
    const suppressed = 'MARKETING';
    const pages = {
      unsubscribe: unsubscribePage(view, content),
      afterTopics: unsubscribedFromTopicsPage(view, content, null),
      done: unsubscribedFromEverythingPage(view, suppressed, UNDO_ID),
      asked: leaveEverythingPage(view, content),
      preferences: preferencesPage(view, { ...standing, topics: topicsNamed(['News']) }, []),
      left: preferencesPage(view, { ...standing, suppressed, topics: [] }, []),
    };
    expect(Object.entries(pages).filter(([, page]) => !saysSo(page))).toEqual([]);
  });

  it('does not say so to an address that gets no mail at all', () => {
    const suppressed = 'ALL';
    expect(saysSo(unsubscribedFromEverythingPage(view, suppressed, null))).toBe(false);
    expect(saysSo(preferencesPage(view, { ...standing, suppressed, topics: [] }, []))).toBe(false);
  });
});

describe('the page of a link that does not work', () => {
  it('does not tell whose it might have been', () => {
    const broken = notFoundPage({ ...view, sender: null });
    expect(broken.status).toBe(404);
    expect(markupOf(broken)).not.toContain('class="address"');
    expect(markupOf(broken)).not.toContain('Alpine');
  });
});
