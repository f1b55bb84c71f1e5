import { describe, expect, it } from '@jest/globals';
import type { RecordPurpose } from '../dns/dns-record.js';
import { RELAY_KINDS, type RelayKind } from './kinds/kinds.js';
import { RELAY_STREAMS, type RelaySigning } from './kinds/kind.js';
import { requiredRecords } from './relays.query.js';

const ALL: RecordPurpose[] = ['OWNERSHIP', 'DKIM', 'SPF', 'MX', 'DMARC'];
const relay = (kind: RelayKind, streams = [...RELAY_STREAMS], signing: RelaySigning = 'OWN') => ({
  kind,
  streams,
  signing,
});
type Relays = Parameters<typeof requiredRecords>[0];

describe('The records that a sending domain needs', () => {
  it.each<[string, Relays, RecordPurpose[]]>([
    ['all without a relay of the project', [], ALL],
    ['all with an SMTP server of one’s own', [relay('SMTP')], ALL],
    ['no SPF and MX with Amazon SES, where bounces return', [relay('SES')], ['OWNERSHIP', 'DKIM', 'DMARC']],
    ['no DKIM of ours with Postmark, which signs anew', [relay('POSTMARK')], ['OWNERSHIP', 'DMARC']],
    [
      'no DKIM where the relay signs alone',
      [relay('SMTP', [...RELAY_STREAMS], 'RELAY')],
      ['OWNERSHIP', 'SPF', 'MX', 'DMARC'],
    ],
    [
      'what any of several relays needs',
      [relay('POSTMARK'), relay('SES', ['CAMPAIGN'])],
      ['OWNERSHIP', 'DMARC', 'DKIM'],
    ],
    [
      'DKIM when one of two relays leaves the signing to us',
      [relay('SES', [...RELAY_STREAMS], 'RELAY'), relay('SES')],
      ['OWNERSHIP', 'DKIM', 'DMARC'],
    ],
    [
      'all while confirmations go by the installation’s relay',
      [relay('SES', ['CAMPAIGN', 'AUTOMATION', 'TEST'])],
      ALL,
    ],
    [
      'all while messages go by the installation’s relay',
      [relay('SES', ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TEST'])],
      ALL,
    ],
    [
      'what the relays need when together they take all that is sent',
      [relay('SES', ['CAMPAIGN', 'AUTOMATION']), relay('POSTMARK', ['OPT_IN', 'TEST', 'TRANSACTIONAL'])],
      ['OWNERSHIP', 'DKIM', 'DMARC'],
    ],
  ])('are %s', (_, relays, purposes) => {
    expect([...requiredRecords(relays)].sort()).toEqual([...purposes].sort());
  });

  it.each(RELAY_KINDS)('are the proof of ownership and DMARC at least, with %s too', (kind) => {
    expect([...requiredRecords([relay(kind)])]).toEqual(expect.arrayContaining(['OWNERSHIP', 'DMARC']));
  });
});
