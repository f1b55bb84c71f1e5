import { describe, expect, it } from '@jest/globals';
import { type CampaignFacts, criticalChecks } from './critical-checks.js';
import { summarise } from './pre-send-check.js';

const good: CampaignFacts = {
  topics: [{ name: 'Product news', status: 'ACTIVE' }],
  recipients: 3,
  senderDomain: { name: 'acme.example', verified: true },
  sendingAllowed: true,
  emailsRemaining: 3,
  contentEmpty: false,
  hasUnsubscribeLink: true,
  mergeTagFaults: [],
  linkFaults: [],
};

const failing = (facts: Partial<CampaignFacts>) =>
  criticalChecks({ ...good, ...facts })
    .filter(({ result }) => result === 'FAIL')
    .map(({ code }) => code);

describe('criticalChecks', () => {
  it('pass for a campaign in order, with full marks', () => {
    expect(summarise(criticalChecks(good))).toMatchObject({ score: 100, status: 'PASSED' });
  });

  it.each<[string, Partial<CampaignFacts>]>([
    ['topic', { topics: [] }],
    ['topic', { topics: [{ name: 'Old', status: 'ARCHIVED' }] }],
    ['recipients', { recipients: 0 }],
    ['sender-domain-verified', { senderDomain: { name: 'acme.example', verified: false } }],
    ['subscription-active', { sendingAllowed: false }],
    ['email-quota', { emailsRemaining: 2 }],
    ['content-empty', { contentEmpty: true }],
    ['merge-tags', { mergeTagFaults: ['{{ nobody }} is not known'] }],
    ['unsubscribe-link', { hasUnsubscribeLink: false }],
    ['links', { linkFaults: ['javascript:x'] }],
  ])('fail %s alone when that is what is wrong', (code, facts) => {
    expect(failing(facts)).toEqual([code]);
  });

  it('skip what does not apply in the test environment', () => {
    const skipped = criticalChecks({ ...good, senderDomain: null, emailsRemaining: null }).filter(
      ({ result }) => result === 'SKIPPED',
    );
    expect(skipped.map(({ code }) => code)).toEqual(['sender-domain-verified', 'email-quota']);
  });

  it('a single critical failure fails the analysis', () => {
    expect(summarise(criticalChecks({ ...good, linkFaults: ['x'] }))).toMatchObject({
      score: 80,
      status: 'FAILED',
    });
  });
});
