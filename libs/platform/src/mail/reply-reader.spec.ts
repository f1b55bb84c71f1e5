import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/properties';
import { ReplyReader, SmtpProtocolError } from './reply-reader.js';

function read(text: string | Buffer) {
  return new ReplyReader().push(Buffer.from(text));
}

describe('replies', () => {
  it('of several lines become one text with one code', () => {
    const lines =
      '550-5.1.1 The account that you tried to reach\r\n550-5.1.1 does not exist.\r\n550 5.1.1 Bye\r\n';
    expect(read(lines)).toEqual([
      { code: 550, enhancedCode: '5.1.1', text: 'The account that you tried to reach does not exist. Bye' },
    ]);
  });

  it('may come in one piece, without text, and with bare LF', () => {
    expect(read('250\r\n250 2.1.5 Ok\n354 Go on\r\n').map(({ code }) => code)).toEqual([250, 250, 354]);
  });

  it('are read as UTF-8, or as Latin-1 where they are not', () => {
    expect(read('550 Empfänger unbekannt\r\n')[0]?.text).toBe('Empfänger unbekannt');
    expect(read(Buffer.from('550 Empfänger unbekannt\r\n', 'latin1'))[0]?.text).toBe('Empfänger unbekannt');
  });

  it('have no control characters, which no column of text takes', () => {
    expect(read('250 2.0.0 queued as\t<a\0b>\x1b\r\n')[0]?.text).toBe('queued as <a b> ');
  });

  it.each(['hello\r\n', '99 x\r\n', '600 x\r\n', '2500 x\r\n', '\r\n'])('are not lines like %j', (line) => {
    expect(() => read(line)).toThrow(SmtpProtocolError);
  });

  it('without end are cut off', () => {
    const reader = new ReplyReader();
    const chunk = Buffer.from(`250-${'x'.repeat(1_000)}\r\n`);
    expect(() => {
      for (let chunks = 0; chunks < 100; chunks++) reader.push(chunk);
    }).toThrow(SmtpProtocolError);
  });

  it('are the same however the network cuts them', () => {
    const octets = Buffer.from('220 hi\r\n250-a\r\n250-b ü\r\n250 c\r\n550 5.1.1 Nein, größer\r\n354 x\r\n');
    fc.assert(
      fc.property(fc.array(fc.nat(octets.length)), (cuts) => {
        const reader = new ReplyReader();
        const places = [0, ...cuts.sort((a, b) => a - b), octets.length];
        const replies = places.slice(1).flatMap((to, at) => reader.push(octets.subarray(places[at], to)));
        expect(replies).toEqual(read(octets));
      }),
    );
  });
});
