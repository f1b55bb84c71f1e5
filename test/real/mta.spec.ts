import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { describeWith, type Part } from './parts.js';
import { startExim } from './support/exim.js';
import type { Mta, NextHops } from './support/mta.js';
import { startOpensmtpd } from './support/opensmtpd.js';
import { expectAsciiMailsToArrive, expectVariedMailsToArrive } from './support/varied-mails.js';
import { RETURN_PATHS, WholeWay } from './support/whole-way.js';

const UNKNOWN = 'unknown@example.com';

interface Program {
  readonly part: Part;
  readonly name: string;
  readonly offersSmtpUtf8: boolean;
  readonly start: (hops: NextHops, unknown: string) => Promise<Mta>;
}

const PROGRAMS: readonly Program[] = [
  { part: 'exim', name: 'Exim', offersSmtpUtf8: true, start: startExim },
  { part: 'opensmtpd', name: 'OpenSMTPD', offersSmtpUtf8: false, start: startOpensmtpd },
];

for (const { part, name, offersSmtpUtf8, start } of PROGRAMS)
  describeWith([part], `mail through ${name}`, () => {
    let way: WholeWay;
    let mta: Mta;

    beforeAll(async () => {
      way = await WholeWay.start();
      const hops = { everywhere: way.destination.port, byDomain: { [RETURN_PATHS]: way.bouncePort } };
      mta = await start(hops, UNKNOWN);
      await way.relayThrough(mta.url);
    });
    afterAll(async () => {
      await mta?.stop();
      await way?.stop();
    });

    it('arrives, each once and with its signatures', async () => {
      if (offersSmtpUtf8) await expectVariedMailsToArrive(way, part, 300);
      else await expectAsciiMailsToArrive(way, part, 300);
    });

    it('that it refuses has bounced', async () => {
      const key = await way.send({ name: 'Refused', contentText: 'Hello', readers: [UNKNOWN] });
      expect(await way.ended(key)).toMatchObject([
        { state: 'FAILED', last_error: expect.stringMatching(/^5/) },
      ]);
    });

    it('that it accepts and sends back has bounced', async () => {
      const gone = 'gone@example.com';
      const action = { reply: '550 5.1.1 No such user' };
      way.destination.behave({ at: 'rcpt', action, when: ({ to }) => to.includes(gone) });
      const key = await way.send({ name: 'Sent back', contentText: 'Hello', readers: [gone] });
      expect(await way.ended(key)).toMatchObject([{ state: 'SENT' }]);
      await eventually('it has bounced', async () => (await way.statusOf(gone)) === 'BOUNCED');
    });
  });
