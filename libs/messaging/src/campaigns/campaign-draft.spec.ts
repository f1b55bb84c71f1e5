import { describe, expect, it } from '@jest/globals';
import { isCampaignKey } from './campaign-draft.js';

describe('the key of a campaign', () => {
  it.each(['AC-001', 'ACME-042', 'A1-999', 'ACME1234-1000', 'ACME-1234567890123456789'])(
    'can be %s',
    (key) => {
      expect(isCampaignKey(key)).toBe(true);
    },
  );

  it.each([
    '',
    'ACME',
    'ACME-',
    'ACME-01',
    'A-001',
    '1A-001',
    'acme-001',
    'ACME12345-001',
    'ACME-0x1',
    ' ACME-001',
    'ACME-001 ',
    'ACME_1-001',
    'ACME-12345678901234567890',
  ])('cannot be %j', (key) => {
    expect(isCampaignKey(key)).toBe(false);
  });
});
