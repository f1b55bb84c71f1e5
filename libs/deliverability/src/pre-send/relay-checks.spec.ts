import { describe, expect, it } from '@jest/globals';
import type { CampaignFacts } from './campaign-facts.js';
import { summarise } from './pre-send-check.js';
import { allChecks, campaign, messages } from './pre-send.fixture.js';

type Relays = NonNullable<CampaignFacts['relays']>;
type Result = 'PASS' | 'FAIL' | 'SKIPPED';

const relay = (name: string, status: Relays[number]['status'], isSilent = false) => ({
  name,
  status,
  isSilent,
});
const told = (code: string, result: Result, relays: Relays | null) =>
  messages(campaign({ relays }), result).find((message) => message.startsWith(`${code}: `));

describe('the relays in the analysis', () => {
  it.each<[Result, string, Relays | null]>([
    ['PASS', 'The relay of the installation sends it.', []],
    ['PASS', 'Relays that send it: Main.', [relay('Main', 'ACTIVE')]],
    ['PASS', 'Relays that send it: Second.', [relay('Main', 'FAILING'), relay('Second', 'ACTIVE')]],
    [
      'FAIL',
      'The mail will wait, because no relay for campaigns can be used: Main is PAUSED; Second is FAILING. Repair or resume one.',
      [relay('Main', 'PAUSED'), relay('Second', 'FAILING')],
    ],
    ['SKIPPED', 'Test mail stays in its inbox.', null],
  ])('%s: %s', (result, message, relays) => {
    expect(told('relays', result, relays)).toBe(`relays: ${message}`);
  });

  it('warn of mail that will wait, and refuse nothing', () => {
    const facts = campaign({ relays: [relay('Main', 'PAUSED')] });
    expect(summarise(allChecks(facts))).toMatchObject({ status: 'WARNING', score: 90 });
  });

  it('hint at a provider that was handed mail and never told what became of it', () => {
    const relays = [relay('Main', 'ACTIVE', true), relay('Second', 'ACTIVE')];
    expect(told('relay-feedback', 'PASS', relays)).toBe(
      'relay-feedback: No provider has told what became of the mail of: Main. Enter the feedbackUrl of the relay there.',
    );
    expect(summarise(allChecks(campaign({ relays })))).toMatchObject({ status: 'PASSED', score: 100 });
  });

  it.each<[Result, string, Relays | null]>([
    ['PASS', 'No provider that was handed mail is silent about it.', [relay('Main', 'ACTIVE')]],
    ['SKIPPED', 'No relay of the project sends it.', []],
    ['SKIPPED', 'No relay of the project sends it.', null],
  ])('say of feedback: %s: %s', (result, message, relays) => {
    expect(told('relay-feedback', result, relays)).toBe(`relay-feedback: ${message}`);
  });
});
