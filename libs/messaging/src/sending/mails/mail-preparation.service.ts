import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope, withTimeout } from '#kernel';
import { Database, neverJoined } from '#platform';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { DeliveryPacingService } from '../delivery-pacing.service.js';
import { held, isContentFault, notComposed, outcomeOfInterruption, skipped } from '../delivery-outcome.js';
import type { Admission, DeliveryWork, PreparedDelivery } from '../delivery-work.js';
import type { CampaignMail, MailOfRecipient } from './campaign-mail.js';
import {
  type AutomationMailStep,
  CompiledMailsService,
  keyOf,
  type StepContent,
  stepFor,
  type StepOfRun,
} from './compiled-mails.service.js';
import { type Admit, MailBatchesService, withoutMail } from './mail-batches.service.js';
import { MailSigningService, type SendingPolicy } from './mail-signing.service.js';
import { OptInMailsService } from './opt-in-mails.service.js';
import { MessageMailsService, type StoredMessage } from './message-mails.service.js';
import { TestMailsService } from './test-mails.service.js';

/** Campaigns and steps that are not compiled yet hold up the others no longer than this. */
const COMPILE_WAIT_MS = 2_000;
/** Confirmations wait for the test mails of their batch: one that takes longer is made with the next batch. */
const TEST_MAIL_WAIT_MS = 100;

/** Octets of mails at hand from which one with files waits: two of the largest, or hundreds with a bill each. */
const MOST_OCTETS = 32 * 1_024 * 1_024;
const ROOM_AGAIN_MS = 500;

/** A step with what its run began with. */
type StepOfMail = StepOfRun & Pick<MailOfRecipient, 'event'> & { readonly content: StepContent | null };

/** Makes the mails of claimed deliveries, a kind of mail a method. */
@Injectable()
export class MailPreparationService {
  constructor(
    private readonly database: Database,
    private readonly mails: CompiledMailsService,
    private readonly batches: MailBatchesService,
    private readonly optIns: OptInMailsService,
    private readonly testMails: TestMailsService,
    private readonly messageMails: MessageMailsService,
    private readonly signing: MailSigningService,
    private readonly lifecycle: CampaignLifecycleService,
    private readonly pacing: DeliveryPacingService,
    private readonly clock: Clock,
  ) {}

  /** Each campaign's mails by variant and language, all of a campaign in one batch. */
  async campaigns(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    const deadline = new Deadline(COMPILE_WAIT_MS);
    const campaigns = Map.groupBy(works, ({ delivery }) => delivery.sourceId);
    const prepared: PreparedDelivery[] = [];
    for (const ofOne of campaigns.values()) prepared.push(...(await this.#ofCampaign(ofOne, deadline)));
    return prepared;
  }

  /** Mails of automations' steps. They may be many at once, and must not hold up a confirmation. */
  automations(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.#admitted(works, 'AUTOMATION', async (admitted) => {
      const deadline = new Deadline(COMPILE_WAIT_MS);
      const prepared: PreparedDelivery[] = [];
      for (const ofScope of Map.groupBy(admitted, ({ scope }) => scope.environmentId).values()) {
        const steps = await this.#stepsOf(ofScope[0]!.scope, ofScope);
        for (const ofStep of Map.groupBy(ofScope, (work) => keyOfStep(work, steps)).values())
          prepared.push(...(await this.#ofStep(ofStep, steps, deadline)));
      }
      return prepared;
    });
  }

  /** Confirmations and test mails, each for itself. */
  confirmationsAndTests(works: readonly DeliveryWork[]): Promise<PreparedDelivery[]> {
    return this.#admitted(works, 'FEW', (admitted) => {
      const deadline = new Deadline(TEST_MAIL_WAIT_MS);
      return Promise.all(
        admitted.map(async (work) => {
          if (work.delivery.kind === 'OPT_IN') return this.#single(work, this.optIns);
          const prepared = await deadline.waitFor(this.#single(work, this.testMails));
          const now = this.clock.now();
          return prepared ?? { ...work, outcome: held(work.delivery, 'rendering', now, now) };
        }),
      );
    });
  }

  /** Messages to one person, each for itself. Those with files wait while the sender has many octets at hand. */
  async messages(works: readonly DeliveryWork[], octetsAtHand: number): Promise<PreparedDelivery[]> {
    const messages = await this.messageMails.of(works);
    const messageOf = ({ delivery }: DeliveryWork) => messages.get(delivery.sourceId);
    const asOrdered = works.map((work) => ({
      ...work,
      ambiguousPolicy: messageOf(work)?.ambiguous ?? work.ambiguousPolicy,
    }));
    const composer = {
      compose: (work: DeliveryWork, now: Date) => this.messageMails.compose(work, messageOf(work), now),
    };
    const room = new AttachmentRoom(octetsAtHand);
    return this.#admitted(asOrdered, 'MESSAGE', (admitted) =>
      Promise.all(
        admitted.map(async (work) => {
          if (room.takes(messageOf(work))) return this.#single(work, composer);
          const now = this.clock.now();
          const until = new Date(now.getTime() + ROOM_AGAIN_MS);
          return withoutMail(work, held(work.delivery, 'attachments', until, now));
        }),
      ),
    );
  }

