import { describe, expect, it } from '@jest/globals';
import { readCredentials } from './caller.js';

describe('readCredentials', () => {
  it('finds the key in either header, and both when they agree', () => {
    expect(readCredentials({ 'x-api-key': ' k ' })).toEqual({ kind: 'key', key: 'k' });
    expect(readCredentials({ authorization: 'BEARER k' })).toEqual({ kind: 'key', key: 'k' });
    expect(readCredentials({ 'x-api-key': 'k', authorization: 'Bearer k' })).toEqual({
      kind: 'key',
      key: 'k',
    });
  });

  it('finds none in an empty header or another scheme, and a contradiction in two keys', () => {
    expect(readCredentials({ 'x-api-key': '' })).toEqual({ kind: 'none' });
    expect(readCredentials({ authorization: 'Basic azp2' })).toEqual({ kind: 'none' });
    for (const authorization of ['Bearer other', 'Bearer k other', 'bearer k,k'])
      expect(readCredentials({ 'x-api-key': 'k', authorization })).toEqual({ kind: 'contradiction' });
    expect(readCredentials({ authorization: 'Bearer ' })).toEqual({ kind: 'none' });
  });
});
