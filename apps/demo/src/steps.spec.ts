import { describe, expect, it } from '@jest/globals';
import type { Answer } from './answer.js';
import { Story } from './flow.js';
import { flow } from './steps.js';

const TIME = '2026-11-21T08:00:00.000Z';
const UNSUBSCRIBE = 'http://localhost:3000/u/token';

function story(): Story {
  const told = new Story('1');
  told.note('doubleOptIn', { id: 'id-1', topicKey: 'DEMO-1', name: 'Product news' });
  told.note('singleOptIn', { id: 'id-2', topicKey: 'DEMO-2', name: 'Release notes' });
  told.note('firstCampaign', 'DEMO-001');
  told.note('secondCampaign', 'DEMO-002');
  return told;
}

/** Result of a step's check for an answer. */
function check(name: string, answer: Partial<Answer>): string {
  const step = flow.find((candidate) => candidate.name === name);
  if (step === undefined) throw new Error(`There is no step "${name}".`);
  const usual = { status: 200, headers: new Headers(), text: '', json: undefined };
  return step.check({ ...usual, ...answer }, story());
}

const consents = (consent: object) => ({ json: { consents: [{ topicKey: 'DEMO-1', ...consent }] } });
const inbox = (...subjects: string[]) => ({
  json: {
    data: subjects.map((subject, index) => ({ id: `mail-${index}`, to: 'ada+1@example.com', subject })),
    pagination: { totalElements: subjects.length },
  },
});
const mail = (changes: object = {}) => ({
  json: {
    subject: 'First issue for Ada',
    html: '<p>Hello Ada</p>',
    text: 'Hello Ada',
    links: { unsubscribe: UNSUBSCRIBE },
    headers: {
      'List-Unsubscribe': `<${UNSUBSCRIBE}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
    ...changes,
  },
});

describe('the demo is content with', () => {
  it.each<[string, Partial<Answer>, string]>([
    [
      'Looking has confirmed nothing',
      consents({ status: 'PENDING_CONFIRMATION', confirmedAt: null }),
      'the consent is still PENDING_CONFIRMATION',
    ],
    ['Now her consent is there', consents({ status: 'SUBSCRIBED', confirmedAt: TIME }), TIME],
    ['Ada opens it', mail(), 'calls her by name'],
    ['The report counts it', { json: { totalSent: 5, totalDelivered: 4 } }, '5 sent, 4 delivered'],
    [
      'Ada clicks its button',
      { status: 302, headers: new Headers({ location: 'https://example.com/news' }) },
      'led to https://example.com/news',
    ],
    [
      'The report names the link that she followed',
      { json: [{ url: 'https://example.com/news', clicks: 1, uniqueClicks: 1 }] },
      '1 click',
    ],
    ['Ada, who left, has received only the first', inbox('First issue for Ada'), 'one mail still'],
  ])('%s', (name, answer, words) => {
    expect(check(name, answer)).toContain(words);
  });
});

describe('the demo does not put up with', () => {
  it.each<[string, string, Partial<Answer>, string]>([
    [
      'a live key',
      'The key opens a project in its test environment',
      { json: { environment: 'LIVE' } },
      'Expected environment: "TEST"; came environment: "LIVE".',
    ],
    [
      'a project without a double opt-in topic',
      'The project has topics that people subscribe to',
      { json: { data: [{ id: 'id-2', topicKey: 'DEMO-2', name: 'News', doubleOptInEnabled: false }] } },
      'Expected an active topic with double opt-in; came 1 topics, none of that kind.',
    ],
    [
      'a double opt-in that asks nobody',
      'Ada signs up for the topic that asks for confirmation',
      { status: 201, json: { email: 'ada+1@example.com', status: 'ACTIVE' } },
      'Expected status: "PENDING_CONFIRMATION"; came status: "ACTIVE".',
    ],
    [
      'a refusal, whose words it repeats',
      'Ada signs up for the topic that asks for confirmation',
      { status: 409, json: { title: 'Already exists', detail: 'There is such a subscriber.' } },
      'Expected status 201; came status 409, Already exists, There is such a subscriber..',
    ],
    [
      'a consent that a mail scanner gave',
      'Looking has confirmed nothing',
      consents({ status: 'SUBSCRIBED', confirmedAt: TIME }),
      `Expected consents.0.status: "PENDING_CONFIRMATION", consents.0.confirmedAt: null; came consents.0.status: "SUBSCRIBED", consents.0.confirmedAt: "${TIME}".`,
    ],
    [
      'a consent without the time of its confirmation',
      'Now her consent is there',
      consents({ status: 'SUBSCRIBED', confirmedAt: null }),
      'Expected consents.0.confirmedAt: a time; came consents.0.confirmedAt: null.',
    ],
    [
      'a consent to something else only',
      'Now her consent is there',
      consents({ topicKey: 'DEMO-2', status: 'SUBSCRIBED', confirmedAt: TIME }),
      'Expected a consent for DEMO-1; came status 200 without one.',
    ],
    [
      'a campaign that failed',
      'The worker sends the first campaign out',
      { json: { status: 'FAILED' } },
      'Expected status: "SENT"; came status: "FAILED".',
    ],
    [
      'a mail without a name in it',
      'Ada opens it',
      mail({ html: '<p>Hello there</p>' }),
      'Expected html: a text with "Hello Ada"; came html: "<p>Hello there</p>".',
    ],
    [
      'a mail without a header for one-click unsubscribing',
      'Ada opens it',
      mail({ headers: { 'List-Unsubscribe': `<${UNSUBSCRIBE}>` } }),
      'Expected List-Unsubscribe-Post: "List-Unsubscribe=One-Click"; came List-Unsubscribe-Post: nothing.',
    ],
    [
      'a report that counts too few',
      'The report counts it',
      { json: { totalSent: 1, totalDelivered: 1 } },
      'Expected totalSent: at least 2, totalDelivered: at least 2; came totalSent: 1, totalDelivered: 1.',
    ],
    [
      'a link that leads elsewhere',
      'Ada clicks its button',
      { status: 302, headers: new Headers({ location: 'https://elsewhere.example/' }) },
      'Expected location: "https://example.com/news"; came location: "https://elsewhere.example/".',
    ],
    [
      'a click of an address that nobody wrote',
      'The report names the link that she followed',
      { json: [{ url: 'https://example.com/', clicks: 1, uniqueClicks: 1 }] },
      'Expected 0.url: "https://example.com/news"; came 0.url: "https://example.com/".',
    ],
    [
      'an event that is told without its value',
      'Grace gets a mail for the greater one, with its number',
      inbox('Your order'),
      'Expected data.0.subject: "Your order 1042"; came data.0.subject: "Your order".',
    ],
    [
      'a CSV that a browser would show as a page',
      'The worker makes a CSV of it',
      {
        headers: new Headers({ 'content-type': 'text/html' }),
        text: 'campaignKey,name,status,totalSent,\r\nDEMO-001,First issue,SENT,2\r\n',
      },
      'Expected content-type: a text with "text/csv"; came content-type: "text/html".',
    ],
    [
      'a one-click that redirects',
      'Ada unsubscribes with the button of her mail program',
      { status: 303 },
      'Expected status 200; came status 303.',
    ],
    [
      'a one-click that sets a cookie',
      'Ada unsubscribes with the button of her mail program',
      { headers: new Headers({ 'set-cookie': 'a=b' }) },
      'Expected set-cookie: null; came set-cookie: "a=b".',
    ],
    [
      'a mail to someone who left',
      'Ada, who left, has received only the first',
      inbox('Second issue for Ada', 'First issue for Ada'),
      'Expected pagination.totalElements: 1, data.0.subject: "First issue for Ada"; came pagination.totalElements: 2, data.0.subject: "Second issue for Ada".',
    ],
  ])('%s', (_, name, answer, words) => {
    expect(() => check(name, answer)).toThrow(words);
  });
});