  async #ofCampaign(works: readonly DeliveryWork[], deadline: Deadline): Promise<PreparedDelivery[]> {
    const now = this.clock.now();
    const mails = new Map<string, CampaignMail>();
    const prepared: PreparedDelivery[] = [];
    for (const [choice, alike] of Map.groupBy(works, choiceOf)) {
      const mail = await this.#compiled(alike, deadline, now);
      if ('template' in mail) mails.set(choice, mail);
      else prepared.push(...mail);
    }
    const composable = works.flatMap((work) => {
      const mail = mails.get(choiceOf(work));
      return mail === undefined ? [] : [{ work, mail }];
    });
    const [first] = composable;
    if (first === undefined) return prepared;
    const admit: Admit = (undecided, policy) => this.#admitCampaign(undecided, first.mail, policy, now);
    return [...prepared, ...(await this.batches.prepare(composable, now, admit))];
  }

  /** The mail of deliveries of one variant to readers of one language, or their outcomes without one. */
  async #compiled(
    works: readonly DeliveryWork[],
    deadline: Deadline,
    now: Date,
  ): Promise<CampaignMail | PreparedDelivery[]> {
    const { scope, delivery } = works[0]!;
    // The moment at which they were queued stands for the content: a campaign that failed may be changed.
    const queued = { scope, campaignId: delivery.sourceId, version: delivery.createdAt.toISOString() };
    try {
      const mail = await deadline.waitFor(this.mails.ofQueued(queued, delivery));
      return mail ?? works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
    } catch (error) {
      if (!isContentFault(error)) throw error;
      return works.map((work) => withoutMail(work, notComposed(work.delivery, error, now, Math.random)));
    }
  }

  async #admitCampaign(
    works: readonly DeliveryWork[],
    { scope, campaign }: CampaignMail,
    policy: SendingPolicy,
    now: Date,
  ): Promise<Admission> {
    // Each of its mails would fail the same way.
    if (policy.kind === 'broken') await this.lifecycle.fail(scope, campaign.id, policy.fault);
    if (policy.kind !== 'open') return { going: works, held: [] };
    return this.pacing.admitCampaign(works, campaign.id, policy.warmUp, now);
  }

  /** Makes mails of no campaign that have a turn with their destination; interrupted ones need none. */
  async #admitted(
    works: readonly DeliveryWork[],
    line: 'AUTOMATION' | 'MESSAGE' | 'FEW',
    make: (admitted: readonly DeliveryWork[]) => Promise<PreparedDelivery[]>,
  ): Promise<PreparedDelivery[]> {
    const fresh = works.filter(({ delivery }) => !delivery.interrupted);
    const interrupted = works.filter(({ delivery }) => delivery.interrupted);
    const admission = await this.pacing.admitSingles(fresh, line);
    return [...admission.held, ...(await make([...interrupted, ...admission.going]))];
  }

  /** The steps of automations by the deliveries' sources. */
  async #stepsOf(
    scope: ProjectScope,
    works: readonly DeliveryWork[],
  ): Promise<ReadonlyMap<string, StepOfMail>> {
    const sources = works.map(({ delivery }) => delivery.sourceId);
    const found = await this.database.transaction(scope, async () => {
      const { rows } = await sql<Omit<StepOfMail, 'content'> & { sourceId: string }>`
        select s.id as source_id, r.version_id, r.entered_at, messaging.place_of_step(s.id) as place, d.data as event
        from unnest(${sources}::uuid[]) s(id)
        cross join lateral (
          select r.version_id, r.entered_at from messaging.automation_runs r
          where r.id = messaging.run_of_step(s.id) and r.environment_id = ${scope.environmentId} ${neverJoined}
        ) r
        left join lateral (
          select d.data from messaging.automation_run_data d
          where d.run_id = messaging.run_of_step(s.id) and d.environment_id = ${scope.environmentId} ${neverJoined}
        ) d on true
      `.execute(this.database.tables());
      return rows;
    });
    const contents = await this.mails.contentsOf(scope, found);
    return new Map(
      found.map(({ sourceId, ...step }, index) => [sourceId, { ...step, content: contents[index] ?? null }]),
    );
  }

  async #ofStep(
    works: readonly DeliveryWork[],
    steps: ReadonlyMap<string, StepOfMail>,
    deadline: Deadline,
  ): Promise<readonly PreparedDelivery[]> {
    const now = this.clock.now();
    const step = stepOf(works[0]!, steps);
    try {
      if (step === undefined) throw new Error('The automation run of this mail no longer exists.');
      const mail = await deadline.waitFor(this.mails.ofStep(works[0]!.scope, step));
      if (mail === null)
        return works.map((work) => withoutMail(work, held(work.delivery, 'rendering', now, now)));
      const composable = works.map((work) => ({
        work,
        mail,
        event: steps.get(work.delivery.sourceId)?.event,
      }));
      return await this.batches.prepare(composable, now);
    } catch (error) {
      return works.map((work) => withoutMail(work, notComposed(work.delivery, error, now, Math.random)));
    }
  }

  async #single(
    work: DeliveryWork,
    composer: Pick<OptInMailsService | TestMailsService, 'compose'>,
  ): Promise<PreparedDelivery> {
    const { delivery, ambiguousPolicy } = work;
    const interrupted = outcomeOfInterruption(delivery, ambiguousPolicy);
    if (interrupted !== null) return { ...work, outcome: interrupted };
    const now = this.clock.now();
    try {
      const composed = await composer.compose(work, now);
      if ('skipped' in composed) return { ...work, outcome: skipped(delivery, composed.skipped) };
      return await this.signing.signOne(work, composed.mail, composed.senderDomain);
    } catch (error) {
      return { ...work, outcome: notComposed(delivery, error, this.clock.now(), Math.random) };
    }
  }
}

