import { describe, expect, it } from '@jest/globals';
import { EMAIL, errorsOf, faultsBelow, read } from '#testing/random/rules';

const event = (subject: object, rest: object = {}) => ({
  event: subject,
  count: { op: 'gte', value: 1 },
  ...rest,
});

describe('a rule of a consent', () => {
  it('reads its topic, its statuses and how far it looks back', () => {
    expect(read({ consent: { topicKey: 'ACME-1', status: ['SUBSCRIBED', 'EXPIRED'] } }).where).toEqual({
      kind: 'consent',
      topicId: 'topic',
      statuses: ['SUBSCRIBED', 'EXPIRED'],
      within: null,
    });
    expect(
      read({ consent: { topicKey: 'ACME-1', status: ['UNSUBSCRIBED'], within: 'P1M' } }).where,
    ).toMatchObject({ within: { months: 1, days: 0, milliseconds: 0 } });
  });

  it.each<[string, unknown, Record<string, string>]>([
    ['no object', null, { '': 'must be an object' }],
    ['a list', [], { '': 'must be an object' }],
    [
      'an unknown topic',
      { topicKey: 'ACME-9', status: ['SUBSCRIBED'] },
      { '.topicKey': 'is not a known topic' },
    ],
    ['nothing', {}, { '.topicKey': 'is required', '.status': 'is required' }],
    [
      'a status that there is not',
      { topicKey: 'ACME-1', status: ['SUBSCRIBED', 'MAYBE'] },
      { '.status[1]': 'must be one of PENDING_CONFIRMATION, SUBSCRIBED, UNSUBSCRIBED, EXPIRED' },
    ],
    [
      'more than its members',
      { topicKey: 'ACME-1', status: ['SUBSCRIBED'], after: 'x' },
      { '.after': 'is not a known field' },
    ],
  ])('with %s says what is wrong', (_, consent, faults) => {
    expect(errorsOf({ consent })).toEqual(faultsBelow('rules.where.consent', faults));
  });

  it('has nothing beside it', () => {
    const where = { consent: { topicKey: 'ACME-1', status: ['SUBSCRIBED'] }, within: 'P1D' };
    expect(errorsOf(where)).toEqual({ 'rules.where.within': 'is not a known field' });
  });
});

describe('a rule of a segment', () => {
  const segment = (segmentKey: unknown, member: unknown = true) => ({ segment: { segmentKey, member } });

  it('reads which one, and whether one is in it', () => {
    expect(read(segment('ACME-1')).where).toEqual({ kind: 'segment', segmentId: 'vips', member: true });
    expect(read(segment('ACME-1', false)).where).toMatchObject({ member: false });
    expect(read(segment('ACME-5')).segmentIds).toEqual(['longest']);
  });

  it.each<[string, unknown, Record<string, string>]>([
    ['no object', { segment: 'ACME-1' }, { '': 'must be an object' }],
    ['an unknown one', segment('ACME-9'), { '.segmentKey': 'is not a known segment' }],
    ['no key', segment(undefined), { '.segmentKey': 'is required' }],
    ['itself', segment('ACME-2'), { '.segmentKey': 'would make the segment depend on itself' }],
    [
      'too long a chain',
      segment('ACME-4'),
      { '.segmentKey': 'must not nest segments more than 5 levels deep' },
    ],
    ['no membership', { segment: { segmentKey: 'ACME-1' } }, { '.member': 'is required' }],
    ['a text for membership', segment('ACME-1', 'yes'), { '.member': 'must be true or false' }],
    [
      'more than its members',
      { segment: { segmentKey: 'ACME-1', member: true, since: 1 } },
      { '.since': 'is not a known field' },
    ],
  ])('with %s says what is wrong', (_, where, faults) => {
    expect(errorsOf(where)).toEqual(faultsBelow('rules.where.segment', faults));
  });

  it('has nothing beside it', () => {
    expect(errorsOf({ ...segment('ACME-1'), count: 1 })).toEqual({
      'rules.where.count': 'is not a known field',
    });
  });

  it('counts with all the conditions of those that are named', () => {
    const large = segment('ACME-3');
    expect(errorsOf({ and: [large, EMAIL] })).toEqual({});
    expect(errorsOf({ and: [large, EMAIL, EMAIL] })).toEqual({
      rules: 'must have at most 500 conditions together with the segments that it names',
    });
    expect(
      errorsOf({ or: [{ not: segment('ACME-1') }, ...Array.from({ length: 49 }, () => EMAIL)] }),
    ).toEqual({});
  });

  it('that was accepted once is read however long the chain and however many the conditions are now', () => {
    const where = { and: [segment('ACME-3'), segment('ACME-4'), ...Array.from({ length: 60 }, () => EMAIL)] };
    expect(read(where, { stored: true })).toMatchObject({
      conditionCount: 62,
      segmentIds: ['large', 'long'],
    });
    expect(read(segment('ACME-9'), { stored: true })).toMatchObject({
      where: { segmentId: null },
      segmentIds: [],
    });
  });
});

