import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './route-table.js';

describe('RouteTable', () => {
  it('knows which methods a path has', () => {
    const table = new RouteTable();
    table.add({ url: '/u/:token', method: 'GET' });
    table.add({ url: '/u/:token', method: 'POST' });
    table.add({ url: '/docs', method: 'GET' });
    expect(table.methodsOf('/u/abc')).toEqual(['GET', 'POST']);
    expect(table.methodsOf('/docs')).toEqual(['GET']);
    for (const path of ['/u', '/u/', '/u/a/b', '/docsx', '/Docs']) expect(table.methodsOf(path)).toEqual([]);
  });

  it('takes no route below /api/v1 that is not an operation', () => {
    expect(() => new RouteTable().add({ url: '/api/v1/topics', method: 'GET' })).toThrow(
      'GET /api/v1/topics has no @Operation.',
    );
  });
});
