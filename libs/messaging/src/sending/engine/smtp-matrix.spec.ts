import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SinkAction, SinkStage } from '#testing/mail/sink-rules';
import { MailMetrics, SmtpTransport } from '#platform';
import { eventually } from '#testing/time/eventually';
import { letTimeGo, stopTime, timedOut } from '#testing/time/time-limits';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';
import { DeliverySourcesService } from './delivery-sources.service.js';
import { InstallationRoute } from './installation.route.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';
import { DeliverySender } from './delivery-sender.service.js';
import { DeliveryPacingService } from '../delivery-pacing.service.js';

const SILENT: readonly SinkAction[] = ['hang', 'trickle'];

type Next = Partial<Pick<DeliveryRow, 'state' | 'reason' | 'attempt' | 'possible_duplicate'>>;

const GREETING = 'greeting';
const BEHAVIOURS: Readonly<Record<string, SinkAction>> = {
  421: { replyThenDrop: '421 4.3.2 Closing' },
  450: { reply: '450 4.2.0 Busy' },
  451: { reply: '451 4.3.0 Not now' },
  500: { reply: '500 5.5.2 What?' },
  502: { reply: '502 5.5.1 What?' },
  503: { reply: '503 5.5.1 Not now' },
  555: { reply: '555 5.5.4 Unsupported option' },
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
/** Sent, also by a relay that does not know EHLO: it is asked with HELO (RFC 5321 §3.2). */
const SENT: Next = { state: 'SENT', attempt: 1, reason: null, possible_duplicate: false };
/** It may have arrived: once more, and flagged. */
const IN_DOUBT: Next = { state: 'DEFERRED', attempt: 1, reason: null, possible_duplicate: true };

const opening: Readonly<Record<string, Next>> = Object.fromEntries(
  [421, 450, 451, 550, 554, 'drop', 'reset', 'hang', 'trickle'].map((behaviour) => [behaviour, ROUTE]),
);
/** Complaints about our commands are between the relay and us: the mail waits. */
const ofCommands: Readonly<Record<string, Next>> = {
  500: deferred('network'),
  502: deferred('network'),
  503: deferred('network'),
  555: deferred('network'),
};
const beforeTheBody: Readonly<Record<string, Next>> = {
  ...ofCommands,
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
/** The relay has not heard of the recipient yet. */
const ofTheSender: Readonly<Record<string, Next>> = {
  ...beforeTheBody,
  450: deferred('network'),
  550: failed('sender'),
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
  ['mail', ofTheSender],
  ['rcpt', beforeTheBody],
  ['data', beforeTheBody],
  ['body', afterTheBody],
];
const CELLS = MATRIX.flatMap(([at, row]) =>
  Object.entries(row).map(([behaviour, next]) => [at, behaviour, next] as const),
);

describe('a delivery to a relay', () => {
  let fixture: MessagingFixture;
  /** One for each cell, of one campaign. */
  let unsent: DeliveryRow[];

  beforeAll(async () => {
    // A refusal by policy would slow the next cells down.
    fixture = await MessagingFixture.open({ THROTTLE: 'false' });
    await fixture.queuedCampaign(await fixture.scope(), CELLS.length);
    await fixture.test.query(
      `update messaging.deliveries set next_attempt_at = next_attempt_at + interval '1 year'`,
    );
    unsent = await fixture.deliveries();
  });

  afterAll(() => fixture.close());

  function transportTo(url: string): SmtpTransport {
    return new SmtpTransport({
      url,
      connections: 1,
      messagesPerConnection: 10,
      ehloName: 'worker.sender.test',
    });
  }

  /** The next mail of the campaign, which is the only one that is due. */
  async function dueDelivery(): Promise<string> {
    const delivery = unsent.shift();
    if (delivery === undefined) throw new Error('There are more cells than deliveries.');
    await fixture.test.query(`update messaging.deliveries set next_attempt_at = $2 where id = $1`, [
      delivery.id,
      fixture.clock.now(),
    ]);
    await fixture.test.query(`update messaging.campaigns set front_at = '-infinity'`);
    return delivery.id;
  }

  /** Sends one mail through a sender of its own, and resolves when nobody holds it. */
  async function attempt(
    deliveryId: string,
    transport: SmtpTransport,
    isSilent: (() => boolean) | null,
  ): Promise<DeliveryRow | undefined> {
    const source = fixture.get(DeliverySourcesService).of('LIVE').at(-1);
    if (source === undefined) throw new Error('There is no source of campaigns.');
    const [metrics, clock, logger] = [fixture.get(MailMetrics), fixture.clock, pino({ level: 'silent' })];
    const sender = new DeliverySender(
      source,
      new InstallationRoute(transport, metrics, clock, logger),
      fixture.get(DeliveryStoreRepository),
      fixture.get(DeliveryPacingService),
      metrics,
      clock,
      logger,
      () => 0.5,
    );
    sender.start();
    try {
      const tried = eventually('it was tried', async () => {
        const [found] = await fixture.test.query<DeliveryRow>(
          'select * from messaging.deliveries where id = $1',
          [deliveryId],
        );
        const wasTried = found?.last_error !== null || found.state === 'SENT';
        return found?.lease_token === null && wasTried ? found : null;
      });
      return await (isSilent === null ? tried : timedOut(tried, isSilent));
    } finally {
      letTimeGo();
      await sender.stop();
      await transport.close();
    }
  }

  /** One mail to a relay that behaves like this. */
  async function outcome(deliveryId: string, at: SinkStage, action: SinkAction) {
    const sink = await startRawSmtpSink({ extensions: ['PIPELINING'] });
    try {
      let isThere = false;
      sink.behave({ at, action, when: () => (isThere = true) });
      const isSilent = SILENT.includes(action);
      if (isSilent) stopTime();
      return await attempt(deliveryId, transportTo(sink.url), isSilent ? () => isThere : null);
    } finally {
      await sink.stop();
    }
  }

  it.each(CELLS)('that at %s is answered with %s is next %j', async (at, behaviour, next) => {
    const action = BEHAVIOURS[behaviour];
    if (action === undefined) throw new Error(`Nobody behaves like ${behaviour}.`);
    expect(await outcome(await dueDelivery(), at, action)).toMatchObject(next);
  });
});
