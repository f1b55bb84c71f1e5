import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { AudienceFixture } from '../audience.fixture.js';
import { SegmentEvaluationsService } from './segment-evaluations.service.js';
import { SegmentsService } from './segments.service.js';

const PEOPLE = 40_000;
const CHANGES = 20_000;

describe('the evaluation of a segment into which many come at once', () => {
  let audience: AudienceFixture;
  beforeAll(async () => {
    audience = await AudienceFixture.open();
  });
  afterAll(() => audience.close());

  it('notes each of them once, and so it does who leaves, long before a client has waited too long', async () => {
    const scope = await audience.scope();
    const { id: topicId } = await audience.topic(scope);
    await insertSubscribers(audience.test, scope, topicId, PEOPLE);
    const rules = JSON.stringify({ version: 1, where: { field: 'lastName', op: 'eq', value: 'Changed' } });
    const { id } = await audience.get(SegmentsService).create(scope, { name: 'Changed', rules });
    const change = (count: number, from: string | null, to: string) =>
      audience.test.query(
        `update audience.subscribers set last_name = $3
         where id in (select id from audience.subscribers where last_name is not distinct from $2 limit $1)`,
        [count, from, to],
      );
    const evaluate = async () => {
      const isDone = await audience.get(SegmentEvaluationsService).evaluateQuickly(scope, id);
      const [row] = await audience.test.query(
        `select member_count::int as members,
           (select count(*)::int from audience.segment_members where segment_id = s.id) as rows,
           (select count(*)::int from audience.segment_transitions where segment_id = s.id and kind = 'ENTERED') as entered,
           (select count(*)::int from audience.segment_transitions where segment_id = s.id and kind = 'LEFT') as gone
         from audience.segments s where id = $1`,
        [id],
      );
      return { isDone, ...row };
    };
    expect(await evaluate()).toEqual({ isDone: true, members: 0, rows: 0, entered: 0, gone: 0 });
    await change(CHANGES, null, 'Changed');
    const grown = { isDone: true, members: CHANGES, rows: CHANGES, entered: CHANGES, gone: 0 };
    expect(await evaluate()).toEqual(grown);
    // The planner has seen none of them yet.
    expect(await evaluate()).toEqual(grown);
    await change(CHANGES / 4, 'Changed', 'Other');
    const rest = CHANGES * 0.75;
    expect(await evaluate()).toEqual({ ...grown, members: rest, rows: rest, gone: CHANGES / 4 });
  });
});