/** The variant and language of a campaign's mail, to compare. */
const choiceOf = ({ delivery: { variant, locale } }: DeliveryWork): string =>
  `${variant ?? ''}/${locale ?? ''}`;

function stepOf(
  { delivery: { sourceId, queuedOn, locale } }: DeliveryWork,
  steps: ReadonlyMap<string, StepOfMail>,
): AutomationMailStep | undefined {
  const step = steps.get(sourceId);
  if (step === undefined) return undefined;
  const { versionId, place, content } = step;
  return stepFor({ versionId, place, queuedOn }, content, locale);
}

function keyOfStep(work: DeliveryWork, steps: ReadonlyMap<string, StepOfMail>): string {
  const step = stepOf(work, steps);
  return step === undefined ? '' : keyOf(step);
}

/** Memory for the files of messages: a claim may bring a hundred of them. */
class AttachmentRoom {
  readonly #messages = new Set<string>();

  constructor(private octets: number) {}

  /** True of a message without files, or whose files there is room for; copies share theirs. */
  takes(message: Pick<StoredMessage, 'id' | 'attachedBytes'> | undefined): boolean {
    if (message === undefined || message.attachedBytes === 0 || this.#messages.has(message.id)) return true;
    const inBase64 = message.attachedBytes * 1.37;
    if (this.octets + inBase64 > MOST_OCTETS) return false;
    this.octets += inBase64;
    this.#messages.add(message.id);
    return true;
  }
}

/** One time-out for several promises. A promise that takes longer goes on: a later call finds it further. */
class Deadline {
  readonly #endsAt: number;

  constructor(ms: number) {
    this.#endsAt = performance.now() + ms;
  }

  /** Null when it takes too long. */
  waitFor<Result>(promise: Promise<Result>): Promise<Result | null> {
    return withTimeout(promise, Math.max(0, this.#endsAt - performance.now()), () => null);
  }
}
