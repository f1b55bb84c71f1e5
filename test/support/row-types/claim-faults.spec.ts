import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { checkClaims } from './claim-faults.js';
import { Describer } from './described-statements.js';
import type { RowClaim } from './row-claims.js';

describe('row types of SQL', () => {
  let database: TestDatabase;
  let describer: Describer;
  beforeAll(async () => {
    database = await createTestDatabase();
    describer = await Describer.open(database.adminUrl);
  });
  afterAll(async () => {
    await describer?.close();
    await database?.drop();
  });

  /** Faults of a claim on a statement that is one template without parameters. */
  async function faultsOf(text: string, columns: Record<string, readonly string[]>): Promise<string[]> {
    const claim: RowClaim = {
      place: 'libs/a.ts:1',
      template: [text],
      columns: new Map(Object.entries(columns)),
      value: ['object'],
    };
    const statement = { text, template: [text], columns: [], inner: [[text]], isCamelCased: true };
    const { faults } = await checkClaims([claim], [statement], describer);
    return [...faults];
  }

  it.each([
    ['select count(*) as n from messaging.campaigns', { n: ['number'] }, []],
    ['select count(*) as n from messaging.campaigns', { n: ['string'] }, ['n: is number, claimed string']],
    ['select sum(1::bigint) as n', { n: ['null', 'number'] }, ['n: is string, claimed number']],
    ['select array_agg(1::bigint) as ids', { ids: ['number[]'] }, ['ids: is string[], claimed number[]']],
    ['select now() as at', { at: ['string'] }, ['at: is Date, claimed string']],
    ['select current_date as day', { day: ['string'] }, []],
    ["select '{}'::jsonb as facts", { facts: ['object'] }, []],
    ["select '{}'::jsonb as facts", { facts: ['Date'] }, ['facts: is json, claimed Date']],
    ['select created_at from messaging.campaigns', { createdAt: ['Date'] }, []],
    ['select 1 as one', { two: ['number'] }, ['two: is no column of the statement']],
    ['select 1 as one', { two: ['number', 'undefined'] }, []],
    [
      'select subject from messaging.campaigns',
      { subject: ['string'] },
      ['subject: may be null: messaging.campaigns.subject'],
    ],
    [
      'select name from messaging.campaigns',
      { name: ['null', 'string'] },
      ['name: is never null: messaging.campaigns.name'],
    ],
    [
      'select c.name from (select 1) a left join messaging.campaigns c on true',
      { name: ['null', 'string'] },
      [],
    ],
  ] as const)('holds what is claimed of `%s` against PostgreSQL', async (text, columns, expected) => {
    expect(await faultsOf(text, columns)).toEqual(expected.map((fault) => `libs/a.ts:1 ${fault}`));
  });

  it('tells of a statement that PostgreSQL does not take', async () => {
    expect(await faultsOf('select nothing from nowhere', { nothing: ['string'] })).toEqual([
      'libs/a.ts:1: error: relation "nowhere" does not exist',
    ]);
  });

  it('tells which claims no statement was made of', async () => {
    const claim: RowClaim = {
      place: 'libs/a.ts:1',
      template: ['select 1'],
      columns: null,
      value: ['number'],
    };
    expect((await checkClaims([claim], [], describer)).unseen).toEqual([claim]);
  });
});
