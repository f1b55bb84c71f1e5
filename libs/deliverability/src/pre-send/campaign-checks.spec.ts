import { describe, expect, it } from '@jest/globals';
import { analyseCampaign } from './campaign-checks.js';
import { allChecks, campaign, withContent } from './pre-send.fixture.js';
import { summarise } from './pre-send-check.js';

const failures = (analysis: ReturnType<typeof analyseCampaign>) =>
  analysis.checks.filter(({ result }) => result === 'FAIL').map(({ code, message }) => [code, message]);

describe('a campaign in several languages', () => {
  it('is judged as one in a single language where they are all in order', () => {
    const facts = campaign();
    const analysis = analyseCampaign(facts, new Map([['de', facts]]));
    expect(analysis).toEqual(summarise(allChecks(facts)));
  });

  it('fails by one translation, which the check names', () => {
    const de = campaign({ mergeTagFaults: ['{{ nobody }} is not known'] });
    const analysis = analyseCampaign(
      campaign(),
      new Map([
        ['de', de],
        ['ja', campaign()],
      ]),
    );
    expect(analysis).toMatchObject({ score: 70, status: 'FAILED' });
    expect(failures(analysis)).toEqual([['merge-tags', 'de: Merge tags: {{ nobody }} is not known.']]);
    expect(analysis.checks).toHaveLength(allChecks(campaign()).length);
  });

  it('has the score of the language that does worst, and each fault of each language', () => {
    const facts = withContent({ subject: 'x'.repeat(75) });
    const analysis = analyseCampaign(
      facts,
      new Map([
        ['de', withContent({ subject: 'x'.repeat(80), previewText: null })],
        ['ja', withContent({ images: [''] })],
      ]),
    );
    expect(analysis).toMatchObject({ score: 92, status: 'WARNING' });
    expect(failures(analysis).map(([code, message]) => `${code}: ${message}`)).toEqual([
      'subject-length: The subject has 75 characters; inboxes cut it off after 70. de: The subject has 80 characters; inboxes cut it off after 70.',
      'preview-text: de: Set previewText: without it, inboxes show the first words of the mail.',
      'alt-text: ja: 1 of 1 images have no alt text, which is all that many readers get of them.',
    ]);
  });

  it('loses what no language could help once, be it in ten of them', () => {
    const facts = campaign({ recipients: 0 });
    expect(analyseCampaign(facts, new Map([['de', facts]]))).toMatchObject({ score: 60, status: 'FAILED' });
  });
});