describe('a rule of an event', () => {
  it('reads which mails are meant, how often and when', () => {
    const where = {
      event: { type: 'CLICKED', campaignKey: 'ACME-001', topicKey: 'ACME-1', url: 'https://a.example' },
      count: { op: 'lte', value: 1_000_000 },
      after: '2026-01-01T00:00:00Z',
      before: '2026-01-01T00:00:01Z',
    };
    expect(read(where).where).toEqual({
      kind: 'event',
      event: {
        type: 'CLICKED',
        mails: { campaignId: 'campaign', topicId: 'topic', url: 'https://a.example' },
      },
      count: { op: 'lte', value: 1_000_000 },
      within: null,
      after: new Date('2026-01-01T00:00:00Z'),
      before: new Date('2026-01-01T00:00:01Z'),
    });
  });

  it('takes a link as its author wrote it for the one that reports have', () => {
    const urlOf = (url: string) => read(event({ type: 'CLICKED', url })).where;
    const encoded = 'https://xn--bcher-kva.example/%C3%A4?%C3%B6=1';
    expect(urlOf('https://bücher.example/ä?ö=1')).toEqual(urlOf(encoded));
    expect(urlOf('kein Link: ä')).toMatchObject({ event: { mails: { url: 'kein Link: ä' } } });
  });

  it('looks at what happened before a moment of any year', () => {
    const before = '1969-12-31T00:00:00Z';
    expect(read(event({ type: 'OPENED' }, { before })).where).toMatchObject({ before: new Date(before) });
  });

  it.each(['SENT', 'DELIVERED', 'OPENED', 'CLICKED', 'BOUNCED', 'COMPLAINED', 'UNSUBSCRIBED'])(
    'means any mail that was %s when it says no more',
    (type) => {
      expect(read({ event: { type }, count: { op: 'eq', value: 0 }, within: 'P1D' }).where).toEqual({
        kind: 'event',
        event: { type, mails: {} },
        count: { op: 'eq', value: 0 },
        within: { months: 0, days: 1, milliseconds: 0 },
        after: null,
        before: null,
      });
    },
  );

  it('reads the project’s own events, by name or all', () => {
    expect(read(event({ type: 'CUSTOM', name: 'shop.bought_1' })).where).toMatchObject({
      event: { type: 'CUSTOM', name: 'shop.bought_1' },
    });
    expect(read(event({ type: 'CUSTOM' })).where).toMatchObject({ event: { type: 'CUSTOM', name: null } });
    const where = [{ property: 'items.sku', op: 'eq', value: 'A1' }];
    expect(read(event({ type: 'CUSTOM', where })).where).toMatchObject({
      event: { where: [{ path: ['items', 'sku'], op: 'eq', value: 'A1' }] },
    });
    expect(errorsOf(event({ type: 'CUSTOM', where: [{ property: 'a..b', op: 'near' }] }))).toEqual({
      'rules.where.event.where[0].property': expect.stringMatching(/^must be names with dots/),
      'rules.where.event.where[0].op': expect.stringMatching(/^must be one of eq/),
    });
    expect(errorsOf(event({ type: 'OPENED', where }))).toEqual({
      'rules.where.event.where': 'must only be used with CUSTOM',
    });
    expect(read(event({ type: 'CUSTOM', name: 'x'.repeat(64) })).where).toMatchObject({ kind: 'event' });
  });

  it.each(['x'.repeat(65), '1bought', 'Bought', 'bought it', 'bought!', '', '.x'])(
    'knows that %j is no name of an event',
    (name) => {
      expect(errorsOf(event({ type: 'CUSTOM', name }))).toEqual({
        'rules.where.event.name': 'does not have the form of an event name',
      });
    },
  );

  it('takes an address of 2048 characters and none that is longer', () => {
    expect(errorsOf(event({ type: 'CLICKED', url: 'x'.repeat(2_048) }))).toEqual({});
    expect(errorsOf(event({ type: 'CLICKED', url: 'x'.repeat(2_049) }))).toEqual({
      'rules.where.event.url': 'must be at most 2048 characters',
    });
  });

  const opened = { type: 'OPENED' };
  const custom = 'must not be used with CUSTOM';
  it.each<[string, unknown, Record<string, string>]>([
    ['no object', { event: 'OPENED', count: { op: 'eq', value: 1 } }, { '.event': 'must be an object' }],
    [
      'no kind',
      event({}),
      {
        '.event.type': 'is required',
      },
    ],
    [
      'a kind that there is not',
      event({ type: 'SEEN' }),
      {
        '.event.type':
          'must be one of SENT, DELIVERED, OPENED, CLICKED, BOUNCED, COMPLAINED, UNSUBSCRIBED, CUSTOM',
      },
    ],
    ['a member that there is not', event({ ...opened, to: 1 }), { '.event.to': 'is not a known field' }],
    ['a name of a mail', event({ ...opened, name: 'x' }), { '.event.name': 'must only be used with CUSTOM' }],
    [
      'a link that is not clicked',
      event({ ...opened, url: 'x' }),
      { '.event.url': 'must only be used with CLICKED' },
    ],
    ['a link that is no text', event({ type: 'CLICKED', url: 7 }), { '.event.url': 'must be a string' }],
    [
      'an unknown campaign',
      event({ ...opened, campaignKey: 'X' }),
      { '.event.campaignKey': 'is not a known campaign' },
    ],
    ['an unknown topic', event({ ...opened, topicKey: 'X' }), { '.event.topicKey': 'is not a known topic' }],
    [
      'mails of a custom event',
      event({ type: 'CUSTOM', campaignKey: 'x', topicKey: 'x', url: 'x' }),
      { '.event.campaignKey': custom, '.event.topicKey': custom, '.event.url': custom },
    ],
    [
      'a custom event whose name is no text',
      event({ type: 'CUSTOM', name: 7 }),
      { '.event.name': 'must be a string' },
    ],
    ['no count', { event: opened }, { '.count': 'is required' }],
    [
      'an empty count',
      { event: opened, count: {} },
      { '.count.op': 'is required', '.count.value': 'is required' },
    ],
    [
      'a count that there is not',
      { event: opened, count: { op: 'gt', value: 1_000_001, per: 1 } },
      {
        '.count.per': 'is not a known field',
        '.count.op': 'must be one of gte, lte, eq',
        '.count.value': 'must be an integer from 0 to 1000000',
      },
    ],
    [
      'half a time',
      { event: opened, count: { op: 'gte', value: 0.5 } },
      { '.count.value': 'must be an integer from 0 to 1000000' },
    ],
    [
      'less than nothing',
      { event: opened, count: { op: 'gte', value: -1 } },
      { '.count.value': 'must be an integer from 0 to 1000000' },
    ],
    [
      'two kinds of windows',
      event(opened, { within: 'P1D', before: '2026-01-01T00:00:00Z' }),
      { '.within': 'must not be used together with after or before' },
    ],
    [
      'an empty window',
      event(opened, { after: '2026-01-01T00:00:00Z', before: '2026-01-01T00:00:00Z' }),
      { '.before': 'must be later than after' },
    ],
    [
      'moments that are none',
      event(opened, { after: '2026-01-01', before: 7 }),
      { '.after': 'must be a date and time in ISO 8601 with a time zone', '.before': 'must be a string' },
    ],
    ['a duration that is none', event(opened, { within: 7 }), { '.within': 'must be a string' }],
    ['a member beside it', event(opened, { since: 1 }), { '.since': 'is not a known field' }],
  ])('with %s says what is wrong', (_, where, faults) => {
    expect(errorsOf(where)).toEqual(faultsBelow('rules.where', faults));
  });
});
