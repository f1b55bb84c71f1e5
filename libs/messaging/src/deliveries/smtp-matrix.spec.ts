import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { type RawSmtpSink, startRawSmtpSink } from '../../../../test/support/raw-smtp-sink.js';
import type { SinkAction, SinkStage } from '../../../../test/support/sink-rules.js';
import { MailMetrics, SmtpTransport } from '#platform';
import { eventually } from '../../../../test/support/eventually.js';
import { type DeliveryRow, MessagingFixture } from '../messaging.fixture.js';
import { DeliverySources } from './delivery-engine.js';
import { DeliveryJournal } from './delivery-journal.js';
import { DeliveryLane } from './delivery-lane.js';
import { DeliveryPacing } from './delivery-pacing.js';
import { SmtpDelivery } from './smtp-delivery.js';

const TIMEOUT_MS = 400;

type Next = Partial<Pick<DeliveryRow, 'state' | 'reason' | 'attempt' | 'possible_duplicate'>>;

const GREETING = 'greeting';
const BEHAVIOURS: Readonly<Record<string, SinkAction>> = {
  421: { replyThenDrop: '421 4.3.2 Closing' },
  450: { reply: '450 4.2.0 Busy' },
  451: { reply: '451 4.3.0 Not now' },
  550: { reply: '550 5.1.1 No such user' },
  554: { reply: '554 5.7.1 Not wanted' },
  drop: 'drop',
  reset: 'reset',
  hang: 'hang',
  trickle: 'trickle',
};

/** The relay was not reached: it is no attempt at this mail. */
const ROUTE: Next = { state: 'DEFERRED', attempt: 0, reason: null, possible_duplicate: false };
const deferred = (reason: string): Next => ({
  state: 'DEFERRED',
  attempt: 1,
  reason,
  possible_duplicate: false,
});
const failed = (reason: string): Next => ({ state: 'FAILED', attempt: 1, reason, possible_duplicate: false });
/** Who does not know EHLO is asked with HELO (RFC 5321 §3.2), and does what it is asked. */
const SENT: Next = { state: 'SENT', attempt: 1, reason: null, possible_duplicate: false };
/** It may have arrived: once more, and flagged. */
const IN_DOUBT: Next = { state: 'DEFERRED', attempt: 1, reason: null, possible_duplicate: true };

const opening: Readonly<Record<string, Next>> = Object.fromEntries(
  Object.keys(BEHAVIOURS).map((behaviour) => [behaviour, ROUTE]),
);
const beforeTheBody: Readonly<Record<string, Next>> = {
  421: deferred('network'),
  450: deferred('mailbox'),
  451: deferred('network'),
  550: failed('hard'),
  554: failed('policy'),
  drop: deferred('network'),
  reset: deferred('network'),
  hang: deferred('network'),
  trickle: deferred('network'),
};
const afterTheBody: Readonly<Record<string, Next>> = {
  ...beforeTheBody,
  drop: IN_DOUBT,
  reset: IN_DOUBT,
  hang: IN_DOUBT,
  trickle: IN_DOUBT,
};

const MATRIX: readonly [SinkStage, Readonly<Record<string, Next>>][] = [
  [GREETING, opening],
  ['ehlo', { ...opening, 450: SENT, 451: SENT, 550: SENT, 554: SENT }],
  ['mail', beforeTheBody],
  ['rcpt', beforeTheBody],
  ['data', beforeTheBody],
  ['body', afterTheBody],
];
const CELLS = MATRIX.flatMap(([at, row]) =>
  Object.entries(row).map(([behaviour, next]) => [at, behaviour, next] as const),
);

describe('a delivery to a relay', () => {
  let fixture: MessagingFixture;
  let sink: RawSmtpSink;

  beforeAll(async () => {
    // A refusal by policy would slow the next cells down.
    fixture = await MessagingFixture.open({ THROTTLE: 'false' });
  });

  afterAll(() => fixture.close());

  /** Sends one mail through a lane of its own, whose relay has little time, and resolves when nobody holds it. */
  async function attempt(campaignId: string): Promise<DeliveryRow | undefined> {
    const transport = new SmtpTransport({
      url: sink.url,
      connections: 1,
      messagesPerConnection: 10,
      ehloName: 'worker.sender.test',
      timeouts: { connect: TIMEOUT_MS * 10, greeting: TIMEOUT_MS, reply: TIMEOUT_MS, data: TIMEOUT_MS },
    });
    const source = fixture.get(DeliverySources).of('LIVE').at(-1);
    if (source === undefined) throw new Error('There is no source of campaigns.');
    const lane = new DeliveryLane({
      source,
      transport: new SmtpDelivery(transport),
      journal: fixture.get(DeliveryJournal),
      pacing: fixture.get(DeliveryPacing),
      metrics: fixture.get(MailMetrics),
      clock: fixture.clock,
      logger: pino({ level: 'silent' }),
      random: () => 0.5,
    });
    lane.start();
    try {
      return await eventually('it was tried', async () => {
        const [found] = await fixture.test.query<DeliveryRow>(
          'select * from messaging.deliveries where source_id = $1',
          [campaignId],
        );
        const wasTried = found?.last_error !== null || found.state === 'SENT';
        return found?.lease_token === null && wasTried ? found : null;
      });
    } finally {
      await lane.stop();
      await transport.close();
    }
  }

  it.each(CELLS)('that at %s answers with %s is next %j', async (at, behaviour, next) => {
    const action = BEHAVIOURS[behaviour];
    if (action === undefined) throw new Error(`Nobody behaves like ${behaviour}.`);
    sink = await startRawSmtpSink();
    try {
      sink.behave({ at, action });
      const campaign = await fixture.queuedCampaign(await fixture.scope(), 1);
      expect(await attempt(campaign.id)).toMatchObject(next);
    } finally {
      await sink.stop();
      await fixture.test.query(`update messaging.campaigns set status = 'PAUSED' where status = 'SENDING'`);
    }
  });
});
