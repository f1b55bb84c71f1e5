import { describe, expect, it } from '@jest/globals';
import { createTestDatabase } from '#testing/postgres/database';
import { distribute, inOrder } from './distribution.js';

describe('Spreading the tables over nodes', () => {
  it('is refused by a PostgreSQL without Citus, which is told how to get it', async () => {
    const database = await createTestDatabase();
    try {
      await expect(distribute(database.adminUrl)).rejects.toThrow('run `create extension citus`');
    } finally {
      await database.drop();
    }
  });

  it('takes a table behind those that its foreign keys name', () => {
    const tables = [
      { name: 'attempts', refersTo: ['deliveries'] },
      { name: 'deliveries', refersTo: ['endpoints', 'events'] },
      { name: 'endpoints', refersTo: [] },
      { name: 'events', refersTo: ['done before'] },
    ];
    const order = inOrder(tables).map(({ name }) => name);
    expect(order).toEqual(['endpoints', 'events', 'deliveries', 'attempts']);
  });

  it('finds no order for tables that refer to each other', () => {
    const circle = [
      { name: 'hen', refersTo: ['egg'] },
      { name: 'egg', refersTo: ['hen'] },
    ];
    expect(() => inOrder(circle)).toThrow('hen, egg');
  });
});

describe('Every table of environments', () => {
  it('has the environment in its unique keys and foreign keys, so that Citus can spread it', async () => {
    const database = await createTestDatabase();
    try {
      const isOfEnvironments = `
        c.relnamespace::regnamespace::text in ('audience', 'messaging', 'deliverability', 'webhooks')
        and c.relkind in ('r', 'p') and not c.relispartition and e.attname = 'environment_id' and e.attnotnull`;
      const keys = await database.query(`
        select i.indexrelid::regclass::text as name
        from pg_index i join pg_class c on c.oid = i.indrelid join pg_attribute e on e.attrelid = c.oid
        where i.indisunique and ${isOfEnvironments} and not e.attnum = any (i.indkey)`);
      const references = await database.query(`
        select k.conname as name
        from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_attribute e on e.attrelid = c.oid
        where k.contype = 'f' and ${isOfEnvironments} and not e.attnum = any (k.conkey)`);
      expect({ keys, references }).toEqual({ keys: [], references: [] });
    } finally {
      await database.drop();
    }
  });
});
