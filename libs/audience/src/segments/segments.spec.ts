import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DomainValidationError, InUseError, newId, NotFoundError, type ProjectScope } from '#kernel';
import { evaluateDueSegments } from '#testing/time/due-segments';
import { address, AudienceFixture, HOUR, MINUTE, PROOF } from '../audience.fixture.js';
import { RecipientsQuery } from '../recipients.query.js';
import { ConsentsService } from '../sign-up/consents.service.js';
import { SubscribersService } from '../subscribers/subscribers.service.js';
import { UsageCatalogueService } from '../usage-catalogue.service.js';
import { SegmentEvaluationsService } from './segment-evaluations.service.js';
import { SegmentMembersService } from './segment-members.service.js';
import { SegmentsQuery } from './segments.query.js';
import { SegmentsService } from './segments.service.js';

const FIRST_PAGE = { page: 0, size: 20 };

const rules = (where: unknown) => JSON.stringify({ version: 1, where });
const named = (name: string) => rules({ field: 'firstName', op: 'eq', value: name });
const inSegment = (segmentKey: string, member = true) => rules({ segment: { segmentKey, member } });

describe('segments', () => {
  let audience: AudienceFixture;
  let segments: SegmentsService;
  let deletion: SegmentsService;
  let membership: SegmentMembersService;
  const used = new Set<string>();

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    segments = audience.get(SegmentsService);
    deletion = audience.get(SegmentsService);
    membership = audience.get(SegmentMembersService);
    audience.get(UsageCatalogueService).register({
      users: 'campaign',
      usesOf: (_scope, things) => {
        const found = things.kind === 'segment' ? things.ids.filter((id) => used.has(id)) : [];
        return Promise.resolve(
          found.map((of) => ({ kind: 'campaign', key: 'ACME-001', name: 'Autumn', of })),
        );
      },
    });
  });
  afterAll(() => audience.close());

  /** A project with a topic and subscribers called like their first names, one a second. */
  async function town(...names: string[]) {
    const scope = await audience.scope();
    const topic = await audience.topic(scope);
    const people: Record<string, string> = {};
    for (const name of names) {
      audience.clock.advance(1_000);
      people[name] = (await audience.subscribe(scope, `${name}@example.com`, topic)).id;
      await rename(scope, name, name);
    }
    return { scope, topic, people };
  }

  async function rename(scope: ProjectScope, who: string, firstName: string | null): Promise<void> {
    await audience.get(SubscribersService).update(scope, address(`${who}@example.com`), { firstName }, PROOF);
  }

  async function members(scope: ProjectScope, id: string, page = FIRST_PAGE): Promise<string[]> {
    const { items } = await audience.get(SegmentMembersService).page(scope, id, page);
    return items.map(({ email }) => email.split('@')[0]!);
  }

  async function transitions(id: string): Promise<string[]> {
    const rows = await audience.test.query<{ kind: string; email: string }>(
      `select t.kind, b.email from audience.segment_transitions t
       join audience.subscribers b on b.id = t.subscriber_id and b.environment_id = t.environment_id
       where t.segment_id = $1 order by t.position`,
      [id],
    );
    return rows.map(({ kind, email }) => `${kind} ${email.split('@')[0]}`);
  }

  const countOf = async (scope: ProjectScope, id: string) =>
    (await audience.get(SegmentsQuery).get(scope, id)).memberCount;

  it('are DYNAMIC with rules, evaluated at once, and STATIC without', async () => {
    const { scope } = await town('Ada', 'Bob');
    const dynamic = await segments.create(scope, { name: 'Adas', rules: named('ADA') });
    expect(dynamic).toMatchObject({
      segmentKey: 'APIT-1',
      type: 'DYNAMIC',
      status: 'ACTIVE',
      description: null,
      rules: named('ADA'),
      memberCount: 1,
    });
    const fixed = await segments.create(scope, { name: 'Friends' });
    expect(fixed).toMatchObject({ segmentKey: 'APIT-2', type: 'STATIC', rules: null, memberCount: 0 });
    expect(await members(scope, dynamic.segmentKey)).toEqual(['Ada']);
    expect(await members(scope, fixed.id)).toEqual([]);
    const { items, totalElements } = await audience.get(SegmentsQuery).page(scope, FIRST_PAGE);
    expect([totalElements, items.map(({ id }) => id)]).toEqual([2, [fixed.id, dynamic.id]]);
  });

  it('have rules exactly when they are DYNAMIC', async () => {
    const { scope } = await town();
    for (const input of [
      { type: 'STATIC' as const, rules: named('x') },
      { type: 'DYNAMIC' as const },
      { type: 'DYNAMIC' as const, rules: null },
    ]) {
      await expect(segments.create(scope, { name: 'x', ...input })).rejects.toMatchObject({
        constructor: DomainValidationError,
        errors: { rules: expect.any(String) },
      });
    }
    const fixed = await segments.create(scope, { name: 'x' });
    await expect(segments.update(scope, fixed.id, { rules: named('x') })).rejects.toThrow(
      DomainValidationError,
    );
    expect(await segments.update(scope, fixed.id, { rules: null })).toEqual(fixed);
    const dynamic = await segments.create(scope, { name: 'x', rules: named('x') });
    await expect(segments.update(scope, dynamic.id, { rules: null })).rejects.toThrow(DomainValidationError);
  });

  it('change as a merge-patch says; new rules are evaluated and tell who came and went', async () => {
    const { scope } = await town('Ada', 'Bob');
    const segment = await segments.create(scope, { name: 'x', description: 'y', rules: named('Ada') });
    audience.clock.advance(1_000);
    expect(await segments.update(scope, segment.id, {})).toEqual(segment);
    const changed = await segments.update(scope, segment.segmentKey, {
      name: 'z',
      description: null,
      status: 'INACTIVE',
      rules: named('Bob'),
    });
    expect(changed).toMatchObject({ name: 'z', description: null, status: 'INACTIVE', memberCount: 1 });
    expect(changed.updatedAt).toEqual(audience.clock.now());
    expect(await members(scope, segment.id)).toEqual(['Bob']);
    expect(await transitions(segment.id)).toEqual(['LEFT Ada', 'ENTERED Bob']);
    await expect(segments.update(scope, newId(), {})).rejects.toThrow(NotFoundError);
    await expect(segments.update(scope, 'no key', {})).rejects.toThrow(NotFoundError);
  });

  it('tell who entered and left by comparing evaluations, and nothing by the first', async () => {
    const { scope } = await town('Ada', 'Bob', 'Cleo');
    const segment = await segments.create(scope, { name: 'x', rules: named('Ada') });
    expect(await transitions(segment.id)).toEqual([]);
    await rename(scope, 'Bob', 'ada');
    await rename(scope, 'Ada', null);
    expect(await members(scope, segment.id)).toEqual(['Bob']);
    expect((await transitions(segment.id)).sort()).toEqual(['ENTERED Bob', 'LEFT Ada']);
    expect(await members(scope, segment.id)).toEqual(['Bob']);
    expect(await transitions(segment.id)).toHaveLength(2);
    expect(await countOf(scope, segment.id)).toBe(1);
  });

  it('list the latest member first, page by page of one evaluation', async () => {
    const { scope } = await town('Ada', 'Bob', 'Cleo');
    const segment = await segments.create(scope, {
      name: 'x',
      rules: rules({ field: 'firstName', op: 'neq', value: 'Cleo' }),
    });
    expect(await members(scope, segment.id)).toEqual(['Bob', 'Ada']);
    audience.clock.advance(1_000);
    await rename(scope, 'Cleo', 'Caesar');
    expect(await members(scope, segment.id, { page: 0, size: 2 })).toEqual(['Cleo', 'Bob']);
    await rename(scope, 'Ada', 'Cleo');
    const { items, totalElements } = await audience
      .get(SegmentMembersService)
      .page(scope, segment.id, { page: 1, size: 2 });
    expect([items.map(({ email }) => email), totalElements]).toEqual([['Ada@example.com'], 3]);
    expect(
      (await audience.get(SegmentMembersService).page(scope, segment.id, { page: 9, size: 2 })).totalElements,
    ).toBe(3);
  });

  it('take static members by id and by address, and let them go again', async () => {
    const { scope, people } = await town('Ada', 'Bob', 'Cleo');
    const segment = await segments.create(scope, { name: 'x' });
    await membership.add(scope, segment.id, {
      subscriberIds: [people['Ada']!.toUpperCase(), people['Ada']!],
      emails: [address('BOB@example.com')],
    });
    await membership.add(scope, segment.segmentKey, { subscriberIds: [people['Ada']!] });
    expect(await countOf(scope, segment.id)).toBe(2);
    expect(await transitions(segment.id)).toHaveLength(2);
    await membership.remove(scope, segment.id, {
      emails: [address('ada@example.com'), address('cleo@example.com')],
    });
    expect(await members(scope, segment.id)).toEqual(['Bob']);
    expect(await countOf(scope, segment.id)).toBe(1);
    expect((await transitions(segment.id)).at(-1)).toBe('LEFT Ada');
  });

  it('take nobody when one of them is unknown, and nobody by hand into a DYNAMIC one', async () => {
    const { scope, people } = await town('Ada');
    const { people: strangers } = await town('Eve');
    const segment = await segments.create(scope, { name: 'x' });
    const attempt = {
      subscriberIds: [people['Ada']!, newId(), strangers['Eve']!],
      emails: [address('eve@example.com')],
    };
    for (const change of [
      () => membership.add(scope, segment.id, attempt),
      () => membership.remove(scope, segment.id, attempt),
    ]) {
      await expect(change()).rejects.toMatchObject({
        errors: {
          'subscriberIds[1]': 'is not a known subscriber',
          'subscriberIds[2]': 'is not a known subscriber',
          'emails[0]': 'is not a known subscriber',
        },
      });
    }
    expect(await members(scope, segment.id)).toEqual([]);
    const dynamic = await segments.create(scope, { name: 'x', rules: named('x') });
    await expect(
      membership.add(scope, dynamic.id, { emails: [address('ada@example.com')] }),
    ).rejects.toMatchObject({
      errors: { emails: expect.stringMatching(/DYNAMIC/) },
    });
    await expect(membership.add(scope, newId(), { subscriberIds: [] })).rejects.toThrow(NotFoundError);
  });

  it('lose who is erased, and count it', async () => {
    const { scope, people } = await town('Ada', 'Bob');
    const fixed = await segments.create(scope, { name: 'x' });
    await membership.add(scope, fixed.id, { subscriberIds: Object.values(people) });
    const dynamic = await segments.create(scope, {
      name: 'x',
      rules: rules({ field: 'email', op: 'exists' }),
    });
    await audience.test.query('delete from audience.subscribers where id = $1', [people['Ada']]);
    expect([await countOf(scope, fixed.id), await countOf(scope, dynamic.id)]).toEqual([1, 1]);
    const rows = await audience.test.query(
      'select 1 from audience.segment_members where subscriber_id = $1',
      [people['Ada']],
    );
    expect(rows).toEqual([]);
  });

  it('can name one another, but not in a circle, also not when two requests close it together', async () => {
    const { scope } = await town('Ada', 'Bob');
    const first = await segments.create(scope, { name: 'first', rules: named('Ada') });
    const second = await segments.create(scope, {
      name: 'second',
      rules: inSegment(first.segmentKey, false),
    });
    expect(await members(scope, second.id)).toEqual(['Bob']);
    for (const key of [first.segmentKey, second.segmentKey]) {
      await expect(segments.update(scope, first.id, { rules: inSegment(key) })).rejects.toMatchObject({
        errors: { 'rules.where.segment.segmentKey': 'would make the segment depend on itself' },
      });
    }
    const third = await segments.create(scope, { name: 'third', rules: named('Ada') });
    const fourth = await segments.create(scope, { name: 'fourth', rules: named('Ada') });
    const outcomes = await Promise.allSettled([
      segments.update(scope, third.id, { rules: inSegment(fourth.segmentKey) }),
      segments.update(scope, fourth.id, { rules: inSegment(third.segmentKey) }),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('hold for nobody when what their rules say no longer makes sense, also not the ones that exclude them', async () => {
    const { scope } = await town('Ada');
    const inner = await segments.create(scope, { name: 'inner', rules: named('Bob') });
    const outer = await segments.create(scope, { name: 'outer', rules: inSegment(inner.segmentKey, false) });
    expect(await countOf(scope, outer.id)).toBe(1);
    await audience.test.query(`update audience.segments set rules = '{"version":2}' where id = $1`, [
      inner.id,
    ]);
    expect(await members(scope, outer.id)).toEqual([]);
  });

  it('cannot be deleted while something uses them', async () => {
    const { scope } = await town('Ada');
    const inner = await segments.create(scope, { name: 'inner', rules: named('Ada') });
    const outer = await segments.create(scope, { name: 'outer', rules: inSegment(inner.segmentKey) });
    const users = [{ kind: 'segment', key: outer.segmentKey, name: 'outer' }] as const;
    await expect(deletion.delete(scope, inner.id)).rejects.toThrow(new InUseError('The segment', users));
    used.add(outer.id);
    await expect(deletion.delete(scope, outer.segmentKey)).rejects.toThrow('the campaign ACME-001 “Autumn”');
    used.delete(outer.id);
    await deletion.delete(scope, outer.id);
    await deletion.delete(scope, inner.segmentKey);
    await expect(deletion.delete(scope, inner.id)).rejects.toThrow(NotFoundError);
    const left = await audience.test.query(
      'select 1 from audience.segment_members where segment_id = any($1)',
      [[inner.id, outer.id]],
    );
    expect(left).toEqual([]);
  });

  it('are evaluated again and again while something uses them', async () => {
    const { scope } = await town('Ada', 'Bob');
    const evaluated = () => evaluateDueSegments((type) => audience.get(type));
    const idle = await segments.create(scope, { name: 'idle', rules: named('Ada') });
    const busy = await segments.create(scope, { name: 'busy', rules: named('Ada') });
    const inner = await segments.create(scope, { name: 'inner', rules: named('Ada') });
    await segments.create(scope, { name: 'outer', rules: inSegment(inner.segmentKey) });
    used.add(busy.id);
    await rename(scope, 'Bob', 'Ada');
    await evaluated();
    expect(await countOf(scope, busy.id)).toBe(1);
    audience.clock.advance(4 * MINUTE);
    await evaluated();
    expect(await Promise.all([idle, busy, inner].map(({ id }) => countOf(scope, id)))).toEqual([1, 2, 2]);
    expect(await transitions(busy.id)).toEqual(['ENTERED Bob']);
    used.delete(busy.id);
    // Rules whose evaluation was not done with the request are due whoever uses them.
    await audience.test.query('update audience.segments set is_due = true where id = $1', [idle.id]);
    await evaluated();
    expect(await countOf(scope, idle.id)).toBe(2);
  });

  it('forget old entries and exits and given-up audiences', async () => {
    const { scope } = await town('Ada');
    const segment = await segments.create(scope, { name: 'x' });
    await membership.add(scope, segment.id, { emails: [address('ada@example.com')] });
    await audience
      .get(RecipientsQuery)
      .freeze(scope, newId(), { topicIds: [], segmentIds: [segment.id] }, audience.clock.now());
    audience.clock.advance(6 * 24 * HOUR);
    await audience.get(SegmentEvaluationsService).trimHistory();
    expect(await transitions(segment.id)).toHaveLength(1);
    audience.clock.advance(25 * HOUR);
    await audience.get(SegmentEvaluationsService).trimHistory();
    expect(await transitions(segment.id)).toEqual([]);
    expect(
      await audience.test.query('select 1 from audience.frozen_audiences where environment_id = $1', [
        scope.environmentId,
      ]),
    ).toEqual([]);
  });

  it('narrow the audience of a mail to who is in at least one of them, frozen when it is expanded', async () => {
    const { scope, topic, people } = await town('Ada', 'Bob', 'Cleo', 'Dan');
    await audience.get(ConsentsService).revoke(scope, address('dan@example.com'), topic.topicKey, PROOF);
    const dynamic = await segments.create(scope, { name: 'x', rules: named('Ada') });
    const fixed = await segments.create(scope, { name: 'x' });
    await membership.add(scope, fixed.id, { subscriberIds: [people['Bob']!, people['Dan']!] });
    const recipients = audience.get(RecipientsQuery);
    const chosen = { topicIds: [topic.id], segmentIds: [dynamic.id, fixed.id] };
    const now = audience.clock.now();
    expect(await recipients.count(scope, chosen, now)).toBe(2);
    expect(await recipients.count(scope, { ...chosen, segmentIds: [newId()] }, now)).toBe(0);
    await rename(scope, 'Cleo', 'Ada');
    expect(await recipients.count(scope, chosen, now)).toBe(3);

    const audienceId = newId();
    await recipients.freeze(scope, audienceId, chosen, now);
    await rename(scope, 'Cleo', 'Cleo');
    await recipients.freeze(scope, audienceId, chosen, now);
    const addresses = async () => {
      return audience.database.transaction(scope, async () => {
        const chunk = recipients.audience(scope, chosen.topicIds, now, { frozen: audienceId, size: 10 });
        const { rows } = await sql<{
          address: string;
        }>`with ${chunk} select address from audience order by address`.execute(audience.database.tables());
        return rows.map((row) => row.address.split('@')[0]);
      });
    };
    expect(await addresses()).toEqual(['Ada', 'Bob', 'Cleo']);
    await audience.get(ConsentsService).revoke(scope, address('bob@example.com'), topic.topicKey, PROOF);
    expect(await addresses()).toEqual(['Ada', 'Cleo']);
    await recipients.release(scope, audienceId);
    expect(await addresses()).toEqual([]);
  });

  it('show how many rules hold for, and the newest few', async () => {
    const { scope } = await town('A', 'B', 'C', 'D', 'E', 'F', 'G');
    const preview = await audience
      .get(SegmentMembersService)
      .preview(scope, rules({ field: 'firstName', op: 'neq', value: 'g' }));
    expect(preview.count).toBe(6);
    expect(preview.sample.map(({ firstName }) => firstName)).toEqual(['F', 'E', 'D', 'C', 'B']);
    expect(await audience.get(SegmentMembersService).preview(scope, named('nobody'))).toEqual({
      count: 0,
      sample: [],
    });
    await expect(audience.get(SegmentMembersService).preview(scope, '{')).rejects.toThrow(
      DomainValidationError,
    );
  });

  it('of other projects and of the other environment do not exist', async () => {
    const { live, test } = await audience.project('ONE');
    const other = await audience.scope('TWO');
    const segment = await segments.create(test, { name: 'x', rules: named('Ada') });
    for (const stranger of [live, other]) {
      for (const key of [segment.id, segment.segmentKey]) {
        await expect(audience.get(SegmentsQuery).get(stranger, key)).rejects.toThrow(NotFoundError);
        await expect(segments.update(stranger, key, { name: 'y' })).rejects.toThrow(NotFoundError);
        await expect(deletion.delete(stranger, key)).rejects.toThrow(NotFoundError);
        await expect(audience.get(SegmentMembersService).page(stranger, key, FIRST_PAGE)).rejects.toThrow(
          NotFoundError,
        );
      }
      await expect(
        segments.create(stranger, { name: 'x', rules: inSegment(segment.segmentKey) }),
      ).rejects.toThrow(DomainValidationError);
      expect(await audience.get(SegmentsQuery).named(stranger, [segment.id])).toEqual([]);
      const everybody = rules({ field: 'email', op: 'exists' });
      await audience.subscribe(test, `${stranger.environmentId}@example.com`, await audience.topic(test));
      expect((await audience.get(SegmentMembersService).preview(stranger, everybody)).count).toBe(0);
    }
  });
});
