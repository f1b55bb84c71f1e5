import { describe, expect, it } from '@jest/globals';
import { countsOf, factsOf, pastCampaign } from '#testing/fixtures/report-facts';
import { loadReportLocale } from './report-writing.service.js';
import { creditsFor, mostTokensOf } from './language-model.js';
import { reportContent, reportPrompt } from './report-prompt.js';

const links = [
  { url: 'https://acme.example/for?email=ada@lovelace.example', clickers: 30 },
  { url: 'https://acme.example/other', clickers: 2 },
];
const facts = factsOf({
  campaign: { name: 'May', subject: 'For ada@lovelace.example' },
  counts: countsOf({ totalSent: 1_000, uniqueOpens: 200, uniqueClicks: 30 }),
  history: [pastCampaign({ totalSent: 1_000, uniqueOpens: 400 }, 'Secret sale')],
  links,
  clickers: 30,
});

describe('What a model is asked', () => {
  it('holds the counts, the campaign’s name and what is significant', () => {
    const { question } = reportPrompt(facts, loadReportLocale('pl'));
    expect(question).toContain('Write in Polish.');
    expect(question).toContain('"name":"May"');
    expect(question).toContain('"totalSent":1000');
    expect(question).toContain('istotnie gorzej');
    expect(question).toContain('link 1');
  });

  it.each([
    ['Call Ada: +44 20 7946 0958!', 'Call Ada: …!'],
    ['Ada (030) 1234-567', 'Ada …'],
    ['اتصل ٠٢٠٧٩٤٦٠٩٥٨', 'اتصل …'],
    ['Sale of 2026-11-27, 50 % off 1 299', 'Sale of 2026-11-27, 50 % off 1 299'],
  ])('holds no telephone number: %s', (name, told) => {
    const campaign = { ...facts.campaign, name };
    const { question } = reportPrompt({ ...facts, campaign }, loadReportLocale('en'));
    expect(question).toContain(`"name":${JSON.stringify(told)}`);
  });

  it('holds no address, no link and no other campaign’s name', () => {
    const { question, instructions } = reportPrompt(facts, loadReportLocale('en'));
    expect(question + instructions).not.toMatch(/lovelace|https?:|Secret sale/);
  });
});

describe('What a model answers', () => {
  it('gets the links that it speaks of', () => {
    expect(reportContent('Put **link 1** first.', facts)).toBe(
      'Put **link 1** first.\n\n---\n\n- link 1: `https://acme.example/for?email=ada@lovelace.example`\n',
    );
    expect(reportContent('1 of 2 mails.', facts)).toBe('1 of 2 mails.\n');
  });

  it('is nothing when nothing harmless is in it', () => {
    expect(reportContent('<img src="https://evil.example">', facts)).toBeNull();
  });

  it('is bounded', () => {
    expect(reportContent('word\n'.repeat(10_000), facts)?.length).toBeLessThan(13_000);
  });
});

describe('What an answer costs', () => {
  it.each([
    [0, 0, 1],
    [1_000, 0, 1],
    [1_001, 0, 2],
    [1_000, 500, 3],
    [0, 1_500, 6],
  ])('for %i tokens asked and %i answered is %i credits', (promptTokens, completionTokens, credits) => {
    expect(creditsFor('any-model', { promptTokens, completionTokens })).toBe(credits);
  });

  it('is never more than what is reserved for texts of two bytes a token', () => {
    const request = { instructions: 'a'.repeat(1_000), question: 'ż'.repeat(1_000), mostTokens: 1_500 };
    expect(mostTokensOf(request)).toEqual({ promptTokens: 1_500, completionTokens: 1_500 });
  });
});
