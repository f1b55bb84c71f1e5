import { describe, expect, it } from '@jest/globals';
import { consentProof } from './consent-proof.js';

describe('the proof of a consent', () => {
  const unknown = {
    source: null,
    sourceUrl: null,
    ipAddress: null,
    userAgent: null,
    consentText: null,
    formVersion: null,
    messageId: null,
    wording: null,
  };

  it('keeps what the actor told', () => {
    const told = {
      source: 'form',
      sourceUrl: 'https://example.com/news',
      ipAddress: '192.0.2.1',
      userAgent: 'Browser',
      consentText: 'Yes, send me news.',
      formVersion: '7',
      messageId: '<m@example.com>',
      wording: { locale: 'de', version: 2 },
    };
    expect(consentProof('API_KEY', 'key', told)).toEqual({ actor: 'API_KEY', actorId: 'key', ...told });
  });

  it('says of what the actor left out that it is unknown', () => {
    expect(consentProof('EXPIRY', null)).toEqual({ actor: 'EXPIRY', actorId: null, ...unknown });
    expect(consentProof('IMPORT', 'import', { source: 'file', ipAddress: undefined })).toEqual({
      actor: 'IMPORT',
      actorId: 'import',
      ...unknown,
      source: 'file',
    });
  });
});
